"""The linear probe where examples compete in groups: the senses of a lemma are told apart, of different lemmas not."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from probing.probes.grouped_softmax import Group, GroupSolution, solve_groups

_ROWS = 8192


class MaskedLinearProbe(ClassifierMixin, BaseEstimator):
    """Softmax regression over all labels, its probabilities masked to the labels of the example's group.

    Minimises `mean cross-entropy + penalty / 2 * ||W||^2`, the mean over the training examples of all groups, to the
    optimum; nothing is random. As no label of one group competes with a label of another, each group has its own
    weights, also for a label that two groups have in common.

    Parameters
    ----------
    penalty : float or sequence of floats
        With several, all are fitted together and the one with the highest accuracy on dev is kept, the same for all
        groups; of equals, the largest.
    standardize : bool
        Give each feature mean 0 and variance 1 on the training examples of all groups first.
    tolerance : float
        How far, as a share, a group's objective may be from its minimum.
    max_iterations : int

    Attributes
    ----------
    classes_ : dict of str to tuple of str
        By group: the labels seen in training, sorted.
    coef_ : dict of str to float32 array, shape (n_classes, n_features)
    intercept_ : dict of str to float64 array, shape (n_classes,)
        By group with two labels or more; both for the features as given, not standardised.
    penalty_ : float
        The penalty kept.
    dev_accuracy_ : dict of float to float
        By penalty, the share of dev examples whose label is among the gold ones, of those whose group was seen in
        training; empty where there are none.
    objective_ : float
        The sum over groups.
    converged_ : float
        The share of groups with two labels or more that reached the tolerance.
    n_features_in_ : int
    """

    classes_: dict[str, tuple[str, ...]]
    coef_: dict[str, NDArray[np.float32]]
    intercept_: dict[str, NDArray[np.float64]]
    penalty_: float
    dev_accuracy_: dict[float, float]
    objective_: float
    converged_: float
    n_features_in_: int

    def __init__(
        self,
        penalty: float | Sequence[float] = 1e-4,
        *,
        standardize: bool = True,
        tolerance: float = 1e-5,
        max_iterations: int = 200,
    ) -> None:
        self.penalty = penalty
        self.standardize = standardize
        self.tolerance = tolerance
        self.max_iterations = max_iterations

    def fit(
        self,
        X: Any,
        gold: Sequence[tuple[str, ...]],
        groups: Sequence[str],
        X_dev: Any = None,
        dev_gold: Sequence[tuple[str, ...]] | None = None,
        dev_groups: Sequence[str] | None = None,
    ) -> "MaskedLinearProbe":
        """Fit.

        Parameters
        ----------
        X : float array, shape (n_examples, n_features)
            May be memory-mapped and larger than memory: a few groups' rows are held at a time.
        gold : sequence of tuples of labels
            Each example's right labels, at least one; they have equal shares in its target.
        groups : sequence of str
            Each example's group.
        X_dev, dev_gold, dev_groups : optional
            On which a penalty is chosen; any of the gold labels is right. Examples of unseen groups are left out.

        Raises
        ------
        ValueError
            If there are several penalties and no dev, an example without label, or a value that is not finite.
        """
        X = validate_data(self, X, dtype=[np.float32, np.float64])
        _check_lengths(X, gold, groups)
        empty = next((index for index, labels in enumerate(gold) if not labels), None)
        if empty is not None:
            raise ValueError(f"training example {empty} (of group {groups[empty]!r}) has no label")
        penalties = sorted(np.atleast_1d(self.penalty).tolist(), reverse=True)
        if len(penalties) > 1 and X_dev is None:
            raise ValueError(f"to choose from {len(penalties)} penalties, fit needs X_dev, dev_gold and dev_groups")
        members = _rows_by_group(groups)
        self.classes_ = {name: tuple(sorted({x for i in own for x in gold[i]})) for name, own in members.items()}
        several = [name for name, labels in self.classes_.items() if len(labels) > 1]
        problems = [
            Group(members[name], _shares([gold[i] for i in members[name]], self.classes_[name])) for name in several
        ]
        mean, scale = _mean_and_scale(X, self.standardize)
        solved = solve_groups(
            X,
            mean,
            scale,
            problems,
            penalties,
            n_total=len(X),
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
        )
        solutions = dict(zip(several, solved, strict=True))
        self.dev_accuracy_ = {}
        if X_dev is not None and dev_gold is not None and dev_groups is not None:
            X_dev = validate_data(self, X_dev, dtype=[np.float32, np.float64], reset=False)
            _check_lengths(X_dev, dev_gold, dev_groups)
            right = self._right(X_dev, dev_gold, dev_groups, mean, scale, solutions)
            if len(right):
                self.dev_accuracy_ = dict(zip(penalties, right.mean(axis=0).tolist(), strict=True))
        # The penalties fall, and `max` keeps the first of equals: the largest.
        self.penalty_ = max(penalties, key=lambda penalty: self.dev_accuracy_.get(penalty, 0.0))
        kept = {name: by_penalty[penalties.index(self.penalty_)] for name, by_penalty in solutions.items()}
        self.coef_ = {name: (one.weights / scale).astype(np.float32) for name, one in kept.items()}
        self.intercept_ = {name: one.bias - self.coef_[name] @ mean for name, one in kept.items()}
        self.objective_ = sum(one.objective for one in kept.values())
        self.converged_ = float(np.mean([one.converged for one in kept.values()])) if kept else 1.0
        return self

    def _right(
        self,
        X: NDArray[np.floating],
        gold: Sequence[tuple[str, ...]],
        groups: Sequence[str],
        mean: NDArray[np.float64],
        scale: NDArray[np.float64],
        solutions: dict[str, list[GroupSolution]],
    ) -> NDArray[np.bool_]:
        """Tell which examples of seen groups get a gold label, shape (n_seen, n_penalties)."""
        n_penalties = len(np.atleast_1d(self.penalty))
        right = [np.zeros((0, n_penalties), dtype=bool)]
        for name, rows in _rows_by_group(groups).items():
            if name not in self.classes_:
                continue
            correct = np.array([[label in gold[i] for label in self.classes_[name]] for i in rows])
            if name not in solutions:
                right.append(np.repeat(correct, n_penalties, axis=1))
                continue
            own = (X[rows] - mean) / scale
            best = [(own @ one.weights.T + one.bias).argmax(axis=1) for one in solutions[name]]
            right.append(np.take_along_axis(correct, np.stack(best, axis=1), axis=1))
        return np.concatenate(right)

    def predict(
        self, X: Any, groups: Sequence[str], candidates: Sequence[Sequence[str]] | None = None
    ) -> tuple[NDArray[np.str_], NDArray[np.bool_]]:
        """Return the most probable label of each example's group.

        Parameters
        ----------
        X : float array, shape (n_examples, n_features)
        groups : sequence of str
        candidates : sequence of labels for each example, optional
            Where an example has some, its label is one of them; those not seen in training are left out.

        Returns
        -------
        labels : str array, shape (n_examples,)
            "" where there is no answer.
        answered : bool array, shape (n_examples,)
            False where training lacks the group, or all of the example's candidates.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float32, np.float64], reset=False)
        _check_lengths(X, groups, candidates)
        found = [""] * len(X)
        answered = np.zeros(len(X), dtype=bool)
        for name, rows in _rows_by_group(groups).items():
            labels = self.classes_.get(name, ())
            scores = np.zeros((len(rows), len(labels)))
            if name in self.coef_:
                scores = np.asarray(X[rows], dtype=np.float64) @ self.coef_[name].T + self.intercept_[name]
            for i, row_scores in zip(rows.tolist(), scores, strict=True):
                among = candidates[i] if candidates is not None and len(candidates[i]) else labels
                open_to = [k for k, label in enumerate(labels) if label in among]
                if open_to:
                    found[i] = labels[max(open_to, key=row_scores.__getitem__)]
                    answered[i] = True
        return np.array(found, dtype=np.str_), answered


