"""How sure a number is: intervals from resampling sentences.

Tokens of one sentence are not independent: they share author, topic and network state. Resampling tokens as if they
were independent gives intervals that are too narrow, so what is resampled here is always the sentence.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

SAMPLES = 10_000
"""Bootstrap samples behind an interval, unless told otherwise."""
CONFIDENCE = 0.95
"""The share of samples that an interval encloses, unless told otherwise."""

_BLOCK_CELLS = 1_000_000  # draws held at once: 8 MB each for the draws, their counts and the counts as floats


def bootstrap_interval(
    correct: NDArray[np.bool_],
    sentence: NDArray[np.integer],
    samples: int = SAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of an accuracy; it resamples sentences.

    Parameters
    ----------
    correct : bool array, shape (n,)
        Whether each example was predicted right. For a subset of the examples, give the subset's examples.
    sentence : int array, shape (n,)
        The sentence of each example, in any numbering. Sentences without an example here (none of a subset's word
        forms, say) are not drawn: they have no accuracy to add.
    samples : int
        How many times as many sentences as there are, S, are drawn with replacement.
    confidence : float, between 0 and 1
        The interval leaves (1 - confidence) / 2 of the samples on either side.
    seed : int
        The same seed gives the same interval, on every machine and in whatever order the examples come.

    Returns
    -------
    (low, high) : floats, fractions between 0 and 1
        (nan, nan) where there are no examples. With one sentence every sample is that sentence, so both ends are the
        accuracy itself: such an interval says nothing about other sentences.

    References
    ----------
    Efron & Tibshirani 1993, "An Introduction to the Bootstrap", chapters 8 (resampling the unit of sampling) and 13
    (percentile intervals).
    """
    low, high = bootstrap_intervals(np.asarray(correct)[np.newaxis], sentence, samples, confidence, seed)[0]
    return float(low), float(high)


