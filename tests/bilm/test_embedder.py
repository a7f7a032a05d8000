"""Many sentences to arrays: in order, in bounded memory, and with the state that was asked for."""

import itertools
import logging
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bilm.characters import batch_to_ids, words_to_ids
from bilm.embedder import WARM_UP_TEXT, Embedder
from bilm.errors import UserError
from bilm.model import BiLM, BiLMOutput
from tests import reference
from tests.bilm.models import LONG, ODD_WORDS, SENTENCE, SHORT, row, run, strong_model
from tests.reference import Array

STATES = ["reset", "carry", "warm"]
WITHOUT_MEMORY = ["reset", "warm"]


@pytest.fixture
def model() -> BiLM:
    return strong_model(seed=4)


def embedder_of(model: BiLM, state: str = "reset", **arguments: Any) -> Embedder:
    return Embedder(model, state=state, device="cpu", **arguments)  # type: ignore[arg-type]


def embed(embedder: Embedder, sentences: Sequence[Sequence[str]]) -> list[Array]:
    return list(embedder.embed(sentences))


def assert_same(found: Array, expected: Array, tolerance: float = 1e-6) -> None:
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


def numbered(n_sentences: int) -> list[list[str]]:
    """Return sentences of mixed lengths, each with a word that no other has."""
    return [[f"w{k}", *SENTENCE[: (7 * k) % 13]] for k in range(n_sentences)]


# What an array is


@pytest.mark.parametrize("state", STATES)
def test_arrays_are_float32_of_layers_by_tokens_by_dimensions(model: BiLM, state: str) -> None:
    for words, layers in zip([SENTENCE, SHORT], embed(embedder_of(model, state), [SENTENCE, SHORT]), strict=True):
        assert isinstance(layers, np.ndarray)
        assert layers.dtype == np.float32
        assert layers.shape == (model.n_layers + 1, len(words), model.dim)


def test_arrays_are_what_the_model_says(model: BiLM) -> None:
    output = run(model, [SENTENCE, SHORT, [], LONG])
    for k, layers in enumerate(embed(embedder_of(model), [SENTENCE, SHORT, [], LONG])):
        assert_same(layers, row(output, k))


def test_writing_into_an_array_changes_no_other(model: BiLM) -> None:
    embedder = embedder_of(model)
    first, second = embed(embedder, [SENTENCE, SENTENCE])
    expected = second.copy()
    first[:] = 0
    np.testing.assert_array_equal(second, expected)
    assert_same(embed(embedder, [SENTENCE])[0], expected)


@pytest.mark.parametrize("state", STATES)
def test_embedding_in_a_loop_leaves_no_graph_and_no_gradient_behind_L19(model: BiLM, state: str) -> None:
    outputs: list[BiLMOutput] = []
    contextualize = model.contextualize

    def kept(*arguments: Any, **named: Any) -> BiLMOutput:
        outputs.append(contextualize(*arguments, **named))
        return outputs[-1]

    model.contextualize = kept  # type: ignore[method-assign]
    embedder = embedder_of(model, state)
    for _ in range(3):
        embed(embedder, [SENTENCE, SHORT])
    assert outputs
    for output in outputs:
        assert not output.layers.requires_grad
        assert not any(tensor.requires_grad for direction in output.state for tensor in direction)
    assert all(parameter.requires_grad and parameter.grad is None for parameter in model.parameters())


def test_an_unknown_state_is_refused(model: BiLM) -> None:
    with pytest.raises(ValueError, match="reset"):
        embedder_of(model, "stateful")


@pytest.mark.parametrize("device", ["nowhere", "cuda:99"])
def test_a_device_that_is_not_here_is_named_L46(model: BiLM, device: str) -> None:
    with pytest.raises(UserError, match=device):
        Embedder(model, device=device)


# Order, batches, memory


