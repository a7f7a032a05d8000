"""The nearest-sense probe: a mean vector for each sense, the answer is the candidate with the highest cosine."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from probing.probes.base import Answers, ProbeConfig, Problem, with_first_senses
from probing.tasks import Split

_ROWS = 8192


class NearestSenseProbe(ClassifierMixin, BaseEstimator):
    """Nearest mean, by cosine. Nothing is learned but means, so layers are compared without a probe's own power.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
        Sorted labels.
    means_ : float32 array, shape (n_classes, n_features)
        Unit vectors; a mean that is zero stays zero.
    n_features_in_ : int

    References
    ----------
    Melamud et al. 2016 (context2vec), whose method Peters et al. 2018, section 5.3, name; the cosine is context2vec's.
    """

    classes_: NDArray[Any]
    means_: NDArray[np.float32]
    n_features_in_: int

    def fit(self, X: Any, y: Any) -> "NearestSenseProbe":
        """Average the vectors of each label.

        Parameters
        ----------
        X : float array, shape (n_examples, n_features)
            May be memory-mapped: what is held grows with the labels, not with the examples.
        y : label array, shape (n_examples,), or list of tuples of labels
            A vector counts once for each label of its tuple.
        """
        if isinstance(y, list) and y and all(isinstance(labels, tuple) for labels in y):
            X = validate_data(self, X, dtype=[np.float32, np.float64])
            several = y
            if len(several) != len(X):
                raise ValueError(f"{len(X)} vectors and {len(several)} tuples of labels")
        else:
            X, labels = validate_data(self, X, y, dtype=[np.float32, np.float64])
            check_classification_targets(labels)
            several = [(label,) for label in labels.tolist()]
        rows = np.repeat(np.arange(len(X)), [len(labels) for labels in several])
        self.classes_, codes = np.unique([label for labels in several for label in labels], return_inverse=True)
        # The mean's length does not matter to a cosine, so the sum will do.
        sums = np.zeros((len(self.classes_), X.shape[1]))
        for start in range(0, len(X), _ROWS):
            chosen = slice(*np.searchsorted(rows, [start, start + _ROWS]))
            np.add.at(sums, codes[chosen], np.asarray(X[start : start + _ROWS], dtype=float)[rows[chosen] - start])
        self.means_ = _unit(sums).astype(np.float32)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label whose mean is nearest, of all labels; of equals, the first in sorted order."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float32, np.float64], reset=False)
        best = [(X[start : start + _ROWS] @ self.means_.T).argmax(axis=1) for start in range(0, len(X), _ROWS)]
        labels: NDArray[Any] = self.classes_[np.concatenate(best)]
        return labels

    def predict_among(
        self, X: NDArray[np.floating], candidates: Sequence[Sequence[str]]
    ) -> tuple[list[str], NDArray[np.bool_]]:
        """Choose among each example's own candidates.

        Parameters
        ----------
        X : float array, shape (n_examples, n_features)
        candidates : sequence of labels for each example
            In the inventory's order: of equals, the earlier one is chosen. Those without a mean are left out. A zero
            vector is equally near to all.

        Returns
        -------
        labels : list of str
            "" where no candidate has a mean.
        answered : bool array, shape (n_examples,)
        """
        check_is_fitted(self)
        code = {label: index for index, label in enumerate(self.classes_.tolist())}
        known = {c: np.array([code[x] for x in c if x in code], dtype=np.int64) for c in set(map(tuple, candidates))}
        labels, answered = [], np.zeros(len(X), dtype=bool)
        for index, among in enumerate(candidates):
            codes = known[tuple(among)]
            answered[index] = len(codes) > 0
            best = codes[np.argmax(self.means_[codes] @ X[index])] if len(codes) else None
            labels.append("" if best is None else str(self.classes_[best]))
        return labels, answered


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1)


class NearestConfig(ProbeConfig):
    """Nearest mean vector of a sense by cosine, among the lemma's senses; else the first sense (Peters et al. 2018)."""

    one_label: ClassVar[bool] = True
    probe: Literal["nearest"] = "nearest"

    def fit(self, problems: Sequence[Problem], X: NDArray[Any], X_dev: NDArray[Any]) -> Sequence[NearestSenseProbe]:
        """Average each task's labels; nothing is chosen on dev."""
        return [NearestSenseProbe().fit(X, [example.labels for example in one.train.examples]) for one in problems]

    def answer(self, estimator: NearestSenseProbe, X: NDArray[Any], split: Split) -> Answers:
        """Choose among each example's candidates, or among all labels where the task has no groups."""
        if not split.has_groups:
            return super().answer(estimator, X, split)
        labels, answered = estimator.predict_among(X, [example.candidates for example in split.examples])
        return with_first_senses(labels, answered, split)
