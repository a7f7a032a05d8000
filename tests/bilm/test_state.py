"""A sentence's vectors depend on that sentence alone, or on the state that is handed in, and on nothing else."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bilm.characters import batch_to_ids
from bilm.model import BiLM, BiLMState
from tests.bilm.models import LONG, ODD_WORDS, SENTENCE, SHORT, ids, row, run, strong_model

# In float32, products of other shapes round otherwise in the seventh digit. In float64 the same code shows that
# rounding is all there is.
TOLERANCE = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}


@pytest.fixture(scope="module")
def model() -> BiLM:
    return strong_model(seed=4).double()


def assert_same(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> None:
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE[found.dtype])


def greatest_difference(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    return float(np.abs(one - other).max())


def one_row(state: BiLMState, k: int) -> BiLMState:
    return state.rows(torch.tensor([k]))


def state_arrays(state: BiLMState) -> list[np.ndarray[Any, Any]]:
    return [tensor.numpy() for direction in state for tensor in direction]


def test_the_same_sentence_twice_gives_the_same_vectors_L1(model: BiLM) -> None:
    first, second = run(model, [SENTENCE]), run(model, [SENTENCE])
    assert torch.equal(first.layers, second.layers)


def test_the_order_of_two_sentences_changes_neither_L1(model: BiLM) -> None:
    one, other = run(model, [SENTENCE, SHORT]), run(model, [SHORT, SENTENCE])
    assert_same(row(one, 0), row(other, 1))
    assert_same(row(one, 1), row(other, 0))


def test_training_mode_gives_the_vectors_of_evaluation_mode_L1(model: BiLM) -> None:
    expected = run(model, [SENTENCE])
    model.train()
    try:
        assert torch.equal(run(model, [SENTENCE]).layers, expected.layers)
    finally:
        model.eval()


@pytest.mark.parametrize(
    ("batch", "k"),
    [
        ([SENTENCE, SHORT, ["x"]], 0),
        ([SHORT, ["x"], SENTENCE], 2),
        ([SHORT, SENTENCE, ["x"]], 1),
        ([SENTENCE, LONG], 0),
        ([LONG, SENTENCE], 1),
        ([SENTENCE, []], 0),
        ([[], SENTENCE], 1),
        ([SENTENCE] * 5, 3),
    ],
    ids=[
        "first",
        "last",
        "middle",
        "before one ten times as long",
        "after one ten times as long",
        "before an empty one",
        "after an empty one",
        "among itself",
    ],
)
@pytest.mark.parametrize("precision", [torch.float32, torch.float64])
def test_a_sentence_alone_equals_the_same_sentence_in_a_batch_L2(
    precision: torch.dtype, batch: list[list[str]], k: int
) -> None:
    model = strong_model(seed=4).to(precision)
    assert batch[k] == SENTENCE
    assert_same(row(run(model, batch), k), row(run(model, [SENTENCE]), 0))


def test_adding_a_sentence_between_two_changes_neither_L5(model: BiLM) -> None:
    two, three = run(model, [SENTENCE, SHORT]), run(model, [SENTENCE, LONG, SHORT])
    assert_same(row(three, 0), row(two, 0))
    assert_same(row(three, 2), row(two, 1))


sentences = st.lists(st.lists(st.sampled_from([*ODD_WORDS, *SENTENCE]), max_size=9), min_size=1, max_size=6)


@given(batch=sentences)
@settings(max_examples=40, deadline=None)
def test_every_sentence_of_any_batch_is_as_if_alone_L2(model: BiLM, batch: list[list[str]]) -> None:
    output = run(model, batch)
    for k, words in enumerate(batch):
        alone = run(model, [words])
        assert_same(row(output, k), row(alone, 0))
        for found, expected in zip(state_arrays(one_row(output.state, k)), state_arrays(alone.state), strict=True):
            assert_same(found, expected)


@given(batch=sentences, random=st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_any_order_of_a_batch_gives_the_same_vectors_L1(model: BiLM, batch: list[list[str]], random: Any) -> None:
    order = list(range(len(batch)))
    random.shuffle(order)
    output, shuffled = run(model, batch), run(model, [batch[k] for k in order])
    for position, k in enumerate(order):
        assert_same(row(shuffled, position), row(output, k))


@given(batch=sentences, n_columns=st.integers(1, 7))
@settings(max_examples=25, deadline=None)
def test_padding_on_the_right_changes_nothing_L5(model: BiLM, batch: list[list[str]], n_columns: int) -> None:
    character_ids = ids(model, batch)
    padded = torch.nn.functional.pad(character_ids, (0, 0, 0, n_columns))
    with torch.no_grad():
        output, wider = model(character_ids), model(padded)
    time = character_ids.shape[1]
    assert torch.equal(wider.mask[:, :time], output.mask)
    assert not wider.mask[:, time:].any()
    assert not wider.layers[:, ~wider.mask].any()
    assert_same(wider.layers[:, :, :time].numpy(), output.layers.numpy())
    for found, expected in zip(state_arrays(wider.state), state_arrays(output.state), strict=True):
        assert_same(found, expected)


def test_padding_is_zero_in_every_layer_L5(model: BiLM) -> None:
    output = run(model, [SHORT, SENTENCE])
    assert output.layers.shape == (3, 2, len(SENTENCE), model.dim)
    assert not output.layers[:, 0, len(SHORT) :].any()
    assert output.layers[:, 0, : len(SHORT)].abs().sum(dim=-1).min() > 0


def test_a_zero_row_before_a_token_is_refused(model: BiLM) -> None:
    character_ids = ids(model, [SENTENCE])
    character_ids[0, 2] = 0
    with pytest.raises(ValueError, match="right"):
        model(character_ids)


@pytest.mark.parametrize("max_characters", [11, 13, 50])
def test_rows_of_another_width_than_the_models_are_refused(model: BiLM, max_characters: int) -> None:
    # The padding inside a row counts, so a row of another width is another word.
    character_ids = batch_to_ids([SHORT], max_characters)
    with pytest.raises(ValueError, match="12"):
        model(character_ids)
    with pytest.raises(ValueError, match="12"):
        model.encode_tokens(character_ids[0])


@pytest.mark.parametrize("rubbish", [1e30, float("nan")])
def test_token_vectors_beyond_a_rows_length_are_ignored_L5(model: BiLM, rubbish: float) -> None:
    tokens = torch.full((2, 4, model.dim // 2), rubbish, dtype=torch.float64)
    vectors = model.encode_tokens(ids(model, [SHORT])[0]).detach()
    tokens[0, :3] = vectors
    boundaries = model.encode_tokens(model.boundary_ids).detach()
    output = model.contextualize(tokens, boundaries, torch.tensor([3, 0]))
    assert_same(row(output, 0), row(run(model, [SHORT]), 0))
    assert not output.layers[:, ~output.mask].any()


def test_one_sentence_does_not_leak_into_the_next_call_L3(model: BiLM) -> None:
    before = run(model, [SHORT])
    run(model, [LONG])
    assert torch.equal(run(model, [SHORT]).layers, before.layers)


def test_state_that_is_handed_on_changes_the_vectors_and_dropping_it_is_a_reset_L3(model: BiLM) -> None:
    fresh = run(model, [SHORT])
    carried = run(model, [SHORT], state=run(model, [SENTENCE]).state)
    assert greatest_difference(row(carried, 0)[1:], row(fresh, 0)[1:]) > 0.1
    np.testing.assert_array_equal(row(carried, 0)[0], row(fresh, 0)[0])  # token vectors know no state
    assert torch.equal(run(model, [SHORT]).layers, fresh.layers)


def test_a_call_leaves_the_state_it_was_given_as_it_was(model: BiLM) -> None:
    state = run(model, [SENTENCE, SHORT]).state
    before = [array.copy() for array in state_arrays(state)]
    run(model, [SHORT, []], state=state)
    for array, expected in zip(state_arrays(state), before, strict=True):
        np.testing.assert_array_equal(array, expected)


def test_zero_state_is_the_state_of_a_first_call(model: BiLM) -> None:
    given = run(model, [SENTENCE, SHORT], state=model.zero_state(2))
    assert torch.equal(given.layers, run(model, [SENTENCE, SHORT]).layers)


def test_a_row_without_tokens_keeps_its_state_to_the_last_bit_L7(model: BiLM) -> None:
    state = run(model, [SENTENCE, SHORT, ["x"]]).state
    after = run(model, [SHORT, [], SENTENCE], state=state).state
    for found, expected in zip(state_arrays(one_row(after, 1)), state_arrays(one_row(state, 1)), strict=True):
        np.testing.assert_array_equal(found, expected)
    for k in (0, 2):
        for found, old in zip(state_arrays(one_row(after, k)), state_arrays(one_row(state, k)), strict=True):
            assert greatest_difference(found, old) > 1e-3


def test_rows_of_a_carried_state_do_not_touch_each_other_L7(model: BiLM) -> None:
    state = run(model, [SENTENCE, SHORT, LONG]).state
    together = run(model, [SHORT, LONG, ["x"]], state=state)
    for k, words in enumerate([SHORT, LONG, ["x"]]):
        alone = run(model, [words], state=one_row(state, k))
        assert_same(row(together, k), row(alone, 0))


def test_a_state_of_another_batch_size_is_refused_L7(model: BiLM) -> None:
    state = run(model, [SENTENCE, SHORT]).state
    with pytest.raises(ValueError, match="2 rows"):
        run(model, [SENTENCE], state=state)


@pytest.mark.parametrize("batch", [[[]], [[], []]])
def test_a_batch_of_empty_sentences_has_no_time_steps_and_keeps_its_state_L9(
    model: BiLM, batch: list[list[str]]
) -> None:
    state = run(model, [SENTENCE, SHORT][: len(batch)]).state
    output = run(model, batch, state=state)
    assert output.layers.shape == (3, len(batch), 0, model.dim)
    assert output.mask.shape == (len(batch), 0)
    for found, expected in zip(state_arrays(output.state), state_arrays(state), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_batch_of_no_sentences_has_no_rows_L9(model: BiLM) -> None:
    assert run(model, []).layers.shape == (3, 0, 0, model.dim)


def test_an_empty_sentence_beside_a_full_one_has_no_vectors_L9(model: BiLM) -> None:
    output = run(model, [[], ["a"]])
    assert row(output, 0).shape == (3, 0, model.dim)
    assert_same(row(output, 1), row(run(model, [["a"]]), 0))


def test_an_empty_word_counts_as_a_word_L14(model: BiLM) -> None:
    output = run(model, [["a", "", ""], ["a"]])
    np.testing.assert_array_equal(output.mask, [[1, 1, 1], [1, 0, 0]])
    assert greatest_difference(row(output, 0)[:, :1], row(output, 1)) > 0.01


def test_written_out_boundaries_are_words_beside_the_boundaries_that_the_model_adds_L15(model: BiLM) -> None:
    with_symbols, without = run(model, [["<S>", "a", "</S>"]]), run(model, [["a"]])
    assert with_symbols.mask.sum() == 3
    kept = run(model, [["a"]], keep_boundaries=True)
    assert kept.layers.shape[2] == 3
    assert torch.equal(kept.mask, torch.ones(1, 3, dtype=torch.bool))
    assert_same(kept.layers[:, :, 1:2].numpy(), without.layers.numpy())
    assert greatest_difference(row(with_symbols, 0)[0], row(kept, 0)[0]) > 0.01


def test_kept_boundaries_stand_right_around_each_sentence_of_a_batch(model: BiLM) -> None:
    output = run(model, [SHORT, [], SENTENCE], keep_boundaries=True)
    np.testing.assert_array_equal(output.mask.sum(dim=1), [len(SHORT) + 2, 0, len(SENTENCE) + 2])
    start, end = model.encode_tokens(model.boundary_ids).detach().numpy()
    for k, n_tokens in ((0, len(SHORT)), (2, len(SENTENCE))):
        assert_same(output.layers[0, k, 0].numpy(), np.tile(start, 2))
        assert_same(output.layers[0, k, n_tokens + 1].numpy(), np.tile(end, 2))


def test_layer_0_is_the_token_vector_twice_and_knows_no_context(model: BiLM) -> None:
    output = run(model, [SENTENCE, ["noon"]])
    vector = model.encode_tokens(ids(model, [["noon"]])[0]).detach().numpy()[0]
    noon = SENTENCE.index("noon")
    assert_same(row(output, 0)[0, noon], np.tile(vector, 2))
    assert_same(row(output, 1)[0, 0], np.tile(vector, 2))


def test_the_forward_half_sees_only_what_is_before_and_the_backward_half_only_what_is_after(model: BiLM) -> None:
    words = SENTENCE
    changed = [*words[:5], "eight", *words[6:]]
    one, other = row(run(model, [words]), 0), row(run(model, [changed]), 0)
    half = model.dim // 2
    assert_same(one[1:, :5, :half], other[1:, :5, :half])
    assert_same(one[1:, 6:, half:], other[1:, 6:, half:])
    assert greatest_difference(one[1:, 5:, :half], other[1:, 5:, :half]) > 0.01
    assert greatest_difference(one[1:, :6, half:], other[1:, :6, half:]) > 0.01


def test_a_batch_of_129_sentences_is_nothing_special_L53(model: BiLM) -> None:
    batch = [[*SENTENCE[: k % 11], str(k)] for k in range(129)]
    output = run(model, batch)
    for k in (0, 63, 127, 128):
        assert_same(row(output, k), row(run(model, [batch[k]]), 0))


@pytest.mark.parametrize("options", [{}, {"dim": 6}, {"filters": [(1, 2), (2, 4)]}])
def test_autocast_gives_finite_vectors_near_those_of_float32_L51(options: dict[str, Any]) -> None:
    model = strong_model(seed=6, **options)
    expected = run(model, [SENTENCE, SHORT])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = run(model, [SENTENCE, SHORT])
    assert torch.isfinite(output.layers).all()
    # bfloat16 has 8 bits: an error of 2**-8 a product, over two layers of sums of values near 1.
    assert (output.layers.float() - expected.layers).abs().max() < 0.25
    assert (output.layers.float() - expected.layers).abs().mean() < 0.03


def test_float64_and_float32_agree(model: BiLM) -> None:
    double, single = run(model, [SENTENCE, SHORT]), run(strong_model(seed=4), [SENTENCE, SHORT])
    assert double.layers.dtype == torch.float64
    assert single.layers.dtype == torch.float32
    np.testing.assert_allclose(single.layers.numpy(), double.layers.numpy(), rtol=0, atol=1e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_moving_the_model_to_the_gpu_and_back_changes_nothing_L46() -> None:
    model = strong_model(seed=4)
    before = run(model, [SENTENCE, SHORT])
    model.cuda()
    with torch.no_grad():
        first = model(ids(model, [SENTENCE, SHORT]).cuda())
        second = model(ids(model, [SHORT, SENTENCE]).cuda(), first.state)
    assert first.layers.is_cuda and second.state.forward.cell.is_cuda
    np.testing.assert_allclose(first.layers.cpu().numpy(), before.layers.numpy(), rtol=0, atol=1e-4)
    model.cpu()
    assert torch.equal(run(model, [SENTENCE, SHORT]).layers, before.layers)
