"""The MLP probe: scikit-learn's contract, what it learns that a linear probe cannot, seeds, and what it answers."""

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.utils.estimator_checks import parametrize_with_checks

from probing.probes import LinearProbe, MLPProbe, Problem
from probing.probes.mlp import MLPConfig
from probing.tasks import Example, Split


@parametrize_with_checks([MLPProbe(hidden=32, learning_rate=0.02)])  # type: ignore[untyped-decorator]
def test_it_keeps_the_contract_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def exclusive_or(n: int, seed: int) -> tuple[NDArray[np.float32], NDArray[Any]]:
    X = np.random.default_rng(seed).normal(size=(n, 4)).astype(np.float32)
    return X, np.where((X[:, 0] > 0) ^ (X[:, 1] > 0), "odd", "even")


def test_it_learns_an_exclusive_or_which_a_linear_probe_cannot() -> None:
    X, y = exclusive_or(2000, 0)
    X_test, y_test = exclusive_or(1000, 1)
    assert MLPProbe(64, learning_rate=0.01).fit(X, y, X_test, y_test).score(X_test, y_test) > 0.95
    assert LinearProbe().fit(X, y).score(X_test, y_test) < 0.6


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    X, y = exclusive_or(300, 0)
    sentences = np.arange(300) // 5

    def fitted(seed: int) -> bytes:
        probe = MLPProbe(8, max_epochs=2, random_state=seed).fit(X, y, X, y, sentences)
        return pickle.dumps((probe.predict_log_proba(X), probe.dev_losses_))

    assert fitted(1) == fitted(1)
    assert fitted(1) != fitted(2)


def test_probabilities_are_those_of_the_plain_formula() -> None:
    X, y = exclusive_or(300, 0)
    probe = MLPProbe(8, max_epochs=2).fit(X, y)
    first, first_bias, second, second_bias = (p.numpy() for p in probe.network_.parameters())
    hidden = np.maximum((X - X.mean(0, dtype=float)) / X.std(0, dtype=float) @ first.T + first_bias, 0)
    scores = hidden @ second.T + second_bias
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert probe.predict_proba(X) == pytest.approx(expected, abs=1e-9)


def test_the_best_epoch_is_the_one_whose_cross_entropy_on_dev_the_fitted_probe_has() -> None:
    """On few noisy examples it overfits, so the best epoch is not the last."""
    X, y = exclusive_or(100, 0)
    y = np.random.default_rng(0).permutation(y)
    X_dev, y_dev = exclusive_or(1000, 1)
    probe = MLPProbe(64, learning_rate=0.01).fit(X, y, X_dev, y_dev)
    log_proba = probe.predict_log_proba(X_dev)
    loss = -log_proba[np.arange(1000), np.searchsorted(probe.classes_, y_dev)].mean()
    assert loss == pytest.approx(min(probe.dev_losses_), rel=1e-5)
    assert probe.n_iter_ == len(probe.dev_losses_) < 40
    assert probe.dev_losses_[-1] > min(probe.dev_losses_)


def test_dev_has_to_come_with_labels_of_which_train_has_some() -> None:
    X, y = exclusive_or(20, 0)
    with pytest.raises(ValueError, match="no label of dev occurs in the training data"):
        MLPProbe(2).fit(X, y, X, np.full(20, "new"))
    with pytest.raises(ValueError, match="X_dev and y_dev belong together"):
        MLPProbe(2).fit(X, y, X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MLPProbe(2).fit(X, y, X, y[:5])


@pytest.mark.parametrize("name", ["learning_rate", "sentences_per_batch", "patience", "max_epochs"])
def test_a_hyper_parameter_that_is_not_positive_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is greater than 0, not 0"):
        MLPProbe(2).set_params(**{name: 0}).fit(*exclusive_or(20, 0))


def split(labels: list[str]) -> Split:
    return Split(
        [], [Example(index // 4, index % 4, index % 4 + 1, (label,), "") for index, label in enumerate(labels)]
    )


def test_a_label_that_train_lacks_is_answered_wrongly_at_finite_cost() -> None:
    X, y = exclusive_or(200, 0)
    train, dev = split(y.tolist()), split(["new", *y[1:].tolist()])
    config = MLPConfig(hidden=16)
    (probe,) = config.fit([Problem(train, dev, 5, {})], X, X)
    assert probe.random_state == 5 and probe.hidden == 16
    answers = config.answer(probe, X, dev)
    assert answers.bits is not None and np.isfinite(answers.bits).all() and (answers.bits >= 0).all()
    assert answers.bits[0] == pytest.approx(np.log2(201))
    assert answers.labels[0] in ("even", "odd")
    assert answers.answered.all()
    assert config.facts(probe) == {"epochs": probe.n_iter_, "parameters": 4 * 16 + 16 + 16 * 2 + 2}
