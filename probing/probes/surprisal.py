"""Bits that gold labels cost under a model's probabilities: what V-information and description lengths are made of."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def surprisal(
    log_proba: NDArray[np.floating],
    classes: Iterable[Any],
    gold: Sequence[Sequence[Any]],
    n_train: int,
    inventory: Iterable[Any] = (),
) -> NDArray[np.float64]:
    """Return -log2 of the probability that a model gives to the gold labels of each example together.

    Labels that the training data lack have a probability too, by an escape as in methods A and C of the text
    compressor PPM: with m such labels, the probability of each class of the model is multiplied by
    `n_train / (n_train + m)`, and each of the m has `1 / (n_train + m)`. So the probabilities of all labels still sum
    to 1 and no label costs infinitely many bits. With m = 0 nothing changes.

    Parameters
    ----------
    log_proba : float array, shape (n_examples, n_classes)
        Natural logarithms.
    classes : labels, n_classes of them
        The columns of `log_proba`.
    gold : sequence of sequences of labels, one an example
        Any of an example's labels is right: their probabilities are added, each label once.
    n_train : int
        The examples that the model was trained on.
    inventory : labels, optional
        All labels that could occur. Those in `gold` always count: without an inventory m is the number of distinct
        labels of `gold` that `classes` lacks.

    Returns
    -------
    float64 array, shape (n_examples,)
        Bits.

    Raises
    ------
    ValueError
        If the shapes do not belong together, or an example has no gold label.

    References
    ----------
    Cleary & Witten 1984; Moffat 1990 (PPM's escapes). Xu et al. 2020 (the mean is the predictive V-entropy).
    """
    column = {label: index for index, label in enumerate(classes)}
    if log_proba.shape != (len(gold), len(column)):
        raise ValueError(
            f"log_proba has shape {log_proba.shape}, but there are {len(gold)} examples and {len(column)} classes"
        )
    labels = [tuple(dict.fromkeys(own)) for own in gold]
    if not all(labels):
        raise ValueError(f"example {labels.index(())} has no gold label")
    missing = {label for own in labels for label in own}.union(inventory) - column.keys()
    rows = np.repeat(np.arange(len(labels)), [len(own) for own in labels])
    columns = np.array([column.get(label, -1) for own in labels for label in own], dtype=np.intp)
    logs = log_proba[rows, columns].astype(np.float64)
    if missing:
        total = np.log(n_train + len(missing))
        logs = np.where(columns < 0, -total, logs + np.log(n_train) - total)
    together = np.full(len(labels), -np.inf)
    np.logaddexp.at(together, rows, logs)  # in logarithms: a probability may be too small for a float
    bits: NDArray[np.float64] = np.maximum(0.0, -together / np.log(2))  # rounding can add up to a little over 1
    return bits
