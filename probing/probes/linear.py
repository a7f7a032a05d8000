"""The linear probe: multinomial logistic regression on standardised features, its L2 penalty chosen on dev."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveFloat, PositiveInt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from probing.probes.base import Answers, ProbeConfig, with_first_senses
from probing.probes.masked_linear import MaskedLinearProbe
from probing.probes.softmax_regression import solve
from probing.tasks import Split

PENALTIES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""What an experiment tries, unless told otherwise."""
_ROWS = 8192


class LinearProbe(ClassifierMixin, BaseEstimator):
    """Softmax regression with an L2 penalty.

    Minimises `mean cross-entropy + penalty / 2 * ||W||^2` over weights W (n_features, n_classes) and an unpenalised
    bias, to the optimum; nothing is random. scikit-learn's `LogisticRegression` on standardised features has the same
    optimum at `C = 1 / (n_examples * penalty)`; with two classes, where it has one weight vector, at twice that `C`.

    Parameters
    ----------
    penalty : float or sequence of floats
        With several, all are fitted together and the one with the highest accuracy on dev is kept; of equals, the
        largest.
    standardize : bool
        Give each feature mean 0 and variance 1 on the training examples first. Layers differ in scale by multiples,
        so that without it one penalty would mean something else for each layer.
    tolerance : float
        How far, as a share, the objective may be from its minimum.
    max_iterations : int

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
        Sorted labels.
    coef_ : float array, shape (n_classes, n_features)
    intercept_ : float array, shape (n_classes,)
        Both for the features as given, not standardised.
    penalty_ : float
        The penalty kept.
    dev_accuracy_ : dict of float to float
        Accuracy on dev by penalty; empty where no dev was given.
    n_iter_ : int
    objective_ : float
    converged_ : bool
    n_features_in_ : int
    """

    classes_: NDArray[Any]
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    penalty_: float
    dev_accuracy_: dict[float, float]
    n_iter_: int
    objective_: float
    converged_: bool
    n_features_in_: int

    def __init__(
        self,
        penalty: float | Sequence[float] = 1e-4,
        *,
        standardize: bool = True,
        tolerance: float = 1e-6,
        max_iterations: int = 200,
    ) -> None:
        self.penalty = penalty
        self.standardize = standardize
        self.tolerance = tolerance
        self.max_iterations = max_iterations

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> "LinearProbe":
        """Fit.

        Parameters
        ----------
        X : float array, shape (n_examples, n_features)
            May be memory-mapped and larger than memory: it is read in chunks.
        y : label array, shape (n_examples,)
            At least two classes.
        X_dev, y_dev : optional
            On which a penalty is chosen. A dev label that `y` lacks counts as wrong.

        Raises
        ------
        ValueError
            If there are several penalties and no dev, fewer than two classes, or a value that is not finite.
        """
        X, y = validate_data(self, X, y, dtype=[np.float32, np.float64])
        check_classification_targets(y)
        if X_dev is not None:
            X_dev = validate_data(self, X_dev, dtype=[np.float32, np.float64], reset=False)
        _fit([self], X, [y], X_dev, [y_dev])
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return scores (n_examples, n_classes); for two classes (n_examples,), positive for the second."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable label of each example."""
        best = self._scores(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[best]
        return labels

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return natural-log probabilities, shape (n_examples, n_classes)."""
        scores = self._scores(X)
        scores -= scores.max(axis=1, keepdims=True)
        scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return scores

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return probabilities, shape (n_examples, n_classes)."""
        return np.exp(self.predict_log_proba(X))

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float32, np.float64], reset=False)
        return _scores(X, self.coef_.T, self.intercept_)


def fit_targets(
    probe: LinearProbe,
    X: NDArray[np.floating],
    targets: Sequence[NDArray[Any]],
    X_dev: NDArray[np.floating] | None = None,
    dev_targets: Sequence[NDArray[Any] | None] | None = None,
) -> list[LinearProbe]:
    """Fit one probe for each of several label vectors over the same examples, all in the same passes over `X`.

    Parameters
    ----------
    probe : LinearProbe
        The settings; not fitted itself.
    X, X_dev : float arrays, shape (n_examples, n_features)
        Must be finite: features are checked when they are made.
    targets, dev_targets : sequences of label arrays, shape (n_examples,)

    Returns
    -------
    list of LinearProbe
        What `probe.fit` would give for each target alone.
    """
    probes = [LinearProbe(**probe.get_params()) for _ in targets]
    for each in probes:
        each.n_features_in_ = X.shape[1]
    _fit(probes, X, targets, X_dev, dev_targets or [None] * len(targets))
    return probes


