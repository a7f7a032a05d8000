"""The linear probe: scikit-learn's contract, scikit-learn's optimum, and the choice of a penalty on dev."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from probing.probes import LinearProbe
from probing.probes.base import Problem
from probing.probes.linear import LinearConfig, fit_targets
from probing.tasks import Example, PosTask, Split
from tests.probing.probes.toy_problems import labelled


@parametrize_with_checks([LinearProbe(), LinearProbe(standardize=False)])  # type: ignore[untyped-decorator]
def test_it_keeps_scikit_learns_contract(estimator: LinearProbe, check: Callable[[LinearProbe], None]) -> None:
    check(estimator)


def objective(X: NDArray[Any], y: NDArray[Any], weights: NDArray[Any], bias: NDArray[Any], penalty: float) -> float:
    """Mean cross-entropy plus penalty / 2 * ||W||^2, in float64, by the definition. W is (n_features, n_classes)."""
    scores = X.astype(np.float64) @ weights + bias
    scores -= scores.max(axis=1, keepdims=True)
    log_probabilities = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return float(-log_probabilities[np.arange(len(y)), y].mean() + penalty / 2 * np.square(weights).sum())


def compare_with_scikit_learn(X: NDArray[Any], y: NDArray[Any], penalty: float) -> tuple[float, float]:
    """Return the objective reached by the probe and by LogisticRegression, both for the standardised features."""
    scaler = StandardScaler().fit(X.astype(np.float64))
    scaled = scaler.transform(X.astype(np.float64))
    reference = LogisticRegression(C=1 / (len(y) * penalty), tol=1e-8, max_iter=5000).fit(scaled, y)
    codes = np.searchsorted(reference.classes_, y)
    probe = LinearProbe(penalty).fit(X, y)
    weights = probe.coef_.T * scaler.scale_[:, np.newaxis]
    bias = probe.intercept_ + scaler.mean_ @ probe.coef_.T
    ours = objective(scaled, codes, weights, bias, penalty)
    assert probe.objective_ == pytest.approx(ours, rel=1e-5)
    return ours, objective(scaled, codes, reference.coef_.T, reference.intercept_, penalty)


@pytest.mark.parametrize("penalty", [1e-4, 1e-2, 1.0])
def test_it_reaches_the_optimum_of_logistic_regression_on_digits_P37(penalty: float) -> None:
    X, y = load_digits(return_X_y=True)
    ours, reference = compare_with_scikit_learn(X.astype(np.float32), y, penalty)
    assert ours == pytest.approx(reference, rel=1e-4)


@pytest.mark.real_data
def test_it_reaches_the_optimum_of_logistic_regression_on_ewt_features_P37(data_dir: Path, tmp_path: Path) -> None:
    from probing.encoders import BilmEncoderConfig
    from probing.features import FeatureStore

    dev = PosTask(corpus="ud-english-ewt").load()["dev"]
    some = Split(dev.sentences[:600], [example for example in dev.examples if example.sentence < 600])
    encoder = BilmEncoderConfig(bilm="golden/allennlp-elmo").build(None)
    X = FeatureStore(tmp_path).get(encoder, some, "test").view("1")
    ours, reference = compare_with_scikit_learn(X, some.labels, 1e-4)
    assert ours == pytest.approx(reference, rel=1e-4)


@pytest.fixture(scope="module")
def problem() -> dict[str, NDArray[Any]]:
    """Three noisy classes in eight dimensions of very different scale, for train and dev."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, 8))
    y, y_dev = rng.integers(3, size=300), rng.integers(3, size=120)
    scale = np.logspace(-3, 3, 8)
    X, X_dev = (scale * (centres[labels] + 1.5 * rng.normal(size=(len(labels), 8))) + 7 for labels in (y, y_dev))
    names = np.array(["c", "a", "b"])
    return {"X": X.astype(np.float32), "y": names[y], "X_dev": X_dev.astype(np.float32), "y_dev": names[y_dev]}


def test_penalties_together_give_what_each_gives_alone(problem: dict[str, NDArray[Any]]) -> None:
    penalties = (1e-4, 1e-2, 1.0)
    together = LinearProbe(penalties).fit(**problem)
    assert set(together.dev_accuracy_) == set(penalties)
    for penalty in penalties:
        alone = LinearProbe(penalty).fit(problem["X"], problem["y"])
        assert together.dev_accuracy_[penalty] == pytest.approx(alone.score(problem["X_dev"], problem["y_dev"]))
    best = max(together.dev_accuracy_.values())
    assert together.penalty_ == max(p for p, accuracy in together.dev_accuracy_.items() if accuracy == best)


