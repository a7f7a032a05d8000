"""Features: the mean of each layer over each span, on disk, made once."""

import errno
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bilm.errors import UserError
from probing.corpora import Sentence
from probing.features import FeatureError, FeatureStore
from probing.tasks import Example, Split


class CountingEncoder:
    """Layer l of token t is `100 * l + position of t in the corpus`, in both of two dimensions."""

    layer_names: tuple[str, ...] = ("zero", "one", "two")
    dim = 2
    description = "counts tokens"
    fingerprint = "counting"

    def __init__(self) -> None:
        self.n_calls = 0
        self.spoil: float | None = None

    def encode(self, sentences: Iterable[Sequence[str]]) -> Iterator[NDArray[np.float32]]:
        self.n_calls += 1
        position = 0
        for tokens in sentences:
            count = np.arange(position, position + len(tokens), dtype=np.float32)
            position += len(tokens)
            layers = np.stack([np.stack([count + 100 * layer] * 2, axis=1) for layer in range(3)])
            if self.spoil is not None and len(tokens) == 3:
                layers[1, 2, 0] = self.spoil
            yield layers


def split_of(*spans: tuple[int, int, int]) -> Split:
    texts = [("a", "b"), (), ("c", "d", "e")]
    sentences = [Sentence(f"s{i}", tokens, {}, "toy.conllu", 10 * i + 1) for i, tokens in enumerate(texts)]
    return Split(sentences, [Example(s, start, stop, ("X",), "form") for s, start, stop in spans])


TOKENS = [(0, 0, 1), (0, 1, 2), (2, 0, 1), (2, 1, 2), (2, 2, 3)]


def test_a_feature_is_the_mean_over_the_span_in_each_layer(tmp_path: Path) -> None:
    features = FeatureStore(tmp_path).get(CountingEncoder(), split_of((0, 0, 2), (2, 1, 3), (2, 0, 1)), "toy")
    assert features.layers.shape == (3, 3, 2)
    assert features.layers[0, :, 0].tolist() == [0.5, 3.5, 2.0]
    assert features.layers[2, :, 1].tolist() == [200.5, 203.5, 202.0]


def test_an_empty_sentence_shifts_nothing_P14(tmp_path: Path) -> None:
    features = FeatureStore(tmp_path).get(CountingEncoder(), split_of(*TOKENS), "toy")
    assert features.layers[0, :, 0].tolist() == [0, 1, 2, 3, 4]


def test_views_are_single_layers_their_mean_and_all_side_by_side(tmp_path: Path) -> None:
    features = FeatureStore(tmp_path).get(CountingEncoder(), split_of(*TOKENS), "toy")
    assert features.view("1")[3].tolist() == [103, 103]
    assert features.view("mean")[3].tolist() == [103, 103]
    assert features.view("concat")[3].tolist() == [3, 3, 103, 103, 203, 203]
    assert all(isinstance(features.view(view), np.memmap) for view in ("1", "mean", "concat"))
    with pytest.raises(FeatureError, match="no view '3': the layers are 0 to 2"):
        features.view("3")


def test_a_view_beside_layer_0_is_both_side_by_side(tmp_path: Path) -> None:
    features = FeatureStore(tmp_path).get(CountingEncoder(), split_of(*TOKENS), "toy")
    for view, values in {"0+2": [3, 3, 203, 203], "0+mean": [3, 3, 103, 103], "0+0": [3, 3, 3, 3]}.items():
        assert features.view(view)[3].tolist() == values
        assert features.view(view).shape == (5, 4)
        assert isinstance(features.view(view), np.memmap)


@pytest.mark.parametrize("view", ["0+3", "0+concat", "0+", "1+2", "0+0+1", "0+-1", "layers"])
def test_a_view_that_there_is_not_is_named_with_those_that_there_are(tmp_path: Path, view: str) -> None:
    features = FeatureStore(tmp_path).get(CountingEncoder(), split_of(*TOKENS), "toy")
    with pytest.raises(FeatureError, match=f"no view '{re.escape(view)}': the layers are 0 to 2; .*mean, concat, and"):
        features.view(view)


