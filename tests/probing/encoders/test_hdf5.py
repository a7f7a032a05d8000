"""Vectors of another tool: found by their text, compared with it sentence by sentence, and what is refused."""

import json
import logging
import multiprocessing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from bilm.checkpoint import load_model
from bilm.cli import app as bilm_app
from bilm.official import save_official
from probing.cli import app as probing_app
from probing.config import load_experiment
from probing.encoders import BilmEncoderConfig, Hdf5EncoderConfig
from probing.encoders.vector_file import VectorsError
from probing.experiment import run_experiment
from probing.features import FeatureStore
from tests.command_line import run_here
from tests.probing.toy import save_network, write_treebank

SENTENCES = [["the", "goose", "sinks"], ["a", "boat"], ["a", "boat"], ["boats", "sink"]]
DIM = 4


def vectors(n_tokens: int, seed: int = 0, n_layers: int = 3) -> NDArray[np.float32]:
    return np.random.default_rng([seed, n_tokens]).standard_normal((n_layers, n_tokens, DIM)).astype(np.float32)


def write(path: Path, sentences: Sequence[Sequence[str]] = SENTENCES, text: bool = False, **more: int) -> Path:
    """Write a dataset a sentence, and its text if asked."""
    path.parent.mkdir(exist_ok=True)
    with h5py.File(path, "w") as file:
        for number, words in enumerate(sentences):
            file[str(number)] = vectors(len(words), **more)
    if text:
        path.with_suffix(".txt").write_text("".join(" ".join(words) + "\n" for words in sentences), encoding="utf-8")
    return path


def encode(path: Path, sentences: Sequence[Sequence[str]] = SENTENCES) -> list[NDArray[np.float32]]:
    return list(Hdf5EncoderConfig(hdf5=str(path)).build(None).encode(iter(sentences)))


def refusal(path: Path, sentences: Sequence[Sequence[str]] = SENTENCES) -> str:
    with pytest.raises(VectorsError) as error:
        encode(path, sentences)
    message = str(error.value)
    assert "\n" not in message
    return message.replace(f"{path if path.is_dir() else path.parent}/", "")


def test_every_layer_of_every_sentence_is_what_the_file_holds(tmp_path: Path) -> None:
    path = write(tmp_path / "a.hdf5")
    config = Hdf5EncoderConfig(hdf5=str(path))
    config.check()
    encoder = config.build(None)
    assert (config.label, config.n_layers, config.seeds) == ("a", 3, (None,))
    assert (encoder.layer_names, encoder.dim) == (("layer 0", "layer 1", "layer 2"), DIM)
    for found, words in zip(encoder.encode(SENTENCES), SENTENCES, strict=True):
        np.testing.assert_array_equal(found, vectors(len(words)))
        assert found.dtype == np.float32


def test_a_file_of_one_layer_has_a_layer_0_alone(tmp_path: Path) -> None:
    path = tmp_path / "top.hdf5"
    with h5py.File(path, "w") as file:
        file["0"] = vectors(2)[-1].astype(np.float16)
    (found,) = encode(path, [["a", "boat"]])
    np.testing.assert_array_equal(found, vectors(2)[-1:].astype(np.float16))
    assert Hdf5EncoderConfig(hdf5=str(path)).n_layers == 1


def test_the_file_is_the_one_with_the_same_words_before_one_with_the_same_lengths(tmp_path: Path) -> None:
    folder = tmp_path / "elmo"
    write(folder / "a.hdf5", seed=1)
    write(folder / "b.hdf5", [[word.upper() for word in words] for words in SENTENCES], text=True, seed=2)
    write(folder / "c.hdf5", text=True, seed=3)
    np.testing.assert_array_equal(encode(folder)[0], vectors(3, seed=3))
    other_words = [["x"] * len(words) for words in SENTENCES]
    np.testing.assert_array_equal(encode(folder, other_words)[0], vectors(3, seed=1))
    assert Hdf5EncoderConfig(hdf5=str(folder)).label == "elmo"
    assert Hdf5EncoderConfig(hdf5=str(folder), name="ELMo").label == "ELMo"


