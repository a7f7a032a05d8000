"""Sentences with made-up layers, of which one tells the labels."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from probing.downstream import Sequences, parse_placement
from probing.downstream.sequences import first_tokens
from probing.tasks import Example

N_LAYERS, DIM = 3, 6


def sequences(
    lengths: Sequence[int], placement: str = "input", *, seed: int = 0, telling: int = 1, whole: bool = False
) -> tuple[Sequences, NDArray[np.str_]]:
    """Make sentences of some lengths whose words say nothing, and a label for each token or each sentence.

    Layer `telling` tells the label, by which of its first two numbers (of a sentence: of their means) is the larger.
    """
    rng = np.random.default_rng(seed)
    words = [[f"w{rng.integers(9)}" for _ in range(length)] for length in lengths]
    layers = rng.normal(size=(N_LAYERS, sum(lengths), DIM)).astype(np.float32)
    starts = first_tokens(words)
    first_larger = layers[telling, :, 0] > layers[telling, :, 1]
    if whole:
        examples = [Example(index, 0, length, ("?",), "") for index, length in enumerate(lengths)]
        spans = [layers[telling, start : start + n].mean(axis=0) for start, n in zip(starts, lengths, strict=True)]
        first_larger = np.array([mean[0] > mean[1] for mean in spans])
    else:
        examples = [Example(s, t, t + 1, ("?",), word) for s, own in enumerate(words) for t, word in enumerate(own)]
    return Sequences(parse_placement(placement), layers, words, starts, examples), np.where(first_larger, "a", "b")
