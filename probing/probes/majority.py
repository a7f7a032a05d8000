"""Baselines that see no vectors: the most frequent label, of all examples or of the word form."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from probing.probes.base import ProbeConfig
from probing.tasks import Split


class MajorityProbe(ClassifierMixin, BaseEstimator):
    """Always answer the most frequent training label; of equals, the one seen first.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
    label_ : the label that is always answered
    """

    def fit(self, X: Any, y: Any) -> "MajorityProbe":
        """Count the labels `y`, shape (n_examples,); `X` is not looked at."""
        labels = np.asarray(y)
        self.classes_ = np.unique(labels)
        self.label_ = _most_frequent(labels.tolist())
        return self

    def predict(self, X: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
        """Return the same label for each of the examples."""
        check_is_fitted(self)
        return np.full(len(X), self.label_, dtype=self.classes_.dtype)


class TypeMajorityProbe(ClassifierMixin, BaseEstimator):
    """Answer the most frequent training label of the word form; for a form that train lacks, of all examples.

    Forms are case-sensitive. Of equals, the label seen first (with that form) is answered.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
    labels_ : dict of str to label
        By word form.
    default_ : the label for other forms
    """

    def fit(self, X: Any, y: Any) -> "TypeMajorityProbe":
        """Count the labels `y`, shape (n_examples,), of each of the word forms `X`, shape (n_examples,)."""
        forms, labels = np.asarray(X), np.asarray(y)
        by_form: dict[str, list[Any]] = {}
        for form, label in zip(forms.tolist(), labels.tolist(), strict=True):
            by_form.setdefault(form, []).append(label)
        self.classes_ = np.unique(labels)
        self.labels_ = {form: _most_frequent(seen) for form, seen in by_form.items()}
        self.default_ = _most_frequent(labels.tolist())
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return one label for each word form of `X`."""
        check_is_fitted(self)
        answers = [self.labels_.get(form, self.default_) for form in np.asarray(X).tolist()]
        return np.array(answers, dtype=self.classes_.dtype)


def _most_frequent(labels: Sequence[Any]) -> Any:
    """Return the most frequent label; `Counter` keeps the order of first sight, and `max` the first of equals."""
    counts = Counter(labels)
    return max(counts, key=counts.__getitem__)


class _FormsConfig(ProbeConfig):
    sees: ClassVar[Literal["vectors", "forms"]] = "forms"
    estimator: ClassVar[type[MajorityProbe] | type[TypeMajorityProbe]]

    def suits(self, train: Split) -> bool:
        """Only where all examples compete: a sense of one lemma is no answer for another."""
        return not train.has_groups

    def fit(
        self, X: NDArray[Any], train: Sequence[Split], X_dev: NDArray[Any], dev: Sequence[Split]
    ) -> Sequence[MajorityProbe | TypeMajorityProbe]:
        """Fit each task by itself; dev is not needed."""
        return [self.estimator().fit(X, split.labels) for split in train]


class MajorityConfig(_FormsConfig):
    """Baseline without vectors: the most frequent label of train."""

    probe: Literal["majority"] = "majority"
    estimator = MajorityProbe


class TypeMajorityConfig(_FormsConfig):
    """Baseline without vectors: the word form's most frequent label in train."""

    probe: Literal["type-majority"] = "type-majority"
    estimator = TypeMajorityProbe
