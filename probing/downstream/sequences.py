"""What a downstream model reads: sentences word by word, with every layer's vector of each word."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probing.downstream.placement import Placement
from probing.tasks import Example


@dataclass(frozen=True)
class Sequences:
    """Some sentences of a split, and the spans to classify in them.

    Attributes
    ----------
    placement : Placement
    layers : float32 array, memory-mapped, shape (n_layers, n_tokens, dim)
        Of every token of the split, sentence after sentence.
    words : sequence of sequences of str
        The sentences.
    first_tokens : int array, shape (n_sentences,)
        Where in `layers` each of these sentences begins.
    examples : sequence of Example
        In the order of the sentences; `sentence` counts within these sentences.
    """

    placement: Placement
    layers: NDArray[np.float32]
    words: Sequence[Sequence[str]]
    first_tokens: NDArray[np.int64]
    examples: Sequence[Example]

    def of_sentences(self, chosen: Sequence[int], examples: Sequence[Example]) -> "Sequences":
        """Return those of the `chosen` sentences (indices), with their examples."""
        words = [self.words[index] for index in chosen]
        return Sequences(self.placement, self.layers, words, self.first_tokens[list(chosen)], examples)


def first_tokens(words: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    """Return the number of tokens before each sentence, shape (n_sentences,)."""
    lengths = np.array([len(sentence) for sentence in words], dtype=np.int64)
    return np.cumsum(lengths) - lengths
