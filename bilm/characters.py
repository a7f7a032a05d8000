"""Words to rows of byte ids, as the released weights need them.

Ids are those of the reference code at prediction time: UTF-8 byte b is b + 1, so that 0 means "no token here". A row is
`[BEGIN_WORD, bytes..., END_WORD, PADDING...]`; the padding inside a row has an embedding of its own and takes part in
the maximum over positions, so rows are never trimmed. Nothing is lower-cased or normalised.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

BEGIN_SENTENCE = 257
END_SENTENCE = 258
BEGIN_WORD = 259
END_WORD = 260
PADDING = 261
N_IDS = 262
"""Rows of the embedding table: id 0 (no token; always the zero vector), 256 bytes, 5 marks."""


def word_to_ids(word: str, max_characters: int = 50) -> NDArray[np.int64]:
    """Return the row of one word.

    The cut to `max_characters - 2` bytes is a cut of bytes, as in the reference code, and may split a code point. A
    lone surrogate has no UTF-8 bytes and vanishes; the empty string is the row without bytes. The literal words `<S>`
    and `</S>` are spelled out like any other word (the reference code turns them into sentence boundaries): text
    cannot alias the boundaries that the model adds itself.

    Returns
    -------
    int64 array, shape (max_characters,)
    """
    if not isinstance(word, str):
        raise TypeError(f"a word is a string, not {word!r:.40}")
    return _row(word.encode("utf-8", "ignore")[: max_characters - 2], max_characters)


def is_truncated(word: str, max_characters: int = 50) -> bool:
    """Tell whether `word` has more bytes than a row holds, so that words with the same beginning get the same row."""
    return len(word.encode("utf-8", "ignore")) > max_characters - 2


def boundary_ids(max_characters: int = 50) -> NDArray[np.int64]:
    """Return the rows of the sentence's start and end, shape (2, max_characters)."""
    rows = np.full((2, max_characters), PADDING, dtype=np.int64)
    rows[:, 0], rows[:, 2] = BEGIN_WORD, END_WORD
    rows[:, 1] = BEGIN_SENTENCE, END_SENTENCE
    return rows


def words_to_ids(words: Sequence[str], max_characters: int = 50) -> Tensor:
    """Return the rows of several words, int64 tensor of shape (n_words, max_characters)."""
    rows = np.empty((len(words), max_characters), dtype=np.int64)
    for index, word in enumerate(words):
        rows[index] = word_to_ids(word, max_characters)
    return torch.from_numpy(rows)


def check_sentence(sentence: Sequence[str]) -> None:
    """Raise TypeError where a string stands in place of a list of words: its letters would be taken for words."""
    if isinstance(sentence, str):
        raise TypeError(f"a sentence is a list of words, not a string: {sentence[:40]!r}")


def batch_to_ids(sentences: Sequence[Sequence[str]], max_characters: int = 50) -> Tensor:
    """Return the rows of a batch of sentences, padded with zero rows on the right.

    Sentence boundaries are not included: the model adds them itself.

    Returns
    -------
    int64 tensor, shape (batch, time, max_characters), time being the longest sentence's number of words

    Examples
    --------
    >>> ids = batch_to_ids([["A", "short", "one"], ["Hi"]])
    >>> ids.shape
    torch.Size([2, 3, 50])
    >>> ids[1, 0, :5].tolist()  # begin of word, "H", "i", end of word, padding; 1 more than the byte
    [259, 73, 106, 260, 261]
    """
    time = max((len(sentence) for sentence in sentences), default=0)
    ids = torch.zeros(len(sentences), time, max_characters, dtype=torch.long)
    for row, sentence in enumerate(sentences):
        check_sentence(sentence)
        ids[row, : len(sentence)] = words_to_ids(sentence, max_characters)
    return ids


def _row(content: bytes, max_characters: int) -> NDArray[np.int64]:
    row = np.full(max_characters, PADDING, dtype=np.int64)
    row[0] = BEGIN_WORD
    row[1 : len(content) + 1] = np.frombuffer(content, dtype=np.uint8)
    row[1 : len(content) + 1] += 1
    row[len(content) + 1] = END_WORD
    return row