def test_of_equally_good_penalties_the_largest_is_kept() -> None:
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    y = np.array([0, 0, 1, 1])
    assert LinearProbe((1e-3, 1e-1, 1e-2)).fit(X, y, X, y).penalty_ == 1e-1


def test_several_targets_in_one_go_give_what_each_gives_alone(problem: dict[str, NDArray[Any]]) -> None:
    y, y_dev = problem["y"], problem["y_dev"]
    targets, dev_targets = [y, np.where(y == "a", "A", "other")], [y_dev, np.where(y_dev == "a", "A", "other")]
    probe = LinearProbe((1e-3, 1e-1))
    together = fit_targets(probe, problem["X"], targets, problem["X_dev"], dev_targets)
    for fitted, target, dev_target in zip(together, targets, dev_targets, strict=True):
        alone = LinearProbe((1e-3, 1e-1)).fit(problem["X"], target, problem["X_dev"], dev_target)
        assert fitted.penalty_ == alone.penalty_
        np.testing.assert_allclose(
            fitted.predict_proba(problem["X_dev"]), alone.predict_proba(problem["X_dev"]), atol=2e-3
        )


def test_targets_with_penalties_of_their_own_give_what_each_gives_alone(problem: dict[str, NDArray[Any]]) -> None:
    targets = [problem["y"], np.where(problem["y"] == "a", "A", "other"), problem["y"][::-1]]
    dev_targets = [problem["y_dev"], None, None]
    probes = [LinearProbe((1e-3, 1e-1), tolerance=1e-9), LinearProbe(1.0, tolerance=1e-9)]
    probes.append(LinearProbe(1e-2, tolerance=1e-9))
    together = fit_targets(probes, problem["X"], targets, problem["X_dev"], dev_targets)
    for fitted, probe, target, dev_target in zip(together, probes, targets, dev_targets, strict=True):
        alone = probe.fit(problem["X"], target, None if dev_target is None else problem["X_dev"], dev_target)
        assert (fitted.penalty_, fitted.dev_accuracy_) == (alone.penalty_, alone.dev_accuracy_)
        assert fitted.objective_ == pytest.approx(alone.objective_, rel=1e-6)


def test_targets_fitted_together_may_differ_in_their_penalties_only(problem: dict[str, NDArray[Any]]) -> None:
    with pytest.raises(ValueError, match="may differ in their penalties only"):
        fit_targets([LinearProbe(1.0), LinearProbe(1.0, tolerance=1e-3)], problem["X"], [problem["y"]] * 2)


