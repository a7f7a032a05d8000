"""Words -> sub-words -> windows: which sub-words a word is made of, and which of them a model reads at once.

No model lives here: ids and numbers only. What must not happen is a shift: every word has at least one sub-word,
whatever its tokenizer makes of it.
"""

import logging
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from bilm.errors import UserError

logger = logging.getLogger(__name__)

_SAMPLES = ("a", "1", ".", "一")
"""Words that any vocabulary should have one of: with it, a tokenizer is looked at."""


class Subwords(NamedTuple):
    """A sentence as a model's vocabulary has it, without special tokens.

    Attributes
    ----------
    ids : list of int, length n_subwords
    starts : list of int, length n_words
        Where each word begins in `ids`; it ends where the next one begins, and is never empty.
    """

    ids: list[int]
    starts: list[int]


class Window(NamedTuple):
    """Sub-words start to stop are read at once; of what comes out, first to last are kept."""

    start: int
    stop: int
    first: int
    last: int


class SubwordTokenizer:
    """A fast tokenizer that is given words, each of which gets its own sub-words.

    A word of which the tokenizer makes nothing (a soft hyphen, a zero-width space, a variation selector) gets the
    unknown token; without one, the mask; without either, the end of a text.

    Parameters
    ----------
    tokenizer : transformers.PreTrainedTokenizerFast
        Changed here: it neither cuts nor fills any more, and text that spells a special token is text.
    name : str
        What errors call it.

    Attributes
    ----------
    prefix, suffix : list of int
        The special tokens that it sets around a text, such as [CLS] and [SEP]; often none.
    two_subwords : (int, int)
        Two sub-words that differ and are not special.
    n_dropped : int
        Words so far that got the unknown token because nothing was left of them.

    Raises
    ------
    UserError
        If it is not a fast one, has no vocabulary, or does not tell which word a sub-word comes from.
    """

    def __init__(self, tokenizer: Any, name: str) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise UserError(
                f"{name}: its tokenizer ({type(tokenizer).__name__}) is a slow one, which does not tell which word a "
                "sub-word comes from; a folder with a tokenizer.json has a fast one"
            )
        self._name = name
        self._backend = tokenizer.backend_tokenizer
        # A tokenizer.json may say that texts are cut (at 128 in the case of all-MiniLM-L6-v2): words would be lost.
        self._backend.no_truncation()
        self._backend.no_padding()
        self._backend.encode_special_tokens = True
        self._before_word = ""
        self._fallback = next(
            (
                token
                for token in (tokenizer.unk_token_id, tokenizer.mask_token_id, tokenizer.eos_token_id)
                if token is not None
            ),
            None,
        )
        self.n_dropped = 0
        # Two sub-words that are not special, from the middle of the vocabulary: its ends may be unused.
        plain = sorted(set(self._backend.get_vocab().values()).difference(tokenizer.all_special_ids))
        if len(plain) < 2:
            # What the library makes of a folder without the files of a tokenizer.
            raise UserError(f"{name}: its tokenizer has no vocabulary: tokenizer.json may be missing")
        self.two_subwords: tuple[int, int] = (plain[len(plain) // 2], plain[len(plain) // 2 - 1])
        sample = self._sample()
        self._check_word_ids(sample)
        self._before_word = self._space_before(sample)
        around = self._backend.encode([sample], is_pretokenized=True, add_special_tokens=True)
        places = [place for place, word in enumerate(around.word_ids) if word is not None]
        self.prefix: list[int] = around.ids[: places[0]]
        self.suffix: list[int] = around.ids[places[-1] + 1 :]

    @property
    def definition(self) -> str:
        """All that a word's sub-words depend on, as JSON."""
        text: str = self._backend.to_str()
        return text

    def split(self, sentences: Sequence[Sequence[str]]) -> list[Subwords]:
        """Return the sub-words of sentences of words; a sentence may be empty.

        Raises
        ------
        UserError
            If a sub-word is said to come from no word, or from one out of order.
        """
        words = [[self._before_word + word for word in sentence] for sentence in sentences]
        encodings = self._backend.encode_batch(words, is_pretokenized=True, add_special_tokens=False)
        return [self._aligned(*both) for both in zip(sentences, encodings, strict=True)]

    def _aligned(self, sentence: Sequence[str], encoding: Any) -> Subwords:
        """Gather a sentence's sub-words by word."""
        word_ids = encoding.word_ids
        if any(word is None for word in word_ids) or word_ids != sorted(word_ids):
            raise UserError(
                f"{self._name}: its tokenizer assigns sub-words to the words {word_ids[:10]} of {sentence[:10]}: "
                "not in order, so that vectors cannot be told apart by word"
            )
        of_word: list[list[int]] = [[] for _ in sentence]
        for word, subword in zip(word_ids, encoding.ids, strict=True):
            of_word[word].append(subword)
        dropped = [place for place, subwords in enumerate(of_word) if not subwords]
        for place in dropped:
            of_word[place] = [self._stand_in(sentence[place])]
        self._warn_of_dropped([sentence[place] for place in dropped])
        ids: list[int] = []
        starts = []
        for subwords in of_word:
            starts.append(len(ids))
            ids += subwords
        return Subwords(ids, starts)

    def _stand_in(self, word: str) -> int:
        """Return the sub-word of a word of which the tokenizer makes none."""
        if self._fallback is None:
            raise UserError(
                f"{self._name}: its tokenizer makes no sub-word of {word!r}, and has no unknown token to put there"
            )
        return int(self._fallback)

    def _warn_of_dropped(self, words: Sequence[str]) -> None:
        """Say once that words have no sub-words, and count them all."""
        if words and not self.n_dropped:
            logger.warning(
                "%s: its tokenizer makes no sub-word of %s, which is read as the unknown token "
                "(said once, counted in n_dropped)",
                self._name,
                ascii(words[0]),
            )
        self.n_dropped += len(words)

    def _ids(self, text: str | list[str]) -> list[int]:
        ids: list[int] = self._backend.encode(
            text, is_pretokenized=not isinstance(text, str), add_special_tokens=False
        ).ids
        return ids

    def _sample(self) -> str:
        """Return a word that has sub-words."""
        for word in _SAMPLES:
            if self._ids([word]):
                return word
        raise UserError(f"{self._name}: its tokenizer makes no sub-word of {', '.join(_SAMPLES)}: is it a trained one?")

    def _check_word_ids(self, sample: str) -> None:
        """See that three words are told apart."""
        encoding = self._backend.encode([sample] * 3, is_pretokenized=True, add_special_tokens=False)
        if list(dict.fromkeys(encoding.word_ids)) != [0, 1, 2]:
            raise UserError(
                f"{self._name}: its tokenizer gives the word ids {encoding.word_ids} for three words, so that vectors "
                "cannot be told apart by word"
            )

    def _space_before(self, sample: str) -> str:
        """Return what a word must begin with to be read as in running text.

        Byte-level tokenizers (GPT-2, RoBERTa) write the space into the word that follows: given the word alone, they
        read it as the rest of another word. Found out, not looked up by name: the same two words as text and apart.
        """
        text, alone, spaced = self._ids(f"{sample} {sample}"), self._ids([sample]), self._ids([f" {sample}"])
        is_other = text != alone * 2 and spaced != alone and text[-len(spaced) :] == spaced
        return " " if is_other else ""


def windows(n_subwords: int, width: int, left_to_right: bool) -> list[Window]:
    """Cut a sentence into windows that overlap by half; each sub-word is kept from the one with the most context.

    Parameters
    ----------
    n_subwords : int
    width : int
        Sub-words that a model reads at once, special tokens not among them.
    left_to_right : bool
        Context is what stands to the left. Otherwise it is the lesser of the two sides, but the true beginning and
        end of the sentence are no lack of context.

    Returns
    -------
    list of Window
        What they keep follows one another, from 0 to `n_subwords`.
    """
    if n_subwords <= width:
        return [Window(0, n_subwords, 0, n_subwords)]
    starts = [*range(0, n_subwords - width, max(1, width // 2)), n_subwords - width]
    if left_to_right:
        cuts = [start + width for start in starts[:-1]]
    else:
        # From where on the next window has as much to the left as this one has to the right.
        cuts = [(start + after + width + 1) // 2 for start, after in pairwise(starts)]
    edges = [0, *cuts, n_subwords]
    return [
        Window(start, start + width, first, last)
        for start, (first, last) in zip(starts, pairwise(edges), strict=True)
        if first < last
    ]
