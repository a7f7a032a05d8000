"""Rows of character ids, against hand-written rows and the reference's own spelling-out."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bilm.characters import batch_to_ids, boundary_ids, is_truncated, word_to_ids
from tests import reference

any_text = st.text(st.characters(), max_size=40)  # lone surrogates included
width = st.integers(3, 60)


@given(any_text, width)
def test_a_row_is_the_reference_row_plus_one(word: str, max_characters: int) -> None:
    expected = np.array(reference.character_row(word, max_characters)) + 1
    np.testing.assert_array_equal(word_to_ids(word, max_characters), expected)


@given(any_text, width)
def test_no_row_of_a_word_has_the_id_that_means_no_token(word: str, max_characters: int) -> None:
    row = word_to_ids(word, max_characters)
    assert row.shape == (max_characters,)
    assert row.min() >= 1
    assert row.max() <= 261


def test_the_ids_of_the_released_weights_are_these_L42() -> None:
    row = word_to_ids("Aé", 8)
    # begin-word, "A" + 1, the two bytes of "é" (195, 169) + 1, end-word, padding
    np.testing.assert_array_equal(row, [259, 66, 196, 170, 260, 261, 261, 261])
    assert row.dtype == np.int64


def test_sentence_boundaries_are_words_of_one_id_257_and_258_L42() -> None:
    expected = [[259, 257, 260] + [261] * 47, [259, 258, 260] + [261] * 47]
    np.testing.assert_array_equal(boundary_ids(50), expected)


@pytest.mark.parametrize("symbol", ["<S>", "</S>"])
def test_the_literal_word_of_a_boundary_is_spelled_out_and_is_not_the_boundary_L15(symbol: str) -> None:
    row = word_to_ids(symbol)
    expected = [259, *[byte + 1 for byte in symbol.encode()], 260]
    np.testing.assert_array_equal(row[: len(expected)], expected)
    assert not (row == boundary_ids()).all(axis=1).any()


def test_unk_has_no_row_of_its_own_and_is_spelled_out() -> None:
    np.testing.assert_array_equal(word_to_ids("<UNK>", 8), [259, 61, 86, 79, 76, 63, 260, 261])


@pytest.mark.parametrize(("n_bytes", "end"), [(0, 1), (1, 2), (47, 48), (48, 49), (49, 49), (60, 49)])
def test_at_most_48_bytes_are_kept_and_the_end_mark_follows_them(n_bytes: int, end: int) -> None:
    row = word_to_ids("x" * n_bytes)
    assert row.shape == (50,)
    assert row[end] == 260
    assert (row[1:end] == ord("x") + 1).all()
    assert (row[end + 1 :] == 261).all()


def test_the_cut_is_between_bytes_and_may_split_a_code_point() -> None:
    row = word_to_ids("a" + "é" * 24)  # 49 bytes: the last one kept is the first byte of an "é"
    assert row[48] == 195 + 1
    assert row[49] == 260


def test_words_that_agree_in_their_first_48_bytes_share_a_row_and_are_called_truncated_L17() -> None:
    np.testing.assert_array_equal(word_to_ids("x" * 49), word_to_ids("x" * 60))
    assert is_truncated("x" * 49)
    assert is_truncated("x" * 60)


@pytest.mark.parametrize(
    ("word", "truncated"),
    [("", False), ("x" * 48, False), ("x" * 49, True), ("é" * 24, False), ("é" * 25, True), ("\ud800" * 60, False)],
)
def test_truncated_means_more_than_48_bytes_not_characters_L17(word: str, truncated: bool) -> None:
    assert is_truncated(word) is truncated


@given(any_text, width)
def test_truncated_tells_exactly_when_bytes_are_lost(word: str, max_characters: int) -> None:
    n_kept = int((word_to_ids(word, max_characters) <= 256).sum())
    assert is_truncated(word, max_characters) == (n_kept < len(word.encode("utf-8", "ignore")))


def test_a_lone_surrogate_vanishes_and_leaves_the_row_of_the_empty_word() -> None:
    np.testing.assert_array_equal(word_to_ids("\ud800"), word_to_ids(""))
    np.testing.assert_array_equal(word_to_ids("x\udfffy"), word_to_ids("xy"))
    np.testing.assert_array_equal(word_to_ids("\ud800" * 60 + "xy"), word_to_ids("xy"))


def test_the_empty_word_is_a_row_without_bytes_and_not_padding_L14() -> None:
    np.testing.assert_array_equal(word_to_ids("", 5), [259, 260, 261, 261, 261])


def test_nul_is_a_byte_and_not_padding() -> None:
    np.testing.assert_array_equal(word_to_ids("\x00", 5), [259, 1, 260, 261, 261])


def test_an_emoji_is_its_four_bytes() -> None:
    np.testing.assert_array_equal(word_to_ids("\U0001f986", 7), [259, 241, 160, 167, 135, 260, 261])


@pytest.mark.parametrize(
    ("word", "content"),
    [
        ("\u00a0", [194, 160]),
        ("a\u3000b", [97, 227, 128, 128, 98]),
        ("\u2028", [226, 128, 168]),
        (" ", [32]),
        ("\t", [9]),
    ],
)
def test_spaces_of_every_kind_stay_in_the_word_L25(word: str, content: list[int]) -> None:
    row = word_to_ids(word, 10)
    np.testing.assert_array_equal(row[: len(content) + 2], [259, *[byte + 1 for byte in content], 260])


@pytest.mark.parametrize(("one", "other"), [("A", "a"), ("\u00e9", "e\u0301"), ("\ufb01", "fi"), ("１", "1")])
def test_words_are_neither_lower_cased_nor_normalised(one: str, other: str) -> None:
    assert (word_to_ids(one) != word_to_ids(other)).any()


def test_a_batch_has_zero_rows_right_of_each_sentence_and_nowhere_else() -> None:
    ids = batch_to_ids([["one"], [], ["two", "", "four"]])
    assert ids.shape == (3, 3, 50)
    assert ids.dtype == torch.int64
    np.testing.assert_array_equal((ids > 0).any(dim=2), [[1, 0, 0], [0, 0, 0], [1, 1, 1]])
    np.testing.assert_array_equal(ids[2, 1], word_to_ids(""))


def test_padding_by_hand_with_empty_words_is_text_L14() -> None:
    ids = batch_to_ids([["a", "", ""]], 6)
    assert (ids > 0).any(dim=2).all()


@pytest.mark.parametrize(("sentences", "shape"), [([], (0, 0, 9)), ([[]], (1, 0, 9)), ([[], []], (2, 0, 9))])
def test_a_batch_without_words_has_no_time_steps_L9(sentences: list[list[str]], shape: tuple[int, ...]) -> None:
    assert batch_to_ids(sentences, 9).shape == shape
