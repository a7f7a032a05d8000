"""AllenNLP's test model: 30 sentences and 458 words with the activations that its own code gave, state carried."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from bilm.characters import batch_to_ids, boundary_ids, word_to_ids
from bilm.embedder import Embedder
from bilm.model import BiLM
from bilm.official import load_official, save_official
from tests import reference
from tests.reference import Array, Options, Weights

pytestmark = pytest.mark.real_data

# The published figures are float32; the true agreement is 1.4e-6.
TOLERANCE = 1e-5
N_BATCHES, N_ROWS = 10, 3


@pytest.fixture(scope="module")
def golden(data_dir: Path) -> Path:
    folder = data_dir / "golden" / "allennlp-elmo"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    return folder


@pytest.fixture(scope="module")
def official(golden: Path) -> tuple[Options, Weights]:
    return reference.read_official(golden / "options.json", golden / "lm_weights.hdf5")


@pytest.fixture(scope="module")
def bilm(golden: Path) -> BiLM:
    return load_official(golden / "options.json", golden / "lm_weights.hdf5")


@pytest.fixture(scope="module")
def batches(golden: Path) -> list[list[list[str]]]:
    rows = json.loads((golden / "sentences.json").read_text(encoding="utf-8"))
    return [[rows[k][i].split(" ") for k in range(N_ROWS)] for i in range(N_BATCHES)]


@pytest.fixture(scope="module")
def top_layers(golden: Path) -> list[list[Array]]:
    """For each batch and row, the published top layer: forward and backward side by side, shape (n_tokens, 32)."""
    rows = []
    for k in range(N_ROWS):
        with h5py.File(golden / f"lm_embeddings_{k}.hdf5") as file:
            rows.append([np.concatenate(file[str(i)][()], axis=1) for i in range(N_BATCHES)])
    return [[rows[k][i] for k in range(N_ROWS)] for i in range(N_BATCHES)]


def errors(layers: list[list[Array]], top_layers: list[list[Array]]) -> Array:
    """Return the greatest difference from the published top layer for each batch and row."""
    return np.array(
        [
            [np.abs(found[-1] - expected).max() for found, expected in zip(*batch, strict=True)]
            for batch in zip(layers, top_layers, strict=True)
        ]
    )


def test_the_reference_gives_the_published_top_layer_of_all_30_sentences(
    official: tuple[Options, Weights], batches: list[list[list[str]]], top_layers: list[list[Array]]
) -> None:
    options, weights = official
    layers, _ = reference.embed_batches(weights, options, batches)
    assert errors(layers, top_layers).shape == (10, 3)
    assert errors(layers, top_layers).max() < TOLERANCE


def test_bilm_gives_the_published_top_layer_of_all_30_sentences(
    bilm: BiLM, batches: list[list[list[str]]], top_layers: list[list[Array]]
) -> None:
    state, layers = None, []
    for batch in batches:
        with torch.no_grad():
            output = bilm(batch_to_ids(batch), state)
        state = output.state
        layers.append([output.layers[:, k, : len(words)].numpy() for k, words in enumerate(batch)])
    assert errors(layers, top_layers).max() < TOLERANCE


def test_the_embedder_gives_the_published_top_layer_of_all_30_sentences(
    bilm: BiLM, batches: list[list[list[str]]], top_layers: list[list[Array]]
) -> None:
    embedder = Embedder(bilm, state="carry", device="cpu")
    layers = [embedder.embed_batch(batch) for batch in batches]
    assert errors(layers, top_layers).max() < TOLERANCE


def published_words(golden: Path) -> tuple[list[str], Array]:
    """Return the 458 words (a line each, the last one without a line end) and their published vectors."""
    words = (golden / "vocab_test.txt").read_text(encoding="utf-8").split("\n")
    with h5py.File(golden / "elmo_token_embeddings.hdf5") as file:
        return words, file["embedding"][()]


def test_the_reference_gives_the_published_vectors_of_458_words(
    golden: Path, official: tuple[Options, Weights]
) -> None:
    options, weights = official
    words, expected = published_words(golden)
    # In AllenNLP these two literal words are the boundaries.
    rows = {"<S>": reference.padded_row([256], 50), "</S>": reference.padded_row([257], 50)}
    found = [
        reference.token_vector(weights, options, rows.get(word, reference.character_row(word, 50))) for word in words
    ]
    assert np.abs(np.array(found) - expected).max() < TOLERANCE


def test_bilm_gives_the_published_vectors_of_458_words(golden: Path, bilm: BiLM) -> None:
    words, expected = published_words(golden)
    assert len(words) == len(expected) == 458
    start, end = boundary_ids()
    rows = [{"<S>": start, "</S>": end}.get(word, word_to_ids(word)) for word in words]
    with torch.no_grad():
        found = bilm.encode_tokens(torch.from_numpy(np.array(rows))).numpy()
    assert np.abs(found - expected).max() < TOLERANCE


def test_without_carried_state_only_the_first_batch_is_right(
    official: tuple[Options, Weights], batches: list[list[list[str]]], top_layers: list[list[Array]]
) -> None:
    options, weights = official
    layers = [[reference.embed_sentence(weights, options, words)[0] for words in batch] for batch in batches[:3]]
    found = errors(layers, top_layers[:3])
    assert found[0].max() < TOLERANCE
    assert found[1:].min() > 0.1


def test_without_the_forget_bias_of_one_every_sentence_is_wrong(
    official: tuple[Options, Weights], batches: list[list[list[str]]], top_layers: list[list[Array]]
) -> None:
    options, weights = official
    dim = options["lstm"]["dim"]
    without = dict(weights)
    for name in weights:
        if name.endswith("/B"):
            without[name] = weights[name].copy()
            without[name][2 * dim : 3 * dim] -= 1
    layers, _ = reference.embed_batches(without, options, batches[:3])
    assert errors(layers, top_layers[:3]).min() > 0.1


@pytest.mark.parametrize("wrong", [{"use_skip_connections": False}, {"cell_clip": None, "proj_clip": None}])
def test_without_skip_connections_or_clips_every_sentence_is_wrong(
    wrong: dict[str, bool | None],
    official: tuple[Options, Weights],
    batches: list[list[list[str]]],
    top_layers: list[list[Array]],
) -> None:
    options, weights = official
    layers, _ = reference.embed_batches(weights, reference.changed(options, **wrong), batches[:3])
    assert errors(layers, top_layers[:3]).min() > 0.1


def test_the_folder_as_it_was_published_names_the_model_too(golden: Path, bilm: BiLM) -> None:
    assert BiLM.from_pretrained(golden).fingerprint() == bilm.fingerprint()


def test_official_to_native_to_official_gives_equal_arrays_and_options(
    tmp_path: Path, official: tuple[Options, Weights], bilm: BiLM
) -> None:
    bilm.save_pretrained(tmp_path / "native")
    native = BiLM.from_pretrained(tmp_path / "native")
    assert native.fingerprint() == bilm.fingerprint()
    save_official(native, tmp_path / "official")
    options, weights = reference.read_official(
        tmp_path / "official" / "options.json", tmp_path / "official" / "weights.hdf5"
    )
    assert weights.keys() == official[1].keys()
    for name, array in official[1].items():
        assert weights[name].dtype == array.dtype
        np.testing.assert_array_equal(weights[name], array, err_msg=name)
    for section in ("lstm", "char_cnn"):
        for field, value in official[0][section].items():
            assert options[section][field] == value, field
