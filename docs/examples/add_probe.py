"""A probe of one's own: the labels of the nearest training examples, by vote. How many is chosen on dev."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import PositiveInt
from sklearn.neighbors import KNeighborsClassifier

from probing.probes import PROBES, ProbeConfig, Problem
from probing.tasks import Split


class NeighboursConfig(ProbeConfig):
    """The most frequent label among the nearest training examples.

    Attributes
    ----------
    neighbours : list of int
        How many are asked; the number with the best accuracy on dev is kept.
    """

    probe: Literal["neighbours"] = "neighbours"
    neighbours: tuple[PositiveInt, ...] = (1, 5)

    def suits(self, train: Split) -> bool:
        """Only where all examples compete: a sense of one lemma is no answer for another."""
        return not train.has_groups

    def fit(self, problems: Sequence[Problem], X: NDArray[Any], X_dev: NDArray[Any]) -> Sequence[Any]:
        """Fit one estimator a problem; `X` has a row an example of train, `X_dev` of dev."""
        return [self._best(one, X, X_dev) for one in problems]

    def facts(self, estimator: Any) -> dict[str, float]:
        """Return what belongs into results.csv beside the scores, by the name of its metric."""
        return {"neighbours": float(estimator.n_neighbors)}

    def _best(self, problem: Problem, X: NDArray[np.float32], X_dev: NDArray[np.float32]) -> KNeighborsClassifier:
        tried = [KNeighborsClassifier(count).fit(X, problem.train.labels) for count in self.neighbours]
        return max(tried, key=lambda one: one.score(X_dev, problem.dev.labels))


PROBES["neighbours"] = NeighboursConfig