def cross_entropy_bits(probe: LinearProbe, X: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    chosen = probe.predict_proba(X)[np.arange(len(y)), np.searchsorted(probe.classes_, y)]
    bits: NDArray[np.float64] = -np.log2(chosen)
    return bits


def test_by_surprisal_the_penalty_of_fewest_bits_on_dev_is_kept(problem: dict[str, NDArray[Any]]) -> None:
    penalties = (1e-6, 1e-3, 1e-1, 10.0)
    probe = LinearProbe(penalties, choose_by="surprisal").fit(**problem)
    for penalty, found in probe.dev_bits_.items():
        alone = LinearProbe(penalty).fit(problem["X"], problem["y"])
        bits = cross_entropy_bits(alone, problem["X_dev"], problem["y_dev"]).mean()
        assert found == pytest.approx(bits, rel=1e-2)
    assert set(probe.dev_bits_) == set(penalties)
    assert probe.penalty_ == min(penalties, key=lambda penalty: probe.dev_bits_[penalty])
    assert LinearProbe(penalties).fit(**problem).dev_bits_ == {}
    with pytest.raises(ValueError, match="chosen by accuracy or surprisal"):
        LinearProbe(choose_by="luck").fit(problem["X"], problem["y"])


def test_the_cross_entropy_on_train_is_that_of_its_probabilities(problem: dict[str, NDArray[Any]]) -> None:
    train, dev = labelled(problem["y"].tolist()), labelled(problem["y_dev"].tolist())
    config = LinearConfig(penalties=(1e-1,))
    (probe,) = config.fit([Problem(train, dev, None, {})], problem["X"], problem["X_dev"])
    assert isinstance(probe, LinearProbe)
    facts = config.facts(probe)
    expected = cross_entropy_bits(probe, problem["X"], problem["y"]).mean()
    assert facts["train_cross_entropy_bits"] == pytest.approx(expected, rel=1e-5)
    assert facts["l2_penalty"] == 1e-1


def test_answers_have_the_bits_of_all_gold_labels_together(problem: dict[str, NDArray[Any]]) -> None:
    train, dev = labelled(problem["y"].tolist()), labelled(problem["y_dev"].tolist())
    config = LinearConfig(penalties=(1e-2,))
    (probe,) = config.fit([Problem(train, dev, None, {})], problem["X"], problem["X_dev"])
    answers = config.answer(probe, problem["X_dev"], dev)
    assert isinstance(probe, LinearProbe)
    assert answers.labels.tolist() == probe.predict(problem["X_dev"]).tolist()
    assert answers.bits is not None
    np.testing.assert_allclose(
        answers.bits, cross_entropy_bits(probe, problem["X_dev"], problem["y_dev"]), rtol=1e-6, atol=1e-9
    )
    several = Split(dev.sentences, [Example(0, 0, 1, ("a", "b"), "w"), Example(0, 1, 2, ("new",), "w")])
    bits = config.answer(probe, problem["X_dev"][:2], several).bits
    assert bits is not None
    # One label is new to a probe of 300 examples: 300/301 of the probability is left to the known ones.
    a, b, _ = probe.predict_proba(problem["X_dev"][:1])[0] * 300 / 301
    assert bits.tolist() == pytest.approx([-np.log2(a + b), np.log2(301)])


def test_the_scale_and_the_place_of_a_feature_change_nothing(problem: dict[str, NDArray[Any]]) -> None:
    one = LinearProbe(1e-2).fit(problem["X"], problem["y"]).predict_proba(problem["X_dev"])
    other = LinearProbe(1e-2).fit(100 * problem["X"] - 3, problem["y"]).predict_proba(100 * problem["X_dev"] - 3)
    np.testing.assert_allclose(one, other, atol=2e-3)


def test_the_order_of_examples_changes_nothing(problem: dict[str, NDArray[Any]]) -> None:
    order = np.random.default_rng(1).permutation(len(problem["y"]))
    one = LinearProbe(1e-2).fit(problem["X"], problem["y"]).predict_proba(problem["X_dev"])
    other = LinearProbe(1e-2).fit(problem["X"][order], problem["y"][order]).predict_proba(problem["X_dev"])
    np.testing.assert_allclose(one, other, atol=2e-3)


def test_the_same_data_give_the_same_bytes(problem: dict[str, NDArray[Any]]) -> None:
    one, other = (LinearProbe(1e-3).fit(problem["X"], problem["y"]) for _ in range(2))
    assert one.coef_.tobytes() == other.coef_.tobytes()


def test_a_label_that_train_lacks_counts_as_wrong_on_dev_P34(problem: dict[str, NDArray[Any]]) -> None:
    y_dev = problem["y_dev"].copy()
    y_dev[:60] = "z"
    probe = LinearProbe((1e-2, 1e-1)).fit(problem["X"], problem["y"], problem["X_dev"], y_dev)
    assert max(probe.dev_accuracy_.values()) <= 0.5
    assert probe.score(problem["X_dev"], y_dev) <= 0.5


def test_several_penalties_need_dev_and_one_class_is_refused_P35(problem: dict[str, NDArray[Any]]) -> None:
    with pytest.raises(ValueError, match="to choose from 2 penalties, fit needs X_dev and y_dev"):
        LinearProbe((1e-3, 1e-2)).fit(problem["X"], problem["y"])
    with pytest.raises(ValueError, match=r"one class only \(a\)"):
        LinearProbe().fit(problem["X"], np.full(300, "a"))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_refused_P38(problem: dict[str, NDArray[Any]], value: float) -> None:
    X = problem["X"].copy()
    X[17, 3] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        LinearProbe().fit(X, problem["y"])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("label_dtype", [np.int32, np.int64, np.uint8])
def test_any_type_of_number_is_taken_P39(dtype: type[Any], label_dtype: type[Any]) -> None:
    X = np.random.default_rng(0).normal(size=(60, 4)).astype(dtype)
    y = (X[:, 0] > 0).astype(label_dtype)
    probe = LinearProbe(1e-2).fit(X, y)
    assert probe.score(X, y) > 0.9
    assert probe.predict(X).dtype == label_dtype


def test_a_memory_mapped_matrix_gives_the_same_as_one_in_memory(
    problem: dict[str, NDArray[Any]], tmp_path: Path
) -> None:
    np.save(tmp_path / "X.npy", problem["X"])
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    one, other = (LinearProbe(1e-3).fit(X, problem["y"]) for X in (problem["X"], mapped))
    assert one.coef_.tobytes() == other.coef_.tobytes()