@pytest.mark.parametrize("state", WITHOUT_MEMORY)
def test_a_thousand_sentences_come_back_in_their_order_L50(model: BiLM, state: str) -> None:
    sentences = numbered(1000)
    embedder = embedder_of(model, state, tokens_per_batch=256)
    found = embed(embedder, sentences)
    assert [layers.shape[1] for layers in found] == [len(words) for words in sentences]
    for k in range(0, 1000, 37):
        assert_same(found[k], embedder.embed_batch([sentences[k]])[0])
    first_words = model.encode_tokens(words_to_ids([words[0] for words in sentences], 12)).detach().numpy()
    assert_same(np.array([layers[0, 0, : model.dim // 2] for layers in found]), first_words)


def test_each_distinct_word_is_encoded_once_L50(model: BiLM) -> None:
    n_rows = []
    model.token_encoder.register_forward_hook(lambda _, inputs, __: n_rows.append(len(inputs[0])))
    sentences = numbered(300)
    embed(embedder_of(model, tokens_per_batch=64), sentences)
    distinct = set(itertools.chain.from_iterable(sentences))
    assert sum(n_rows) == len(distinct) + 2  # and the two boundaries


def test_a_full_store_of_word_vectors_changes_no_number(model: BiLM, monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = numbered(40)
    expected = embed(embedder_of(model), sentences)
    monkeypatch.setattr("bilm.embedder._CACHED_FLOATS", 2 * model.config.lstm.projection_dim)  # two words
    for found, layers in zip(embed(embedder_of(model, tokens_per_batch=30), sentences), expected, strict=True):
        assert_same(found, layers)


@pytest.mark.parametrize("long", [300, 90])
def test_one_long_sentence_among_short_ones_does_not_widen_them_all_L18(model: BiLM, long: int) -> None:
    shapes = []
    contextualize = model.contextualize

    def watched(tokens: torch.Tensor, *arguments: Any, **named: Any) -> BiLMOutput:
        shapes.append(tokens.shape[:2])
        return contextualize(tokens, *arguments, **named)

    model.contextualize = watched  # type: ignore[method-assign]
    sentences = [[f"s{k}"] for k in range(500)]
    sentences[250] = [f"l{k}" for k in range(long)]
    found = embed(embedder_of(model, tokens_per_batch=100), sentences)
    assert [layers.shape[1] for layers in found] == [len(words) for words in sentences]
    # Memory goes with rows times the longest row, not with the words.
    for n_rows, time in shapes:
        assert n_rows == 1 or n_rows * time <= 100
    assert len(shapes) < 30  # short sentences are still run together


def test_a_sentence_of_5000_words_is_embedded_L18(model: BiLM) -> None:
    words = [SENTENCE[k % len(SENTENCE)] for k in range(5000)]
    (layers,) = embed(embedder_of(model), [words])
    assert layers.shape == (3, 5000, model.dim)
    # The forward half of the beginning sees no end: it is that of a short sentence.
    half = model.dim // 2
    (short,) = embed(embedder_of(model), [words[:20]])
    assert_same(layers[:, :20, :half], short[:, :, :half])


@pytest.mark.parametrize("state", STATES)
def test_sentences_are_streamed_and_never_all_held_L18(model: BiLM, state: str) -> None:
    n_read = 0

    def endless() -> Iterator[list[str]]:
        nonlocal n_read
        for k in itertools.count():
            n_read += 1
            yield [f"w{k}"]

    stream = embedder_of(model, state, tokens_per_batch=30).embed(endless())
    assert [next(stream).shape[1] for _ in range(5)] == [1] * 5
    assert n_read <= 1000
    for _ in range(500):
        next(stream)
    assert n_read <= 1500


def test_an_endless_stream_of_empty_sentences_is_streamed_too_L9(model: BiLM) -> None:
    empty: list[str] = []
    stream = embedder_of(model, tokens_per_batch=30).embed(itertools.repeat(empty))
    assert next(stream).shape == (3, 0, model.dim)


any_sentences = st.lists(st.lists(st.sampled_from([*ODD_WORDS, *SENTENCE]), max_size=8), max_size=12)


@given(sentences=any_sentences, tokens_per_batch=st.integers(1, 40), state=st.sampled_from(WITHOUT_MEMORY))
@settings(max_examples=40, deadline=None)
def test_any_sentences_in_any_batches_are_each_as_if_alone_L2(
    sentences: list[list[str]], tokens_per_batch: int, state: str
) -> None:
    embedder = embedder_of(strong_model(seed=4), state, tokens_per_batch=tokens_per_batch)
    found = embed(embedder, sentences)
    assert len(found) == len(sentences)
    for words, layers in zip(sentences, found, strict=True):
        assert_same(layers, embedder.embed_batch([words])[0])


# State


@pytest.mark.parametrize("state", WITHOUT_MEMORY)
def test_the_same_sentence_twice_in_either_order_gives_the_same_vectors_L1(model: BiLM, state: str) -> None:
    embedder = embedder_of(model, state)
    one, other = embed(embedder, [SENTENCE, SHORT])
    other_first, one_second = embed(embedder, [SHORT, SENTENCE])
    assert_same(one_second, one)
    assert_same(other_first, other)
    assert_same(embed(embedder, [SENTENCE])[0], one)


@pytest.mark.parametrize("state", WITHOUT_MEMORY)
def test_adding_a_sentence_changes_no_other_L5(model: BiLM, state: str) -> None:
    embedder = embedder_of(model, state)
    two, three = embed(embedder, [SENTENCE, SHORT]), embed(embedder, [SENTENCE, LONG, SHORT])
    assert_same(three[0], two[0])
    assert_same(three[2], two[1])


def test_the_three_states_give_different_vectors_but_for_layer_0_L2(model: BiLM) -> None:
    reset, carry, warm = (embed(embedder_of(model, state), [LONG, SENTENCE])[1] for state in STATES)
    for one, other in ((reset, carry), (reset, warm), (carry, warm)):
        assert np.abs(one[1:] - other[1:]).max() > 0.01
        assert_same(one[0], other[0])


def test_carried_sentences_follow_one_another_as_one_row_like_the_reference_L1() -> None:
    options = reference.make_options()
    weights = reference.random_official_model(options, seed=4)
    embedder = embedder_of(strong_model(seed=4), "carry", tokens_per_batch=7)
    sentences = [SENTENCE, SHORT, [], SENTENCE, ["x"], LONG]
    state = None
    for words, layers in zip(sentences, embed(embedder, sentences), strict=True):
        expected, state = reference.embed_sentence(weights, options, words, state)
        assert_same(layers, expected, tolerance=1e-5)


def test_warm_sentences_start_where_the_warm_up_text_ends_like_the_reference_L2() -> None:
    options = reference.make_options()
    weights = reference.random_official_model(options, seed=4)
    state = None
    for line in WARM_UP_TEXT.read_text(encoding="utf-8").splitlines():
        _, state = reference.embed_sentence(weights, options, line.split(" "), state)
    for words, layers in zip(
        [SENTENCE, SHORT], embed(embedder_of(strong_model(seed=4), "warm"), [SENTENCE, SHORT]), strict=True
    ):
        assert_same(layers, reference.embed_sentence(weights, options, words, state)[0], tolerance=1e-5)


def test_rows_carry_apart_and_an_absent_or_empty_row_remembers_L7(model: BiLM) -> None:
    embedder = embedder_of(model, "carry")
    embedder.embed_batch([SENTENCE, SHORT, LONG])
    embedder.embed_batch([SHORT, []])  # row 1 is empty, row 2 is absent
    found = embedder.embed_batch([["x"], ["y"], ["z"]])
    for k, history in enumerate(([SENTENCE, SHORT, ["x"]], [SHORT, ["y"]], [LONG, ["z"]])):
        assert_same(found[k], embed(embedder_of(model, "carry"), history)[-1])


@pytest.mark.parametrize("state", STATES)
def test_after_a_reset_everything_is_as_at_first_L3(model: BiLM, state: str) -> None:
    embedder = embedder_of(model, state)
    first = embed(embedder, [SENTENCE, SHORT])
    embed(embedder, [LONG])
    embedder.reset()
    for found, expected in zip(embed(embedder, [SENTENCE, SHORT]), first, strict=True):
        assert_same(found, expected)


def test_carrying_without_a_reset_goes_on_from_the_call_before_L3(model: BiLM) -> None:
    embedder = embedder_of(model, "carry")
    embed(embedder, [LONG])
    found = embed(embedder, [SENTENCE])[0]
    assert_same(found, embed(embedder_of(model, "carry"), [LONG, SENTENCE])[1])
    assert np.abs(found - embed(embedder_of(model, "carry"), [SENTENCE])[0]).max() > 0.01


def test_two_embedders_of_one_model_share_no_state_L1(model: BiLM) -> None:
    one, other = embedder_of(model, "carry"), embedder_of(model, "carry")
    expected = embed(embedder_of(model, "carry"), [SENTENCE])[0]
    embed(one, [LONG])
    assert_same(embed(other, [SENTENCE])[0], expected)


def test_a_batch_of_129_rows_carries_like_any_other_L53(model: BiLM) -> None:
    embedder = embedder_of(model, "carry")
    embedder.embed_batch(numbered(129))
    found = embedder.embed_batch([SHORT] * 129)
    for k in (0, 128):
        assert_same(found[k], embed(embedder_of(model, "carry"), [numbered(129)[k], SHORT])[1])


# Odd sentences and words


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("sentences", [[], [[]], [[], []], [[], ["a"]], [["a"], [], ["b"]], [["a"], [], []]])
def test_an_empty_sentence_has_its_place_and_no_tokens_L9_L10(
    model: BiLM, state: str, sentences: list[list[str]]
) -> None:
    for found in (embed(embedder_of(model, state), sentences), embedder_of(model, state).embed_batch(sentences)):
        assert [layers.shape for layers in found] == [(3, len(words), model.dim) for words in sentences]
        assert all(layers.dtype == np.float32 for layers in found)


def test_the_shape_of_an_empty_sentence_is_that_of_the_model_L9() -> None:
    model = strong_model(seed=4, n_layers=3, projection_dim=4)
    assert embed(embedder_of(model), [[]])[0].shape == (4, 0, 8)


@pytest.mark.parametrize("sentences", ["the cat", ["the cat"], [["a"], "the cat"], [["a", 7]], [["a", None]], [b"the"]])
def test_what_is_no_list_of_words_is_refused_instead_of_spelled_out(model: BiLM, sentences: Any) -> None:
    embedder = embedder_of(model)
    for refusing in (model.embed, embedder.embed_batch, lambda given: batch_to_ids(given, model.max_characters)):
        with pytest.raises(TypeError, match=r"a (sentence|word) is a (list of words|string), not"):
            refusing(sentences)
    assert embedder.embed_batch([["a"]])[0].shape == (3, 1, model.dim)


def test_an_empty_word_is_a_word_L14(model: BiLM) -> None:
    (layers,) = embed(embedder_of(model), [["a", "", ""]])
    assert layers.shape == (3, 3, model.dim)
    assert np.abs(layers[0, 1]).max() > 0


def test_words_of_odd_characters_are_the_models_own_L25(model: BiLM) -> None:
    (layers,) = embed(embedder_of(model), [ODD_WORDS])
    assert_same(layers, row(run(model, [ODD_WORDS]), 0))
    first = {word: layers[0, k] for k, word in enumerate(ODD_WORDS)}
    for odd in ("\u00a0", "\u2028", "\x00"):
        assert np.abs(first[odd] - first[""]).max() > 1e-3


def test_long_words_are_warned_of_once_and_counted_L17(model: BiLM, caplog: pytest.LogCaptureFixture) -> None:
    limit = model.config.char_cnn.max_characters_per_token - 2
    first, second, third = "x" * (limit + 1), "y" * (limit + 30), "é" * limit
    sentences = [["short", "w" * limit], [first, "short", second], [third, first]]
    with caplog.at_level(logging.INFO, logger="bilm"):
        embedder = embedder_of(model, tokens_per_batch=4)
        found = embed(embedder, sentences)
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert any(word in warnings[0].getMessage() for word in (first, second, third))
    assert str(limit) in warnings[0].getMessage()
    assert embedder.n_truncated == 3  # distinct words
    # They are read all the same, up to the limit.
    cut = embed(embedder, [[first[:limit], "short", second[:limit]]])[0]
    assert_same(found[1], cut)


def test_words_that_fit_are_not_warned_of_L17(model: BiLM, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="bilm"):
        embedder = embedder_of(model, "warm")
        embed(embedder, [["w" * (model.config.char_cnn.max_characters_per_token - 2), "", "\ud800" * 90]])
    assert not [record for record in caplog.records if "w" * 10 in record.getMessage()]


# The model changes under the embedder


def test_a_model_whose_weights_changed_is_embedded_with_its_new_weights(model: BiLM) -> None:
    embedder = embedder_of(model)
    embed(embedder, [SENTENCE])
    other = strong_model(seed=9)
    model.load_state_dict(other.state_dict())
    embedder.reset()
    assert_same(embed(embedder, [SENTENCE])[0], embed(embedder_of(other), [SENTENCE])[0])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
@pytest.mark.parametrize("state", STATES)
def test_a_model_moved_to_the_gpu_and_back_gives_the_same_vectors_L46(model: BiLM, state: str) -> None:
    expected = embed(embedder_of(model, state), [SENTENCE, SHORT])
    on_gpu = embed(Embedder(model, state=state, device="cuda"), [SENTENCE, SHORT])  # type: ignore[arg-type]
    back = embed(embedder_of(model, state), [SENTENCE, SHORT])
    for before, there, after in zip(expected, on_gpu, back, strict=True):
        assert_same(there, before, tolerance=1e-4)
        np.testing.assert_array_equal(after, before)


# The model's own short way


@pytest.mark.parametrize("state", STATES)
def test_a_models_embed_gives_what_an_embedder_gives(model: BiLM, state: str) -> None:
    sentences = [SENTENCE, [], SHORT]
    short_way = model.embed(sentences, state=state)  # type: ignore[arg-type]
    assert isinstance(short_way, list)
    for found, expected in zip(short_way, embed(embedder_of(model, state), sentences), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("training", [True, False])
def test_a_models_embed_leaves_the_model_in_the_mode_it_was_in(model: BiLM, training: bool) -> None:
    model.train(training).embed([SHORT])
    assert model.training is training