def test_a_folder_may_also_be_one_of_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBING_DATA", str(tmp_path))
    write(tmp_path / "elmo" / "a.hdf5")
    assert len(encode(Path("elmo"))) == len(SENTENCES)


def test_the_text_that_allennlp_keeps_in_the_file_is_compared_too(tmp_path: Path) -> None:
    path = write(tmp_path / "a.hdf5")
    number_of = {" ".join(words): str(number) for number, words in enumerate(SENTENCES)}  # the last of two alike
    with h5py.File(path, "a") as file:
        kept = file.create_dataset("sentence_to_index", (1,), dtype=h5py.string_dtype())
        kept[0] = json.dumps(number_of)
    assert len(encode(path)) == len(SENTENCES)
    assert "sentence 4: token 2 is 'sank', in the file 'sink'" in refusal(path, [*SENTENCES[:3], ["boats", "sank"]])
    with h5py.File(path, "a") as file:
        file["sentence_to_index"][0] = "[1]"
    assert refusal(path) == "a.hdf5: dataset sentence_to_index is not what AllenNLP writes"


def test_words_are_compared_as_plain_text_has_them(tmp_path: Path) -> None:
    path = write(tmp_path / "a.hdf5", [["1_000", "boats"], []], text=True)
    assert [found.shape for found in encode(path, [["1\u00a0000", "boats"], []])] == [(3, 2, DIM), (3, 0, DIM)]


