"""`bilm` and the independent NumPy reference give the same numbers, over every shape of network and odd input."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bilm.embedder import Embedder
from bilm.model import BiLM, BiLMState
from tests import reference
from tests.bilm.models import LONG, ODD_WORDS, SENTENCE, SHORT, bilm_of, row, run

# float64 shows that the formulas are the same; float32 is what is used.
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
PRECISIONS = [torch.float32, torch.float64]

VARIANTS: dict[str, dict[str, Any]] = {
    "as released": {},
    "tanh": {"activation": "tanh"},
    "no highway": {"n_highway": 0},
    "three highways": {"n_highway": 3},
    "one filter width": {"filters": [(3, 9)]},
    "a filter as wide as a row": {"filters": [(1, 3), (12, 9)]},
    "no projection of the filters": {"filters": [(1, 2), (2, 4)]},
    "no projection of the filters, no highway": {"filters": [(1, 2), (2, 4)], "n_highway": 0},
    "fewer filters than dimensions": {"filters": [(2, 3)]},
    "no projection in the LSTM": {"dim": 6},
    "no projection at all": {"dim": 6, "filters": [(1, 2), (2, 4)]},
    "no skip connections": {"skip": False},
    "one layer": {"n_layers": 1},
    "three layers": {"n_layers": 3},
    "three layers, no skip connections": {"n_layers": 3, "skip": False},
    "no clips": {"cell_clip": None, "proj_clip": None},
    "cell clip alone": {"proj_clip": None, "cell_clip": 0.3},
    "projection clip alone": {"cell_clip": None, "proj_clip": 0.3},
    "clips of 3": {"cell_clip": 3.0, "proj_clip": 3.0, "dim": 24},
    "tight clips": {"cell_clip": 0.3, "proj_clip": 0.3},
    "the shortest row": {"max_characters": 3, "filters": [(1, 4), (2, 5)]},
    "rows of 50": {"max_characters": 50},
}

ODD_BATCH = [ODD_WORDS, [], SENTENCE, ["x"], ODD_WORDS[::-1], [""], SHORT]
# Sizes 3, 2, 3 (and 4); row 1 is empty in the second batch, row 2 is not there.
CHANGING_BATCHES: list[list[list[str]]] = [
    [SENTENCE, SHORT, ["x"]],
    [ODD_WORDS, []],
    [["x"], SENTENCE, SHORT],
    [[], ["y"], SENTENCE, SHORT],
]


def both(
    options: reference.Options, seed: int, precision: torch.dtype = torch.float32
) -> tuple[BiLM, reference.Weights]:
    """Return a `bilm` network and the official arrays that it was loaded from."""
    weights = reference.random_official_model(options, seed)
    return bilm_of(options, weights).to(precision), weights


def assert_close(
    found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], precision: torch.dtype = torch.float32
) -> None:
    assert found.shape == expected.shape
    # With random weights values go up to 5: what rounding is allowed grows with them.
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE[precision] / 2, atol=TOLERANCE[precision])


def assert_equal_states(state: BiLMState, expected: Sequence[reference.State], precision: torch.dtype) -> None:
    """Compare the state of every row, direction and layer."""
    for k, directions in enumerate(expected):
        for found, layers in zip(state, directions, strict=True):
            for layer, (cell, hidden) in enumerate(layers):
                assert_close(found.cell[layer, k].numpy(), cell, precision)
                assert_close(found.hidden[layer, k].numpy(), hidden, precision)


@cache
def expected_of_odd_batch(name: str, seed: int) -> tuple[list[reference.Array], list[reference.State]]:
    """Return the reference's layers and states of `ODD_BATCH`."""
    options = reference.make_options(**VARIANTS[name])
    layers, states = reference.embed_batches(reference.random_official_model(options, seed), options, [ODD_BATCH])
    return layers[0], states


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", VARIANTS)
def test_a_batch_of_odd_sentences_equals_the_reference(name: str, precision: torch.dtype) -> None:
    model, _ = both(reference.make_options(**VARIANTS[name]), 1, precision)
    output = run(model, ODD_BATCH)
    layers, states = expected_of_odd_batch(name, 1)
    for k, expected in enumerate(layers):
        assert_close(row(output, k), expected, precision)
    assert_equal_states(output.state, states, precision)
    assert not output.layers[:, ~output.mask].any()


