"""Words to sub-words and back: nothing shifts, whatever a tokenizer splits or drops; windows leave nothing out."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from bilm.errors import UserError
from probing.encoders.subwords import Subwords, SubwordTokenizer, windows
from tests.probing.encoders.tiny_transformers import KINDS, tokenizer_of

INVISIBLE = ["\u00ad", "\u200b", "\ufe0f", "\u200d", "\x07", "\ufeff", "\u2028", " ", ""]
"""What real corpora have as words: soft hyphen, zero-width space, variation selector, joiner, bell, byte order mark."""
SENTENCE = ["the", "goose", "walk", "xylophones", "[SEP]", "</s>", "naïve", "日本語", "🙂", "don't", "New York", "."]


def parts(tokenizer: SubwordTokenizer, words: list[str]) -> list[list[int]]:
    """Return the sub-words of each word."""
    ids, starts = tokenizer.split([words])[0]
    assert len(starts) == len(words)
    ends = [*starts[1:], len(ids)]
    return [ids[start:end] for start, end in zip(starts, ends, strict=True)]


@pytest.mark.parametrize("kind", KINDS)
def test_each_word_has_the_subwords_that_it_has_after_a_space_P19(kind: str) -> None:
    tokenizer = SubwordTokenizer(tokenizer_of(kind), kind)
    plain = tokenizer_of(kind)
    plain.backend_tokenizer.encode_special_tokens = True
    plain.backend_tokenizer.no_truncation()
    plain.backend_tokenizer.no_padding()
    for word, found in zip(SENTENCE, parts(tokenizer, SENTENCE), strict=True):
        # "the" stands before it, so that the tokenizer sees the space that a text has there.
        text = plain.backend_tokenizer.encode(f"the {word}", add_special_tokens=False).ids
        assert text[-len(found) :] == found, word
        assert len(text) > len(found)


@pytest.mark.parametrize("kind", KINDS)
def test_a_word_that_a_tokenizer_drops_shifts_no_other_P18(kind: str) -> None:
    tokenizer = SubwordTokenizer(tokenizer_of(kind), kind)
    alone = parts(tokenizer, SENTENCE)
    for invisible in INVISIBLE:
        among = [word for each in SENTENCE for word in (invisible, each)] + [invisible]
        found = parts(tokenizer, among)
        assert found[1::2] == alone
        assert all(found)
    assert all(parts(tokenizer, INVISIBLE))


def test_a_dropped_word_is_the_unknown_one_and_is_told_once_P18(caplog: pytest.LogCaptureFixture) -> None:
    wordpiece = tokenizer_of("bert")
    tokenizer = SubwordTokenizer(wordpiece, "tiny")
    with caplog.at_level(logging.WARNING):
        found = parts(tokenizer, ["the", "\u200b", "goose", "\u00ad"])
        parts(tokenizer, ["\ufe0f"])
    assert found[1] == found[3] == [wordpiece.unk_token_id]
    assert tokenizer.n_dropped == 3
    assert caplog.text.count("makes no sub-word of '\\u200b'") == 1
    assert len(caplog.records) == 1


@pytest.mark.parametrize(("left", "right"), [("mask_token", "[MASK]"), ("eos_token", "[SEP]")])
def test_without_an_unknown_token_a_dropped_word_is_the_mask_or_the_end_P18(left: str, right: str) -> None:
    wordpiece = tokenizer_of("bert")
    wordpiece.unk_token = wordpiece.mask_token = None
    setattr(wordpiece, left, right)
    assert parts(SubwordTokenizer(wordpiece, "tiny"), ["\u200b"]) == [[wordpiece.convert_tokens_to_ids(right)]]


def test_without_any_token_for_it_a_dropped_word_is_an_error_that_names_it() -> None:
    wordpiece = tokenizer_of("bert")
    wordpiece.unk_token = wordpiece.mask_token = None
    tokenizer = SubwordTokenizer(wordpiece, "tiny")
    with pytest.raises(UserError, match=r"tiny: .* no sub-word of '\\u200b', and has no unknown token"):
        parts(tokenizer, ["\u200b"])


def test_text_that_spells_a_special_token_is_text() -> None:
    wordpiece = tokenizer_of("bert")
    found = parts(SubwordTokenizer(wordpiece, "tiny"), ["[SEP]", "[PAD]"])
    assert not {wordpiece.sep_token_id, wordpiece.pad_token_id}.intersection(found[0] + found[1])


def test_a_cut_that_a_tokenizers_file_asks_for_is_not_made_P22() -> None:
    tokenizer = SubwordTokenizer(tokenizer_of("bert"), "tiny")
    assert len(parts(tokenizer, ["goose"] * 600)) == 600


@pytest.mark.parametrize(
    ("kind", "prefix", "suffix"),
    [("bert", [2], [3]), ("roberta", [0], [2]), ("gpt2", [], []), ("openai-gpt", [], []), ("unigram-bert", [1], [2])],
)
def test_special_tokens_stand_around_a_text_and_belong_to_no_word(
    kind: str, prefix: list[int], suffix: list[int]
) -> None:
    tokenizer = SubwordTokenizer(tokenizer_of(kind), kind)
    assert (tokenizer.prefix, tokenizer.suffix) == (prefix, suffix)
    assert tokenizer.split([[]]) == [Subwords([], [])]
    assert tokenizer.split([]) == []


class Fake:
    """A tokenizer that gives every word one sub-word, and the word ids that a test asks for."""

    is_fast = True
    unk_token_id = mask_token_id = eos_token_id = None
    all_special_ids: tuple[int, ...] = ()

    def __init__(self, word_ids: Any) -> None:
        self.backend_tokenizer = self
        self._word_ids = word_ids

    def no_truncation(self) -> None: ...

    def no_padding(self) -> None: ...

    def get_vocab(self) -> dict[str, int]:
        return {"a": 0, "b": 1}

    def encode(self, words: list[str] | str, **_: Any) -> Any:
        n_words = len(words.split() if isinstance(words, str) else words)
        return SimpleNamespace(ids=[0] * n_words, word_ids=self._word_ids(n_words))

    def encode_batch(self, sentences: list[list[str]], **_: Any) -> list[Any]:
        return [self.encode(words) for words in sentences]


def test_word_ids_that_are_all_zero_are_refused_P18() -> None:
    with pytest.raises(UserError, match=r"fake: .* the word ids \[0, 0, 0\] for three words"):
        SubwordTokenizer(Fake(lambda n_words: [0] * n_words), "fake")


def test_word_ids_out_of_order_are_refused() -> None:
    tokenizer = SubwordTokenizer(Fake(lambda n_words: [1, 0, 2, 3] if n_words == 4 else [*range(n_words)]), "fake")
    with pytest.raises(UserError, match=r"words \[1, 0, 2, 3\] of \['a', 'b', 'c', 'd'\]: not in order"):
        tokenizer.split([["a", "b", "c", "d"]])


def test_a_slow_tokenizer_is_refused_with_the_reason() -> None:
    with pytest.raises(UserError, match=r"old: its tokenizer \(SimpleNamespace\) is a slow one, which does not tell"):
        SubwordTokenizer(SimpleNamespace(is_fast=False), "old")


@pytest.mark.parametrize("left_to_right", [False, True])
@pytest.mark.parametrize("width", [1, 2, 3, 7, 10])
def test_each_subword_is_kept_once_from_the_window_with_the_most_context_P22(width: int, left_to_right: bool) -> None:
    for n_subwords in range(45):
        cut = windows(n_subwords, width, left_to_right)
        kept = [place for window in cut for place in range(window.first, window.last)]
        assert kept == list(range(n_subwords))
        assert all(window.stop - window.start <= width for window in cut)

        def context(window: Any, place: int, end: int = n_subwords) -> int:
            left = place - window.start if window.start or left_to_right else end
            right = window.stop - 1 - place if window.stop < end else end
            return left if left_to_right else min(left, right)

        for own in cut:
            for place in range(own.first, own.last):
                holding = [window for window in cut if window.start <= place < window.stop]
                assert context(own, place) == max(context(window, place) for window in holding)


def test_what_fits_into_a_window_is_one() -> None:
    assert windows(7, 7, False) == [(0, 7, 0, 7)]
    assert windows(0, 7, True) == [(0, 0, 0, 0)]