@pytest.mark.parametrize(
    ("text", "sentences", "problem"),
    [
        (False, SENTENCES[:3], "the file has 4 sentences"),
        (False, [*SENTENCES, ["why", "?"]], "the file has 4 sentences, and lacks sentence 5 ('why ?')"),
        (
            False,
            [SENTENCES[0], SENTENCES[3], ["a", "big", "boat"]],
            "sentence 3 ('a big boat') has 3 tokens, in the file 2",
        ),
        (True, [SENTENCES[0], ["a", "lamp"]], "sentence 2: token 2 is 'lamp', in the file 'boat'"),
    ],
)
def test_the_first_difference_is_named(text: bool, sentences: list[list[str]], problem: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.hdf5", text=text)
    assert refusal(path, sentences) == (
        f"a.hdf5: not the vectors of these {len(sentences)} sentences: {problem}; "
        "`probing text CONFIG --out DIR` writes the text to embed"
    )


def test_of_several_files_the_one_that_agrees_longest_is_named(tmp_path: Path) -> None:
    write(tmp_path / "v" / "a.hdf5", [["x"]])
    write(tmp_path / "v" / "b.hdf5", SENTENCES[:3])
    message = refusal(tmp_path / "v")
    assert message.startswith("b.hdf5 (the nearest file): not the vectors of these 4 sentences: the file has 3 ")
    assert "lacks sentence 4 ('boats sink')" in message


def test_a_text_that_is_not_the_files_own_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.hdf5", text=True)
    text = path.with_suffix(".txt")
    text.write_text(text.read_text(encoding="utf-8") + "one more\n", encoding="utf-8")
    assert "it has 4 sentences, but a.txt has 5 lines" in refusal(path)
    text.write_text("the goose sinks again\na boat\na boat\nboats sink\n", encoding="utf-8")
    assert "sentence 1 ('the goose sinks') has 3 words, its text 4" in refusal(path)


def test_files_that_fit_alike_are_an_error_unless_they_are_equal_or_their_text_is_known(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = write(tmp_path / "v" / "a.hdf5"), write(tmp_path / "v" / "b.hdf5")
    second.write_bytes(first.read_bytes())
    assert len(encode(tmp_path / "v")) == 4
    write(second, seed=1)
    assert refusal(tmp_path / "v") == (
        "a.hdf5: a.hdf5 and b.hdf5 have other vectors, but fit these sentences alike: put the text of each beside it "
        "(a.txt, ...)"
    )
    write(first, text=True)
    write(second, text=True, seed=1)
    with caplog.at_level(logging.WARNING):
        np.testing.assert_array_equal(encode(tmp_path / "v")[0], vectors(3))
    assert "a.hdf5 and b.hdf5 have other vectors of the same text; the first is used" in caplog.text


def test_files_of_other_networks_in_one_folder_are_an_error(tmp_path: Path) -> None:
    write(tmp_path / "v" / "a.hdf5")
    write(tmp_path / "v" / "b.hdf5", n_layers=2)
    assert refusal(tmp_path / "v") == (
        "b.hdf5 has 2 layers of width 4, a.hdf5 beside it 3 of width 4: one encoder's files are of one network"
    )


def test_the_fingerprint_is_of_what_the_files_hold_vectors_and_text(tmp_path: Path) -> None:
    def fingerprint() -> str:
        return Hdf5EncoderConfig(hdf5=str(tmp_path / "v")).build(None).fingerprint

    path = write(tmp_path / "v" / "a.hdf5")
    found = [fingerprint(), fingerprint()]
    assert found[0] == found[1]
    path.with_suffix(".txt").write_text("\n".join(" ".join(words) for words in SENTENCES), encoding="utf-8")
    found.append(fingerprint())
    write(path, seed=1)
    found.append(fingerprint())
    (tmp_path / "v").rename(tmp_path / "w")
    (tmp_path / "w").rename(tmp_path / "v")
    assert len(set(found)) == 3 and fingerprint() == found[-1]


def damage(path: Path, content: dict[str, Any]) -> None:
    with h5py.File(path, "w") as file:
        for name, values in content.items():
            file[name] = values


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({}, "holds no sentences"),
        (
            {"a boat / goose .": vectors(2)},
            "'a boat ' is a group: a sentence was its own key, and what has a '/' in it is no dataset; "
            "the key of a sentence is its number, from 0",
        ),
        ({"a boat": vectors(2)}, "dataset 'a boat' has no number; the key of a sentence is its number, from 0"),
        ({"1": vectors(2)}, "dataset 0 is missing: sentences are numbered from 0, none left out"),
        ({"0": vectors(3), "2": vectors(2)}, "dataset 1 is missing: sentences are numbered from 0, none left out"),
        ({"0/1": vectors(3)}, "dataset 0 is a group: sentences are numbered from 0, none left out"),
        (
            {"0": vectors(3), "1": vectors(2, n_layers=2)},
            "dataset 1 has 2 layers of width 4, dataset 0 has 3 of width 4",
        ),
        (
            {"0": np.zeros((3, 2), dtype=int)},
            "dataset 0 holds int64 of shape (3, 2), expected floating-point numbers [n_layers, n_tokens, dim] or "
            "[n_tokens, dim]",
        ),
        (
            {"0": np.zeros(3)},
            "dataset 0 holds float64 of shape (3,), expected floating-point numbers [n_layers, n_tokens, dim] or "
            "[n_tokens, dim]",
        ),
    ],
)
def test_a_file_that_is_no_file_of_vectors_is_one_line(content: dict[str, Any], problem: str, tmp_path: Path) -> None:
    damage(tmp_path / "a.hdf5", content)
    assert refusal(tmp_path / "a.hdf5") == f"a.hdf5: {problem}"


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_a_value_that_is_not_finite_is_named_by_file_sentence_and_layer(value: float, tmp_path: Path) -> None:
    damage(tmp_path / "a.hdf5", {str(i): vectors(len(words)).astype(float) for i, words in enumerate(SENTENCES)})
    with h5py.File(tmp_path / "a.hdf5", "a") as file:
        file["3"][1, 1, 2] = value
    assert refusal(tmp_path / "a.hdf5") == "a.hdf5: dataset 3: layer 1 has a value that is not finite"


def test_the_weights_of_a_model_are_told_from_vectors_L45(tmp_path: Path) -> None:
    save_official(load_model(save_network(tmp_path / "tiny")), tmp_path / "official")
    with pytest.raises(VectorsError, match="holds the weights of a biLM, not vectors"):
        Hdf5EncoderConfig(hdf5=str(tmp_path / "official")).check()


