"""How sure a number is: intervals from resampling sentences, from seeds, and what many tests at once are worth.

Tokens of one sentence are not independent: they share author, topic and network state. Resampling tokens as if they
were independent gives intervals that are too narrow, so what is resampled here is always the sentence. How much another
seed would change is another question, with an interval of its own: `t_interval`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from scipy.stats import t as student

from probing.resampling import checked, percentiles, resampled_means

SAMPLES = 10_000
"""Bootstrap samples behind an interval, unless told otherwise."""
CONFIDENCE = 0.95
"""The share of samples that an interval encloses, unless told otherwise."""


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
    """Return percentile bootstrap intervals of several systems' accuracies, from the same draws of sentences for all.

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
    correct = np.asarray(correct)
    if correct.dtype != np.bool_:
        raise ValueError(f"correct is {correct.dtype}, not boolean")
    return mean_intervals(correct, sentence, samples, confidence, seed)


def mean_intervals(
    values: NDArray[np.float64] | NDArray[np.bool_],
    sentence: NDArray[np.integer],
    samples: int = SAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Return percentile bootstrap intervals of means over examples, from the same draws of sentences for all systems.

    Parameters
    ----------
    values : float or bool array, shape (systems, n)
        Anything that each example has: bits, the difference of two probes' hits. Whole numbers give the same interval
        in whatever order the examples come; others the same but for rounding.
    sentence, samples, confidence, seed
        As in `bootstrap_interval`, which is the case of one system's 0s and 1s: what is resampled is the sentence.

    Returns
    -------
    float array, shape (systems, 2)
        Low and high of each system; NaN where there are no examples.

    Raises
    ------
    ValueError
        If the shapes do not fit, a value is not finite, or `samples` or `confidence` is out of range.
    """
    values, sentence = checked(values, sentence, samples, confidence)
    if values.shape[1] == 0:
        return np.full((len(values), 2), np.nan)
    return percentiles(resampled_means(values, sentence, samples, np.random.default_rng(seed)), confidence)


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
        total += resampled_means(correct[:, members], sentence[members], samples, generator)
    return percentiles(total / len(names), confidence)


class Difference(NamedTuple):
    """How much more one system has than another on the same examples.

    Attributes
    ----------
    value : float
        Mean of the first less mean of the second: of accuracies where the examples are right or wrong.
    low, high : float
        Percentile bootstrap interval, sentences being resampled for both at once.
    p : float
        Two-sided; of a difference at least as large if there were none (the same bootstrap, shifted to 0).
    mcnemar_p : float
        Exact McNemar test over examples. It takes them as independent, which those of one sentence are not: it stands
        beside, not instead. NaN where the values are not right or wrong.
    """

    value: float
    low: float
    high: float
    p: float
    mcnemar_p: float


def paired_difference(
    first: NDArray[np.float64] | NDArray[np.bool_],
    second: NDArray[np.float64] | NDArray[np.bool_],
    sentence: NDArray[np.integer],
    samples: int = SAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Difference:
    """Compare two systems by the paired bootstrap: what is resampled is the sentence, for both systems at once.

    Parameters
    ----------
    first, second : bool or float arrays, shape (n,)
        Whether each example was predicted right, or what else each example has (bits, means over draws).
    sentence, samples, confidence, seed
        As in `bootstrap_interval`. On very few sentences the p-value is too small: a single one does not vary at all.

    Raises
    ------
    ValueError
        If there are no examples, or as in `mean_intervals`.

    References
    ----------
    Efron & Tibshirani 1993, chapters 8 and 16; Noreen 1989 for the shifted bootstrap; McNemar 1947.
    """
    if not len(first):
        raise ValueError("two systems cannot be compared on no examples")
    both, sentence = checked(np.stack([first, second]), sentence, samples, confidence)
    # Example by example: two systems that differ by a constant then differ by it in every sample.
    difference = np.subtract(*both, dtype=np.float64)
    means = resampled_means(difference[np.newaxis], sentence, samples, np.random.default_rng(seed))
    value = float(difference.sum()) / len(difference)
    low, high = percentiles(means, confidence)[0]
    # A rounding in the last bit must not decide whether a sample is "at least as far".
    extreme = int((np.abs(means - value) >= abs(value) * (1 - 1e-12)).sum())
    mcnemar = _mcnemar(*both) if both.dtype == np.bool_ else float("nan")
    return Difference(value, float(low), float(high), (1 + extreme) / (samples + 1), mcnemar)


def holm(p: Sequence[float]) -> list[float]:
    """Correct the p-values of a family of tests for their number; nothing is resampled.

    To reject those that come out below alpha makes any false rejection in the family at most alpha likely, however the
    tests depend on each other.

    Parameters
    ----------
    p : floats between 0 and 1
        In any order. NaN is a test that was not made: it stays NaN and does not count.

    Returns
    -------
    list of floats
        In the order of `p`; none is smaller than it was, none above 1, and a smaller p never comes out larger.

    Raises
    ------
    ValueError
        If a p-value is not between 0 and 1.

    References
    ----------
    Holm 1979, "A simple sequentially rejective multiple test procedure".
    """
    raw = np.asarray(p, dtype=np.float64)
    made = np.flatnonzero(~np.isnan(raw))
    if ((raw[made] < 0) | (raw[made] > 1)).any():
        raise ValueError(f"p-values lie between 0 and 1, unlike some of {list(p)}")
    order = made[np.argsort(raw[made], kind="stable")]
    remaining = np.arange(len(order), 0, -1)  # the smallest p competes with all, the largest with none but itself
    adjusted = raw.copy()
    adjusted[order] = np.minimum(np.maximum.accumulate(raw[order] * remaining), 1)
    return [float(one) for one in adjusted]


def seeds_change_something(values: Sequence[float]) -> bool:
    """Tell whether results of several seeds differ at all; nothing is resampled.

    Where they do not, their spread of 0 is no result: a convex probe fitted to the end has nothing that a seed could
    change, and "five seeds" are then one run counted five times. One value alone cannot differ.
    """
    return len(set(values)) > 1


def t_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return Student's t interval of the mean over seeds; nothing is resampled.

    The interval covers the variation of seeds: where the mean of ever more seeds would end on these same test
    sentences. It does not cover the variation of test sentences, which `bootstrap_interval` is for.

    Parameters
    ----------
    values : floats
        One result of each seed, taken as independent and about normal.
    confidence : float, between 0 and 1

    Returns
    -------
    (low, high) : floats
        (nan, nan) for fewer than two values. Where all are exactly equal both ends are that value: ask
        `seeds_change_something` before making anything of it.

    Raises
    ------
    ValueError
        If `confidence` is out of range.

    References
    ----------
    Student 1908, "The probable error of a mean".
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence} must be between 0 and 1")
    n = len(values)
    if n < 2:
        return float("nan"), float("nan")
    if not seeds_change_something(values):
        return float(values[0]), float(values[0])
    mean, half = np.mean(values), student.ppf((1 + confidence) / 2, n - 1) * np.std(values, ddof=1) / np.sqrt(n)
    return float(mean - half), float(mean + half)


def _mcnemar(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    """Return the two-sided p of the exact test that as many examples are right in the first alone as in the second."""
    wins, losses = int((first & ~second).sum()), int((second & ~first).sum())
    return float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
