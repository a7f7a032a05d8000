"""Counting a vocabulary from text."""

import pytest

from bilm.vocabulary import Vocabulary

SENTENCES = [["b", "a", "b"], ["c", "b", "a"], ["d"], ["<S>", "<UNK>"]]


def test_words_are_ranked_by_count_the_special_ones_by_theirs_L26() -> None:
    # Four starts and ends, three times b, two a; c, d and nothing else once, so nothing is unknown; ties by alphabet.
    assert Vocabulary.count(SENTENCES).words == ("</S>", "<S>", "b", "a", "c", "d", "<UNK>")


def test_the_size_counts_the_special_words_and_what_is_left_out_counts_as_unknown() -> None:
    # c and d are left out: two unknown words, as many as there are a.
    assert Vocabulary.count(SENTENCES, max_size=5).words == ("</S>", "<S>", "b", "<UNK>", "a")
    assert Vocabulary.count(SENTENCES, min_count=3).words == ("</S>", "<S>", "<UNK>", "b")


@pytest.mark.parametrize(("word", "known"), [("b", True), ("zebra", False), ("<S>", False), ("<UNK>", False)])
def test_a_special_word_in_a_text_is_an_unknown_word(word: str, known: bool) -> None:
    vocabulary = Vocabulary.count(SENTENCES)
    assert vocabulary.index_of_text(word) == vocabulary.index(word if known else "<UNK>")