def bootstrap_intervals(
    correct: NDArray[np.bool_],
    sentence: NDArray[np.integer],
    samples: int = SAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Return the intervals of several systems on the same examples, from the same draws of sentences.

    Parameters
    ----------
    correct : bool array, shape (systems, n)
    sentence, samples, confidence, seed
        As in `bootstrap_interval`, which is the case of one system and gives the same numbers.

    Returns
    -------
    float array, shape (systems, 2)
        Low and high of each system.

    Raises
    ------
    ValueError
        If the shapes do not fit, `correct` is not boolean, or `samples` or `confidence` is out of range.
    """
    correct, sentence = np.asarray(correct), np.asarray(sentence)
    if correct.dtype != np.bool_ or correct.ndim != 2 or sentence.shape != correct.shape[1:]:
        raise ValueError(f"correct {correct.dtype} {correct.shape} does not fit sentence {sentence.shape}")
    if samples < 1 or not 0 < confidence < 1:
        raise ValueError(f"samples={samples} must be at least 1, confidence={confidence} between 0 and 1")
    if correct.shape[1] == 0:
        return np.full((len(correct), 2), np.nan)

    sums = _resampled_sums(_per_sentence(correct, sentence), samples, np.random.default_rng(seed))
    accuracies = sums[:, 1:] / sums[:, :1]  # the ratio of sums, not the mean of the sentences' accuracies
    return _percentiles(accuracies, confidence)


def macro_intervals(
    correct: NDArray[np.bool_],
    sentence: NDArray[np.integer],
    group: NDArray[np.str_],
    samples: int = SAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Return the intervals of the mean over groups of their accuracies; sentences are drawn group by group.

    Parameters
    ----------
    correct : bool array, shape (systems, n)
    sentence, samples, confidence, seed
        As in `bootstrap_interval`.
    group : str array, shape (n,)
        The group of each example. Each group keeps its number of sentences, so that none is ever empty.

    Returns
    -------
    float array, shape (systems, 2)
    """
    generator = np.random.default_rng(seed)
    total = np.zeros((samples, len(correct)))
    names = np.unique(group)
    for name in names:
        members = group == name
        sums = _resampled_sums(_per_sentence(correct[:, members], sentence[members]), samples, generator)
        total += sums[:, 1:] / sums[:, :1]
    return _percentiles(total / len(names), confidence)


class Difference(NamedTuple):
    """How much better one system is than another on the same examples.

    Attributes
    ----------
    value : float
        Accuracy of the first less accuracy of the second.
    low, high : float
        Percentile bootstrap interval.
    p : float
        Two-sided; of a difference at least as large if there were none (the bootstrap shifted to 0).
    mcnemar_p : float
        Exact McNemar test over examples. It takes them as independent, which those of one sentence are not: it stands
        beside, not instead.
    """

    value: float
    low: float
    high: float
    p: float
    mcnemar_p: float


def paired_difference(
    first: NDArray[np.bool_],
    second: NDArray[np.bool_],
    sentence: NDArray[np.integer],
    samples: int = SAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Difference:
    """Compare two systems, sentences being drawn for both at once.

    Parameters
    ----------
    first, second : bool arrays, shape (n,)
        Whether each example was predicted right.
    sentence, samples, confidence, seed
        As in `bootstrap_interval`.

    Raises
    ------
    ValueError
        If there are no examples.

    References
    ----------
    Efron & Tibshirani 1993, chapters 8 and 16; Noreen 1989 for the shifted bootstrap; McNemar 1947.
    """
    if not len(first):
        raise ValueError("two systems cannot be compared on no examples")
    sums = _resampled_sums(_per_sentence(np.stack([first, second]), sentence), samples, np.random.default_rng(seed))
    differences = (sums[:, 1] - sums[:, 2]) / sums[:, 0]
    value = (int(first.sum()) - int(second.sum())) / len(first)
    low, high = _percentiles(differences[:, np.newaxis], confidence)[0]
    # A rounding in the last bit must not decide whether a sample is "at least as far".
    extreme = int((np.abs(differences - value) >= abs(value) * (1 - 1e-12)).sum())
    wins, losses = int((first & ~second).sum()), int((second & ~first).sum())
    mcnemar = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    return Difference(value, float(low), float(high), (1 + extreme) / (samples + 1), float(mcnemar))


def _per_sentence(correct: NDArray[np.bool_], sentence: NDArray[np.integer]) -> NDArray[np.float64]:
    """Count each sentence's examples and each system's right ones: [S, 1 + systems], all that an accuracy needs."""
    _, cluster = np.unique(sentence, return_inverse=True)
    totals = [np.bincount(cluster)] + [np.bincount(cluster[right], minlength=cluster.max() + 1) for right in correct]
    return np.stack(totals, axis=1).astype(np.float64)


def _percentiles(values: NDArray[np.float64], confidence: float) -> NDArray[np.float64]:
    """Return low and high of each column of `values` [samples, systems]: [systems, 2]."""
    tail = (1 - confidence) / 2
    return np.quantile(values, [tail, 1 - tail], axis=0).T


def _resampled_sums(per_sentence: NDArray[np.float64], samples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Sum the rows of `per_sentence` [S, k] over S rows drawn with replacement, `samples` times: [samples, k].

    The counts are whole numbers far below 2**53, so the sums are exact and no order of summation can change them.
    """
    n_sentences, width = per_sentence.shape
    sums = np.empty((samples, width))
    block = max(1, _BLOCK_CELLS // n_sentences)
    for start in range(0, samples, block):
        size = min(block, samples - start)
        drawn = rng.integers(n_sentences, size=(size, n_sentences))
        drawn += np.arange(size)[:, np.newaxis] * n_sentences  # each sample counts in cells of its own
        times = np.bincount(drawn.ravel(), minlength=size * n_sentences).reshape(size, n_sentences)
        sums[start : start + size] = times.astype(np.float64) @ per_sentence
    return sums