def _fit(
    probes: Sequence[LinearProbe],
    X: NDArray[np.floating],
    targets: Sequence[NDArray[Any]],
    X_dev: NDArray[np.floating] | None,
    dev_targets: Sequence[NDArray[Any] | None],
) -> None:
    """Fit probes of equal settings, a target each."""
    settings = probes[0]
    penalties = sorted(np.atleast_1d(settings.penalty).tolist(), reverse=True)
    if len(penalties) > 1 and X_dev is None:
        raise ValueError(f"to choose from {len(penalties)} penalties, fit needs X_dev and y_dev")
    codes = []
    for probe, y in zip(probes, targets, strict=True):
        probe.classes_, code = np.unique(y, return_inverse=True)
        if len(probe.classes_) < 2:
            raise ValueError(f"the training data have one class only ({probe.classes_[0]}): nothing to learn")
        codes.append(code)
    solutions = solve(
        X,
        codes,
        penalties,
        standardize=settings.standardize,
        tolerance=settings.tolerance,
        max_iterations=settings.max_iterations,
    )
    for probe, group, y_dev in zip(probes, solutions, dev_targets, strict=True):
        probe.dev_accuracy_ = {}
        if X_dev is not None and y_dev is not None:
            for penalty, solution in zip(penalties, group, strict=True):
                predicted = probe.classes_[_scores(X_dev, solution.weights, solution.bias).argmax(axis=1)]
                probe.dev_accuracy_[penalty] = float(np.mean(predicted == y_dev))
        # The penalties fall, and `max` keeps the first of equals: the largest.
        probe.penalty_ = max(probe.dev_accuracy_ or penalties, key=lambda p, of=probe.dev_accuracy_: of.get(p, 0.0))
        kept = group[penalties.index(probe.penalty_)]
        probe.coef_, probe.intercept_ = np.ascontiguousarray(kept.weights.T), kept.bias
        probe.objective_, probe.n_iter_, probe.converged_ = kept.objective, kept.iterations, kept.converged


def _scores(X: NDArray[np.floating], weights: NDArray[np.float64], bias: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `X W + b`, shape (n_examples, n_classes), reading X in chunks."""
    scores = np.empty((len(X), len(bias)))
    for start in range(0, len(X), _ROWS):
        scores[start : start + _ROWS] = X[start : start + _ROWS] @ weights + bias
    return scores


class LinearConfig(ProbeConfig):
    """Multinomial logistic regression; its L2 penalty is chosen on dev for each view by itself.

    Attributes
    ----------
    penalties : list of float
        What is tried, all in one go. A penalty weighs the mean cross-entropy's `||W||^2 / 2`: scikit-learn's
        `C = 1 / (n_examples * penalty)`.
    tolerance : float
        How far, as a share, an objective may be from its minimum.
    max_iterations : int
    """

    probe: Literal["linear"] = "linear"
    penalties: tuple[Annotated[float, Field(ge=1e-12, le=1e6)], ...] = Field(default=PENALTIES, min_length=1)
    tolerance: PositiveFloat = 1e-5
    max_iterations: PositiveInt = 200

    def fit(
        self, X: NDArray[Any], train: Sequence[Split], X_dev: NDArray[Any], dev: Sequence[Split]
    ) -> Sequence[LinearProbe | MaskedLinearProbe]:
        """Fit all penalties of all tasks together; a task whose examples compete in groups has a problem a group."""
        if train[0].has_groups:
            return [
                MaskedLinearProbe(self.penalties, tolerance=self.tolerance, max_iterations=self.max_iterations).fit(
                    X, _gold(one), _groups(one), X_dev, _gold(other), _groups(other)
                )
                for one, other in zip(train, dev, strict=True)
            ]
        settings = LinearProbe(self.penalties, tolerance=self.tolerance, max_iterations=self.max_iterations)
        labels = [[split.labels for split in splits] for splits in (train, dev)]
        return fit_targets(settings, X, labels[0], X_dev, labels[1])

    def answer(self, estimator: LinearProbe | MaskedLinearProbe, X: NDArray[Any], split: Split) -> Answers:
        """Answer the most probable label, among an example's candidates where it has some."""
        if not isinstance(estimator, MaskedLinearProbe):
            return super().answer(estimator, X, split)
        candidates = [example.candidates for example in split.examples]
        labels, answered = estimator.predict(X, _groups(split), candidates)
        return with_first_senses(labels.tolist(), answered, split)

    def facts(self, estimator: Any) -> dict[str, float]:
        """Return the penalty kept and, of one problem, the iterations that its fit took."""
        facts = {"l2_penalty": float(estimator.penalty_)}
        if isinstance(estimator, LinearProbe):
            facts["iterations"] = float(estimator.n_iter_)
        return facts


def _gold(split: Split) -> list[tuple[str, ...]]:
    return [example.labels for example in split.examples]


def _groups(split: Split) -> list[str]:
    return [str(example.group) for example in split.examples]
