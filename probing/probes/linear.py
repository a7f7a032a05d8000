"""The linear probe: multinomial logistic regression on standardised features, its L2 penalty chosen on dev."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveFloat, PositiveInt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from probing.probes.base import Answers, ProbeConfig, Problem, answers_with_bits, with_first_senses
from probing.probes.masked_linear import MaskedLinearProbe
from probing.probes.softmax_regression import solve
from probing.probes.surprisal import surprisal
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
        With several, all are fitted together and the best one on dev is kept; of equals, the largest.
    choose_by : {"accuracy", "surprisal"}
        What is best on dev: the highest accuracy, or the fewest bits for the labels (those that train lacks cost what
        `surprisal` says).
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
    dev_bits_ : dict of float to float
        Mean surprisal on dev by penalty, where it is what a penalty is chosen by; else empty.
    n_iter_ : int
    objective_ : float
    cross_entropy_ : float
        The mean over the training examples, in nats: the objective without its penalty.
    converged_ : bool
    n_train_ : int
        Training examples.
    n_features_in_ : int
    """

    classes_: NDArray[Any]
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    penalty_: float
    dev_accuracy_: dict[float, float]
    dev_bits_: dict[float, float]
    n_iter_: int
    objective_: float
    cross_entropy_: float
    converged_: bool
    n_train_: int
    n_features_in_: int

    def __init__(
        self,
        penalty: float | Sequence[float] = 1e-4,
        *,
        choose_by: str = "accuracy",
        standardize: bool = True,
        tolerance: float = 1e-6,
        max_iterations: int = 200,
    ) -> None:
        self.penalty = penalty
        self.choose_by = choose_by
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
            If there are several penalties and no dev, fewer than two classes, a value that is not finite, or
            something else than accuracy or surprisal to choose by.
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
        return _log_softmax(self._scores(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return probabilities, shape (n_examples, n_classes)."""
        return np.exp(self.predict_log_proba(X))

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float32, np.float64], reset=False)
        return _scores(X, self.coef_.T, self.intercept_)


def fit_targets(
    probe: LinearProbe | Sequence[LinearProbe],
    X: NDArray[np.floating],
    targets: Sequence[NDArray[Any]],
    X_dev: NDArray[np.floating] | None = None,
    dev_targets: Sequence[NDArray[Any] | None] | None = None,
) -> list[LinearProbe]:
    """Fit one probe for each of several label vectors over the same examples, all in the same passes over `X`.

    Parameters
    ----------
    probe : LinearProbe or sequence of LinearProbe
        The settings, for all targets or for each; not fitted themselves. Targets may differ in their penalties alone.
    X, X_dev : float arrays, shape (n_examples, n_features)
        Must be finite: features are checked when they are made.
    targets, dev_targets : sequences of label arrays, shape (n_examples,)

    Returns
    -------
    list of LinearProbe
        What `probe.fit` would give for each target alone.

    Raises
    ------
    ValueError
        If settings other than the penalties differ; also what `LinearProbe.fit` raises.
    """
    settings = [probe] * len(targets) if isinstance(probe, LinearProbe) else probe
    probes = [LinearProbe(**own.get_params()) for own in settings]
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
    """Fit probes of equal settings (their penalties may differ), a target each."""
    settings = probes[0]
    _check_settings(probes)
    penalties = [sorted(np.atleast_1d(probe.penalty).tolist(), reverse=True) for probe in probes]
    most = max(len(own) for own in penalties)
    if most > 1 and X_dev is None:
        raise ValueError(f"to choose from {most} penalties, fit needs X_dev and y_dev")
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
    for probe, own, group, y_dev in zip(probes, penalties, solutions, dev_targets, strict=True):
        probe.n_train_ = len(X)
        probe.dev_accuracy_, probe.dev_bits_ = {}, {}
        if X_dev is not None and y_dev is not None:
            for penalty, solution in zip(own, group, strict=True):
                scores = _scores(X_dev, solution.weights, solution.bias)
                probe.dev_accuracy_[penalty] = float(np.mean(probe.classes_[scores.argmax(axis=1)] == y_dev))
                if probe.choose_by == "surprisal":
                    gold = [(label,) for label in np.asarray(y_dev).tolist()]
                    bits = surprisal(_log_softmax(scores), probe.classes_.tolist(), gold, len(X))
                    probe.dev_bits_[penalty] = float(bits.mean())
        # The penalties fall, and `max` and `min` keep the first of equals: the largest.
        if probe.dev_bits_:
            probe.penalty_ = min(probe.dev_bits_, key=probe.dev_bits_.__getitem__)
        else:
            probe.penalty_ = max(probe.dev_accuracy_ or own, key=lambda p, of=probe.dev_accuracy_: of.get(p, 0.0))
        kept = group[own.index(probe.penalty_)]
        probe.coef_, probe.intercept_ = np.ascontiguousarray(kept.weights.T), kept.bias
        probe.objective_, probe.n_iter_, probe.converged_ = kept.objective, kept.iterations, kept.converged
        probe.cross_entropy_ = kept.cross_entropy


def _check_settings(probes: Sequence[LinearProbe]) -> None:
    if probes[0].choose_by not in ("accuracy", "surprisal"):
        raise ValueError(f"choose_by is {probes[0].choose_by!r}: a penalty is chosen by accuracy or surprisal")
    shared = [{**probe.get_params(), "penalty": None} for probe in probes]
    if any(one != shared[0] for one in shared):
        raise ValueError("probes that are fitted together may differ in their penalties only")


def _log_softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn scores (n_examples, n_classes) into natural-log probabilities, in place."""
    scores -= scores.max(axis=1, keepdims=True)
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return scores


def _scores(X: NDArray[np.floating], weights: NDArray[np.float64], bias: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `X W + b`, shape (n_examples, n_classes), reading X in chunks."""
    scores = np.empty((len(X), len(bias)))
    for start in range(0, len(X), _ROWS):
        scores[start : start + _ROWS] = X[start : start + _ROWS] @ weights + bias
    return scores


class PenalisedConfig(ProbeConfig):
    """What the probes that are linear probes, or made of them, have in common.

    Attributes
    ----------
    penalties : list of float
        What is tried, all in one go. A penalty weighs the mean cross-entropy's `||W||^2 / 2`: scikit-learn's
        `C = 1 / (n_examples * penalty)`.
    tolerance : float
        How far, as a share, an objective may be from its minimum.
    max_iterations : int
    """

    penalties: tuple[Annotated[float, Field(ge=1e-12, le=1e6)], ...] = Field(default=PENALTIES, min_length=1)
    tolerance: PositiveFloat = 1e-5
    max_iterations: PositiveInt = 200

    def settings(self, **others: Any) -> LinearProbe:
        """Return a linear probe with these settings, not fitted; `others` go to `LinearProbe` as they are."""
        return LinearProbe(self.penalties, tolerance=self.tolerance, max_iterations=self.max_iterations, **others)


class LinearConfig(PenalisedConfig):
    """Multinomial logistic regression; its L2 penalty is chosen on dev for each view by itself."""

    probe: Literal["linear"] = "linear"

    def fit(
        self, problems: Sequence[Problem], X: NDArray[Any], X_dev: NDArray[Any]
    ) -> Sequence[LinearProbe | MaskedLinearProbe]:
        """Fit all penalties of all tasks together; a task whose examples compete in groups has a problem a group."""
        if problems[0].train.has_groups:
            return [
                MaskedLinearProbe(self.penalties, tolerance=self.tolerance, max_iterations=self.max_iterations).fit(
                    X, _gold(one.train), _groups(one.train), X_dev, _gold(one.dev), _groups(one.dev)
                )
                for one in problems
            ]
        return fit_labels(self.settings(), problems, X, X_dev)

    def answer(self, estimator: LinearProbe | MaskedLinearProbe, X: NDArray[Any], split: Split) -> Answers:
        """Answer the most probable label, among an example's candidates where it has some."""
        if not isinstance(estimator, MaskedLinearProbe):
            return answers_with_bits(estimator, X, split)
        candidates = [example.candidates for example in split.examples]
        labels, answered = estimator.predict(X, _groups(split), candidates)
        return with_first_senses(labels.tolist(), answered, split)

    def facts(self, estimator: Any) -> dict[str, float]:
        """Return the penalty kept and, of one problem, its fit's iterations and cross-entropy on train, in bits."""
        if isinstance(estimator, LinearProbe):
            return fitted_facts(estimator)
        return {"l2_penalty": float(estimator.penalty_)}


def fit_labels(
    probe: LinearProbe | Sequence[LinearProbe],
    problems: Sequence[Problem],
    X: NDArray[np.floating],
    X_dev: NDArray[np.floating],
) -> list[LinearProbe]:
    """Fit one probe to the first labels of each problem, all in the same passes: see `fit_targets`."""
    return fit_targets(probe, X, [one.train.labels for one in problems], X_dev, [one.dev.labels for one in problems])


def fitted_facts(estimator: LinearProbe) -> dict[str, float]:
    """Return the penalty kept, the iterations of the fit, and the mean cross-entropy on train in bits."""
    return {
        "l2_penalty": float(estimator.penalty_),
        "iterations": float(estimator.n_iter_),
        "train_cross_entropy_bits": float(estimator.cross_entropy_ / np.log(2)),
    }


def _gold(split: Split) -> list[tuple[str, ...]]:
    return [example.labels for example in split.examples]


def _groups(split: Split) -> list[str]:
    return [str(example.group) for example in split.examples]