def test_features_are_made_once_for_the_same_network_words_and_spans(tmp_path: Path) -> None:
    encoder = CountingEncoder()
    store = FeatureStore(tmp_path)
    store.get(encoder, split_of(*TOKENS), "toy")
    store.get(encoder, split_of(*TOKENS), "toy")
    assert encoder.n_calls == 1
    store.get(encoder, split_of(*TOKENS[:-1]), "toy")
    assert encoder.n_calls == 2
    encoder.fingerprint = "another network"
    store.get(encoder, split_of(*TOKENS), "toy")
    assert encoder.n_calls == 3


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_names_layer_and_sentence_P38(tmp_path: Path, value: float) -> None:
    encoder = CountingEncoder()
    encoder.spoil = value
    with pytest.raises(
        FeatureError, match=r"toy\.conllu:21 \(sentence s2\): layer 1 \(one\) has a value that is not finite"
    ):
        FeatureStore(tmp_path).get(encoder, split_of(*TOKENS), "toy")
    assert not list((tmp_path / "features").iterdir()), "half-made features must not stay"


def test_an_encoder_that_loses_a_token_is_named_with_the_sentence(tmp_path: Path) -> None:
    class Forgetful(CountingEncoder):
        def encode(self, sentences: Iterable[Sequence[str]]) -> Iterator[NDArray[np.float32]]:
            yield from (layers[:, :2] for layers in super().encode(sentences))

    with pytest.raises(FeatureError, match=r"\(sentence s2\): the encoder gave \(3, 2, 2\), expected \(3, 3, 2\)"):
        FeatureStore(tmp_path).get(Forgetful(), split_of(*TOKENS), "toy")


def test_a_disk_without_room_is_said_before_anything_is_encoded_P26(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Any) -> Any:
        return type("Usage", (), {"free": 100})()

    monkeypatch.setattr("probing.features.shutil.disk_usage", full)
    encoder = CountingEncoder()
    with pytest.raises(FeatureError, match="PROBING_CACHE names another folder"):
        FeatureStore(tmp_path).get(encoder, split_of(*TOKENS), "toy")
    assert encoder.n_calls == 0


def test_the_cache_folder_is_the_environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "elsewhere"))
    assert FeatureStore().folder == tmp_path / "elsewhere" / "features"


@pytest.mark.parametrize("content", [b"", b"not numpy", None])
def test_damaged_features_are_made_again(tmp_path: Path, content: bytes | None) -> None:
    encoder, split, store = CountingEncoder(), split_of(*TOKENS), FeatureStore(tmp_path)
    whole = store.get(encoder, split, "toy").view("concat").tolist()
    for path in sorted((tmp_path / "features").rglob("*.npy")):
        path.write_bytes(path.read_bytes()[:-8] if content is None else content)
    assert store.get(encoder, split, "toy").view("concat").tolist() == whole
    assert encoder.n_calls == 2


def test_a_cache_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(FeatureError, match="PROBING_CACHE names another folder"):
        FeatureStore(tmp_path / "file").get(CountingEncoder(), split_of(*TOKENS), "toy")


def test_a_disk_that_fills_up_is_an_error_and_no_crash_at_a_mapped_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(UserError, match=r"cannot be written .No space left on device"):
        FeatureStore(tmp_path).get(CountingEncoder(), split_of(*TOKENS), "toy")
    assert [path.name for path in tmp_path.rglob("*")] == ["features"]
    monkeypatch.undo()
    features = FeatureStore(tmp_path).get(CountingEncoder(), split_of(*TOKENS), "toy")
    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(UserError, match=r"mean\.npy: cannot be written"):
        features.view("mean")


def test_a_cache_that_is_a_file_is_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match=r"file/features: cannot be made .*PROBING_CACHE names another folder"):
        FeatureStore(tmp_path / "file").get(CountingEncoder(), split_of(*TOKENS), "toy")
    assert caplog.text == ""
