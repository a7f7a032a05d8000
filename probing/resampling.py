"""The draws behind a bootstrap: sentences. What they are drawn for is in `probing.statistics`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK_CELLS = 1_000_000  # draws held at once: 8 MB each for the draws, their counts and the counts as floats


def checked(
    values: NDArray[Any], sentence: NDArray[np.integer], samples: int, confidence: float
) -> tuple[NDArray[Any], NDArray[np.integer]]:
    """Return `values` [systems, n] and `sentence` [n] as arrays, or say what is wrong with them."""
    values, sentence = np.asarray(values), np.asarray(sentence)
    if values.ndim != 2 or sentence.shape != values.shape[1:]:
        raise ValueError(f"values of shape {values.shape} do not fit sentences of shape {sentence.shape}")
    if samples < 1 or not 0 < confidence < 1:
        raise ValueError(f"samples={samples} must be at least 1, confidence={confidence} between 0 and 1")
    if not np.isfinite(values).all():
        raise ValueError("a mean needs finite values: some are infinite or NaN")
    return values, sentence


def resampled_means(
    values: NDArray[Any], sentence: NDArray[np.integer], samples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the means of `values` [systems, n] in each sample of sentences: [samples, systems]."""
    _, cluster = np.unique(sentence, return_inverse=True)
    # Each sentence's examples and each system's sum, [S, 1 + systems]: all that a mean needs.
    totals = [np.bincount(cluster).astype(np.float64)] + [np.bincount(cluster, weights=own) for own in values]
    sums = _resampled_sums(np.stack(totals, axis=1), samples, rng)
    return sums[:, 1:] / sums[:, :1]  # the ratio of sums, not the mean of the sentences' means


def percentiles(values: NDArray[np.float64], confidence: float) -> NDArray[np.float64]:
    """Return low and high of each column of `values` [samples, systems]: [systems, 2]."""
    tail = (1 - confidence) / 2
    return np.quantile(values, [tail, 1 - tail], axis=0).T


def _resampled_sums(per_sentence: NDArray[np.float64], samples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Sum the rows of `per_sentence` [S, k] over S rows drawn with replacement, `samples` times: [samples, k].

    Counts are whole numbers far below 2**53, so their sums are exact and no order of summation can change them.
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
