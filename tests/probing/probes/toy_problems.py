"""Splits and vectors made up for the probes' tests."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from probing.corpora import Sentence
from probing.tasks import Example, Split


def split_of(sentences: Sequence[Sequence[tuple[str, str]]]) -> Split:
    """Make a split of sentences, each a sequence of (form, label), every token an example."""
    return Split(
        [
            Sentence(f"s{index}", tuple(form for form, _ in words), {}, "toy.conllu", index + 1)
            for index, words in enumerate(sentences)
        ],
        [
            Example(index, place, place + 1, (label,), form)
            for index, words in enumerate(sentences)
            for place, (form, label) in enumerate(words)
        ],
    )


def labelled(labels: Sequence[str], length: int = 5) -> Split:
    """Make a split of sentences of some `length`, the last one perhaps shorter, whose words are all the same."""
    words = [("word", str(label)) for label in labels]
    return split_of([words[start : start + length] for start in range(0, len(words), length)])


def planted(
    n: int, n_classes: int, noise: float, rng: np.random.Generator, dim: int = 8
) -> tuple[NDArray[np.float32], NDArray[np.str_]]:
    """Return X, each class a centre of its own plus noise, and labels; the centres are the same in every call."""
    centres = np.random.default_rng(99).normal(size=(n_classes, dim))
    codes = rng.integers(n_classes, size=n)
    X = centres[codes] + noise * rng.normal(size=(n, dim))
    return X.astype(np.float32), np.array([f"c{code}" for code in codes])