def test_what_is_no_hdf5_and_what_is_cut_off_says_what_it_seems_to_be(tmp_path: Path) -> None:
    path = write(tmp_path / "a.hdf5", [["word"] * 500] * 4)
    path.write_bytes(path.read_bytes()[:-9000])
    assert refusal(path, [["word"] * 500] * 4).endswith("found a damaged or cut-off HDF5 file")
    path.write_text("<!DOCTYPE html>", encoding="utf-8")
    assert refusal(path).endswith("one dataset a sentence, found a web page (a failed download?)")
    path.unlink()
    with pytest.raises(VectorsError, match="there is no such folder or file of vectors; `probing text CONFIG"):
        Hdf5EncoderConfig(hdf5=str(path)).check()
    with pytest.raises(VectorsError, match=r"no file in this folder is called NAME\.hdf5"):
        Hdf5EncoderConfig(hdf5=str(tmp_path)).check()


def _sum(encoder: Any) -> float:
    return float(sum(layers.sum() for layers in encoder.encode(SENTENCES)))


def test_another_process_reads_a_file_that_is_being_read_in_this_one_P27(tmp_path: Path) -> None:
    encoder = Hdf5EncoderConfig(hdf5=str(write(tmp_path / "a.hdf5"))).build(None)
    reading = encoder.encode(SENTENCES)
    next(reading)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_sum, (encoder,)) == _sum(encoder)
    assert len(list(reading)) == 3


def test_what_bilm_embed_makes_of_probing_text_gives_the_results_of_the_bilm_itself_P33(tmp_path: Path) -> None:
    network = save_network(tmp_path / "tiny")
    document = {
        "name": "toy",
        "tasks": [{"task": "pos", "corpus": write_treebank(tmp_path / "treebank")}],
        "encoders": [{"bilm": network}, {"hdf5": str(tmp_path / "vectors"), "name": "its vectors"}],
        "probes": [{"probe": "linear", "penalties": [0.001]}],
        "bootstrap": {"samples": 20},
    }
    path = tmp_path / "toy.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    assert run_here(probing_app, "text", path, "--out", tmp_path / "vectors").returncode == 0
    for text in (tmp_path / "vectors").glob("*.txt"):
        assert run_here(bilm_app, "embed", network, text, "--out", text.with_suffix(".hdf5")).returncode == 0
    config = load_experiment(path)
    (task,) = config.tasks
    tokens = [sentence.tokens for sentence in task.load()["train"].sentences]
    own = BilmEncoderConfig(bilm=network).build(None).encode(tokens)
    for found, right in zip(config.encoders[1].build(None).encode(tokens), own, strict=True):
        np.testing.assert_array_equal(found, right)
    rows = run_experiment(config, tmp_path / "results", store=FeatureStore(tmp_path / "cache")).rows
    scores = rows[rows["metric"] == "accuracy"].set_index(["encoder", "split", "subset", "view"])["value"]
    np.testing.assert_array_equal(scores["its vectors"], scores["tiny"])


def test_a_split_without_vectors_ends_the_run_by_one_line(tmp_path: Path) -> None:
    corpus = write_treebank(tmp_path / "treebank")
    write(tmp_path / "v" / "pos-upos.test.hdf5", [["x"]])
    document = {
        "name": "toy",
        "tasks": [{"task": "pos", "corpus": corpus}],
        "encoders": [{"hdf5": str(tmp_path / "v")}],
        "probes": [{"probe": "linear", "penalties": [0.001]}],
    }
    path = tmp_path / "toy.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    found = run_here(probing_app, "run", path, "--out", tmp_path / "results", PROBING_CACHE=str(tmp_path / "cache"))
    assert found.returncode == 1
    assert "not the vectors of these 60 sentences: sentence 1 (" in found.stderr.strip().splitlines()[-1]
    assert not list(tmp_path.glob("results/*/predictions/*"))