def _rows_by_group(groups: Iterable[str]) -> dict[str, NDArray[np.int64]]:
    rows: dict[str, list[int]] = defaultdict(list)
    for index, name in enumerate(groups):
        rows[name].append(index)
    return {name: np.array(own, dtype=np.int64) for name, own in rows.items()}


def _shares(gold: Sequence[tuple[str, ...]], labels: tuple[str, ...]) -> NDArray[np.float32]:
    """Return targets, shape (n_examples, n_labels): an example's gold labels have equal shares."""
    code = {label: index for index, label in enumerate(labels)}
    shares = np.zeros((len(gold), len(labels)), dtype=np.float32)
    for row, own in zip(shares, gold, strict=True):
        row[[code[label] for label in own]] = 1 / len(set(own))
    return shares


def _mean_and_scale(X: NDArray[np.floating], standardize: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    scaler = StandardScaler(with_std=standardize)
    for start in range(0, len(X), _ROWS):
        scaler.partial_fit(np.asarray(X[start : start + _ROWS], dtype=np.float64))
    return scaler.mean_, scaler.scale_ if standardize else np.ones(X.shape[1])


def _check_lengths(X: NDArray[Any], *others: Sequence[Any] | None) -> None:
    lengths = [len(other) for other in others if other is not None]
    if any(length != len(X) for length in lengths):
        raise ValueError(f"{len(X)} vectors, but {lengths} gold labels, groups or candidates")
