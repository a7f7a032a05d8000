"""Baselines for word senses that see no vectors: the inventory's first sense, and train's most frequent one."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from probing.probes.base import Answers, ProbeConfig, Problem, with_first_senses
from probing.tasks import Split


class _SensesConfig(ProbeConfig):
    sees: ClassVar[Literal["vectors", "forms"]] = "forms"

    def suits(self, train: Split) -> bool:
        """Only where examples compete in groups."""
        return train.has_groups


class FirstSenseConfig(_SensesConfig):
    """Baseline without vectors: the inventory's first sense of the lemma (WordNet's, by frequency in SemCor)."""

    probe: Literal["first-sense"] = "first-sense"

    def fit(self, problems: Sequence[Problem], X: NDArray[Any], X_dev: NDArray[Any]) -> Sequence[None]:
        """There is nothing to fit."""
        return [None for _ in problems]

    def answer(self, estimator: None, X: NDArray[Any], split: Split) -> Answers:
        """Answer each example's first candidate."""
        known = np.array([len(example.candidates) > 0 for example in split.examples])
        nothing = np.zeros(len(known), dtype=bool)
        return with_first_senses([""] * len(known), nothing, split)._replace(answered=known)


class MostFrequentSenseConfig(_SensesConfig):
    """Baseline without vectors: the lemma's most frequent sense in train; of equals, and else, the first sense."""

    probe: Literal["most-frequent-sense"] = "most-frequent-sense"

    def fit(self, problems: Sequence[Problem], X: NDArray[Any], X_dev: NDArray[Any]) -> Sequence[Counter[str]]:
        """Count the senses of each task; a sense is of one lemma, so that one count serves all lemmas."""
        return [Counter(label for example in one.train.examples for label in example.labels) for one in problems]

    def answer(self, estimator: Counter[str], X: NDArray[Any], split: Split) -> Answers:
        """Answer the candidate with the highest count."""
        labels = [max(example.candidates, key=estimator.__getitem__, default="") for example in split.examples]
        answered = np.array([estimator[label] > 0 for label in labels])
        return with_first_senses(labels, answered, split)
