"""The solver: values that a hand or another optimiser can find, and one problem among many like the same alone."""

import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

from probing.probes.softmax_regression import solve


def test_two_points_have_the_optimum_of_a_function_of_one_number() -> None:
    # By symmetry the weights are (-w, w) and the bias 0: minimise log(1 + exp(-2 w)) + penalty w^2 over w.
    penalty = 0.1
    expected = minimize_scalar(lambda w: np.log1p(np.exp(-2 * w)) + penalty * w * w)
    ((solution,),) = solve(np.array([[-1.0], [1.0]]), [np.array([0, 1])], [penalty], standardize=False, tolerance=1e-9)
    assert solution.objective == pytest.approx(expected.fun, rel=1e-8)
    np.testing.assert_allclose(solution.weights, [[-expected.x, expected.x]], rtol=1e-3)
    np.testing.assert_allclose(solution.bias, [0, 0], atol=1e-6)


def test_without_information_the_bias_is_the_share_of_each_class() -> None:
    ((solution,),) = solve(np.zeros((10, 2)), [np.array([0] * 7 + [1] * 2 + [2])], [1e-3])
    share = np.exp(solution.bias) / np.exp(solution.bias).sum()
    np.testing.assert_allclose(share, [0.7, 0.2, 0.1], rtol=1e-6)
    entropy = -(0.7 * np.log(0.7) + 0.2 * np.log(0.2) + 0.1 * np.log(0.1))
    assert solution.objective == pytest.approx(entropy, rel=1e-6)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 5), penalty=st.sampled_from([1e-3, 1e-2, 0.3]))
def test_the_optimum_is_that_of_a_general_optimiser(seed: int, n_classes: int, penalty: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=80 - n_classes)])

    def objective(flat: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        point = flat.reshape(4, n_classes)
        scores = X @ point[:3] + point[3]
        log_probabilities = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
        return float(-log_probabilities[np.arange(80), y].mean() + penalty / 2 * np.square(point[:3]).sum())

    expected = minimize(objective, np.zeros(4 * n_classes), method="BFGS").fun
    ((solution,),) = solve(X, [y], [penalty], standardize=False, tolerance=1e-8)
    assert solution.objective == pytest.approx(expected, rel=1e-6)
    found = objective(np.concatenate([solution.weights, solution.bias[np.newaxis]]).ravel())
    assert solution.objective == pytest.approx(found, rel=1e-8)


def test_a_problem_among_many_is_solved_as_if_alone() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 6)).astype(np.float32)
    targets = [(X[:, 0] + rng.normal(size=500) > 0).astype(int), rng.integers(4, size=500)]
    together = solve(X, targets, [1e-3, 1e-1], tolerance=1e-7)
    for target, group in zip(targets, together, strict=True):
        for penalty, solution in zip([1e-3, 1e-1], group, strict=True):
            ((alone,),) = solve(X, [target], [penalty], tolerance=1e-7)
            assert solution.objective == pytest.approx(alone.objective, rel=1e-6)


def test_very_wide_features_have_the_same_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 6)) @ rng.normal(size=(6, 6))
    y = (X[:, :3] + rng.normal(size=(400, 3))).argmax(axis=1)
    ((narrow,),) = solve(X, [y], [1e-3], tolerance=1e-8)
    monkeypatch.setattr("probing.probes.softmax_regression._WIDEST", 5)
    ((wide,),) = solve(X, [y], [1e-3], tolerance=1e-8)
    assert wide.objective == pytest.approx(narrow.objective, rel=1e-7)


def test_a_constant_feature_is_no_feature() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3)).astype(np.float32)
    y = (X[:, 0] > 0.3).astype(int)
    ((without,),) = solve(X, [y], [1e-2])
    ((with_it,),) = solve(np.hstack([X, np.full((200, 1), 5.0, np.float32)]), [y], [1e-2])
    assert with_it.objective == pytest.approx(without.objective, rel=1e-6)
    np.testing.assert_allclose(with_it.weights[3], 0, atol=1e-6)


def test_running_out_of_iterations_is_said(caplog: pytest.LogCaptureFixture) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(300, 5)), rng.integers(3, size=300)
    with caplog.at_level(logging.WARNING):
        ((solution,),) = solve(X, [y], [1e-3], tolerance=1e-12, max_iterations=2)
    assert not solution.converged
    assert "did not converge in 2 iterations" in caplog.text


@pytest.mark.parametrize(("target", "penalty"), [([0, 0, 0], 1e-3), ([0, 2, 0], 1e-3), ([0, 1, 0], 0.0)])
def test_what_has_no_optimum_is_refused(target: list[int], penalty: float) -> None:
    with pytest.raises(ValueError, match=r"penalties must be positive|at least two classes"):
        solve(np.eye(3), [np.array(target)], [penalty])
