"""Baselines that see no vectors: the most frequent label, of all examples or of the word form."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from probing.probes.base import Answers, ProbeConfig, Problem, always
from probing.probes.surprisal import surprisal
from probing.tasks import Split


class MajorityProbe(ClassifierMixin, BaseEstimator):
    """Always answer the most frequent training label; of equals, the one seen first.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
    share_ : float array, shape (n_classes,)
        Of the training examples.
    n_train_ : int
    label_ : the label that is always answered
    """

    def fit(self, X: Any, y: Any) -> "MajorityProbe":
        """Count the labels `y`, shape (n_examples,); `X` is not looked at."""
        labels = np.asarray(y)
        self.classes_, counts = np.unique(labels, return_counts=True)
        self.share_ = counts / len(labels)
        self.n_train_ = len(labels)
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
    one_label: ClassVar[bool] = True
    estimator: ClassVar[type[MajorityProbe] | type[TypeMajorityProbe]]

    def suits(self, train: Split) -> bool:
        """Only where all examples compete: a sense of one lemma is no answer for another."""
        return not train.has_groups

    def fit(
        self, problems: Sequence[Problem], X: NDArray[Any], X_dev: NDArray[Any]
    ) -> Sequence[MajorityProbe | TypeMajorityProbe]:
        """Fit each task by itself; dev is not needed."""
        return [self.estimator().fit(X, one.train.labels) for one in problems]


class MajorityConfig(_FormsConfig):
    """Baseline without vectors: the most frequent label of train."""

    probe: Literal["majority"] = "majority"
    estimator = MajorityProbe

    def answer(self, estimator: MajorityProbe, X: NDArray[Any], split: Split) -> Answers:
        """Answer the most frequent label; its bits come from the training labels' distribution.

        That distribution is what a linear probe without any input has at its optimum, so the mean of the bits is the
        H_V(Y) that V-information starts from (Xu et al. 2020).
        """
        log_proba = np.broadcast_to(np.log(estimator.share_), (len(split.examples), len(estimator.classes_)))
        gold = [example.labels for example in split.examples]
        bits = surprisal(log_proba, estimator.classes_.tolist(), gold, estimator.n_train_)
        return always(estimator.predict(X))._replace(bits=bits)


class TypeMajorityConfig(_FormsConfig):
    """Baseline without vectors: the word form's most frequent label in train."""

    probe: Literal["type-majority"] = "type-majority"
    estimator = TypeMajorityProbe

    def suits(self, train: Split) -> bool:
        """Only where, besides, examples have a word form: a sentence that train has too is no baseline."""
        return super().suits(train) and train.has_word_forms