@pytest.mark.parametrize("name", VARIANTS)
def test_batches_of_changing_size_with_carried_state_equal_the_reference_L7(name: str) -> None:
    options = reference.make_options(**VARIANTS[name])
    model, weights = both(options, seed=2)
    embedder = Embedder(model, state="carry", device="cpu")
    layers, _ = reference.embed_batches(weights, options, CHANGING_BATCHES)
    for batch, expected in zip(CHANGING_BATCHES, layers, strict=True):
        for found_row, expected_row in zip(embedder.embed_batch(batch), expected, strict=True):
            assert_close(found_row, expected_row)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_setting_of_a_variant_matters_to_the_reference(name: str) -> None:
    """Were a clip never reached, or a skip connection without effect, agreement would prove nothing about it."""
    options = reference.make_options(**VARIANTS[name])
    weights = reference.random_official_model(options, seed=1)
    layers, _ = reference.embed_sentence(weights, options, LONG[:40])
    lstm = options["lstm"]
    others: list[dict[str, Any]] = []
    if lstm["n_layers"] > 1:
        others.append({"use_skip_connections": not lstm["use_skip_connections"]})
    if "cell_clip" in lstm:
        others.append({"cell_clip": None})
    if "proj_clip" in lstm and lstm["projection_dim"] < lstm["dim"]:
        others.append({"proj_clip": None})
    for other in others:
        changed, _ = reference.embed_sentence(weights, reference.changed(options, **other), LONG[:40])
        assert np.abs(changed - layers).max() > 1e-3, other


def test_a_long_sentence_equals_the_reference() -> None:
    options = reference.make_options()
    model, weights = both(options, seed=3)
    expected, _ = reference.embed_sentence(weights, options, LONG)
    assert_close(row(run(model, [LONG]), 0), expected)


@pytest.mark.parametrize("n_rows", [1, 3, 20])
def test_a_batch_that_is_run_in_blocks_of_steps_equals_the_reference_L18(
    n_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bilm.lstm._ROWS_PER_BLOCK", n_rows)
    model, _ = both(reference.make_options(), 1, torch.float64)
    output = run(model, ODD_BATCH)
    layers, states = expected_of_odd_batch("as released", 1)
    for k, expected in enumerate(layers):
        assert_close(row(output, k), expected, torch.float64)
    assert_equal_states(output.state, states, torch.float64)


def test_options_without_a_number_of_highways_have_none() -> None:
    options = reference.make_options(n_highway=0)
    del options["char_cnn"]["n_highway"]
    model, weights = both(options, seed=4)
    expected, _ = reference.embed_sentence(weights, options, SENTENCE)
    assert_close(row(run(model, [SENTENCE]), 0), expected)


@st.composite
def any_options(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the options of a small network of any shape."""
    filters = draw(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=4))
    n_filters = sum(n for _, n in filters)
    projection_dim = draw(st.one_of(st.just(n_filters), st.integers(2, 6)))
    clip = st.one_of(st.none(), st.floats(0.25, 3))
    return reference.make_options(
        filters=filters,
        activation=draw(st.sampled_from(["relu", "tanh"])),
        n_highway=draw(st.integers(0, 3)),
        embedding_dim=draw(st.integers(1, 5)),
        max_characters=draw(st.integers(max(3, *(width for width, _ in filters)), 14)),
        dim=projection_dim + draw(st.integers(0, 8)),
        projection_dim=projection_dim,
        n_layers=draw(st.integers(1, 4)),
        cell_clip=draw(clip),
        proj_clip=draw(clip),
        skip=draw(st.booleans()),
    )


any_word = st.one_of(st.sampled_from(ODD_WORDS), st.text(st.characters(), max_size=6))
any_sentence = st.lists(any_word, max_size=6)
any_batches = st.lists(st.lists(any_sentence, min_size=1, max_size=4), min_size=1, max_size=3)


@given(options=any_options(), seed=st.integers(0, 2**32 - 1), batches=any_batches)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_network_on_any_batches_equals_the_reference(
    options: dict[str, Any], seed: int, batches: list[list[list[str]]]
) -> None:
    # Some of these networks multiply the rounding of float32.
    model, weights = both(options, seed, torch.float64)
    embedder = Embedder(model, state="carry", device="cpu")
    layers, _ = reference.embed_batches(weights, options, batches)
    for batch, expected in zip(batches, layers, strict=True):
        for found, expected_row in zip(embedder.embed_batch(batch), expected, strict=True):
            assert_close(found, expected_row)
        output = run(model, batch)
        for k, words in enumerate(batch):
            assert_close(row(output, k), reference.embed_sentence(weights, options, words)[0], torch.float64)
