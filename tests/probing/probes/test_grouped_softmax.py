"""The solver against scikit-learn, group by group; the masked probe: its choice of a penalty and whom it answers."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from probing.probes.grouped_softmax import Group, GroupSolution, solve_groups
from probing.probes.masked_linear import MaskedLinearProbe

DIM = 12
PENALTIES = (1e-1, 1e-2, 1e-3, 1e-4)


def random_group(rng: np.random.Generator, rows: NDArray[Any], n_classes: int, several: float = 0.2) -> Group:
    """Return a group with all its classes among the rows' targets, some rows with two of them."""
    classes = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=len(rows) - n_classes)])
    targets = np.eye(n_classes, dtype=np.float32)[classes]
    both = rng.random(len(rows)) < several
    targets[both, (classes[both] + 1) % n_classes] = 1
    return Group(rows, targets / targets.sum(axis=1, keepdims=True))


def random_problem(seed: int, sizes: list[tuple[int, int]]) -> tuple[NDArray[np.float32], list[Group]]:
    """Return features that tell the classes apart with some noise, and a group for each (n_rows, n_classes)."""
    rng = np.random.default_rng(seed)
    n_examples = sum(n_rows for n_rows, _ in sizes)
    X = rng.normal(size=(n_examples, DIM)) @ rng.normal(size=(DIM, DIM))
    rows = np.split(rng.permutation(n_examples), np.cumsum([n_rows for n_rows, _ in sizes])[:-1])
    groups = [random_group(rng, own, n_classes) for own, (_, n_classes) in zip(rows, sizes, strict=True)]
    for group in groups:
        X[group.rows] += group.targets @ rng.normal(size=(group.targets.shape[1], DIM))
    return X.astype(np.float32), groups


def standard(X: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)


def log_probabilities(X: NDArray[Any], weights: NDArray[Any], bias: NDArray[Any]) -> NDArray[np.float64]:
    scores: NDArray[np.float64] = X @ weights.T.astype(np.float64) + bias
    scores -= scores.max(axis=1, keepdims=True)
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return scores


def objective(X: NDArray[Any], group: Group, weights: NDArray[Any], bias: NDArray[Any], penalty: float) -> float:
    """Return the group's share by the definition; X is standardised and of all groups, so len(X) is n_total."""
    loss = -(group.targets * log_probabilities(X[group.rows], weights, bias)).sum() / len(X)
    return float(loss + penalty / 2 * np.square(weights, dtype=np.float64).sum())


def reference(X: NDArray[Any], group: Group, penalty: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return scikit-learn's weights and bias; an example with two classes is given twice, with half the weight."""
    n_classes = group.targets.shape[1]
    example, label = np.nonzero(group.targets)
    # With two classes scikit-learn has one vector w, which stands for weights -w / 2 and w / 2: half the penalty.
    strength = len(X) * penalty / (2 if n_classes == 2 else 1)
    model = LogisticRegression(C=1 / strength, tol=1e-9, max_iter=20_000)
    model.fit(X[group.rows][example], label, sample_weight=group.targets[example, label])
    if n_classes == 2:
        return np.vstack([-model.coef_, model.coef_]) / 2, np.append(-model.intercept_, model.intercept_) / 2
    return model.coef_, model.intercept_


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    shapes=st.lists(st.tuples(st.integers(0, 60), st.integers(2, 12)), min_size=1, max_size=4),
)
def test_each_group_reaches_scikit_learns_optimum(seed: int, shapes: list[tuple[int, int]]) -> None:
    X, groups = random_problem(seed, [(n_classes + more, n_classes) for more, n_classes in shapes])
    mean, scale = standard(X)
    scaled = (X - mean) / scale
    for group, solutions in zip(
        groups, solve_groups(X, mean, scale, groups, PENALTIES, n_total=len(X), tolerance=1e-7), strict=True
    ):
        for penalty, solution in zip(PENALTIES, solutions, strict=True):
            weights, bias = reference(scaled, group, penalty)
            expected = objective(scaled, group, weights, bias, penalty)
            assert solution.converged
            assert solution.objective == pytest.approx(expected, rel=1e-4)
            found = objective(scaled, group, solution.weights, solution.bias, penalty)
            assert solution.objective == pytest.approx(found, rel=1e-5)
            np.testing.assert_allclose(
                np.exp(log_probabilities(scaled, solution.weights, solution.bias)),
                np.exp(log_probabilities(scaled, weights, bias)),
                atol=1e-3,
            )


def test_the_gap_that_is_claimed_bounds_the_gap_that_is_left() -> None:
    X, groups = random_problem(0, [(5, 2), (9, 3), (40, 4), (200, 7)])
    loosely, tightly = (
        solve_groups(X, *standard(X), groups, (1e-3, 1e-5), n_total=len(X), tolerance=tolerance)
        for tolerance in (1e-3, 1e-12)
    )
    for loose, tight in zip(loosely, tightly, strict=True):
        for one, best in zip(loose, tight, strict=True):
            assert one.gap <= 1e-3
            assert one.objective <= best.objective * (1 + one.gap) + 1e-12


def same(one: GroupSolution, other: GroupSolution) -> None:
    assert one.objective == pytest.approx(other.objective, rel=1e-9)
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-6)
    np.testing.assert_allclose(one.bias, other.bias, atol=1e-6)


MIXED = [(2, 2), (3, 3), (4, 2), (6, 4), (7, 2), (11, 5), (12, 4), (13, 4), (30, 6), (31, 9), (250, 3)]


@pytest.mark.parametrize("batch_numbers", [2**21, 2 * 13 * DIM])
def test_a_group_alone_equals_the_same_group_in_company(batch_numbers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("probing.probes.grouped_softmax._BATCH_NUMBERS", batch_numbers)
    X, groups = random_problem(1, MIXED * 2)
    together = solve_groups(X, *standard(X), groups, PENALTIES, n_total=len(X))
    for group, solutions in zip(groups, together, strict=True):
        (alone,) = solve_groups(X, *standard(X), [group], PENALTIES, n_total=len(X))
        for one, other in zip(solutions, alone, strict=True):
            same(one, other)


def test_the_order_of_groups_examples_and_penalties_changes_nothing() -> None:
    X, groups = random_problem(2, MIXED)
    rng = np.random.default_rng(3)
    orders = [rng.permutation(len(group.rows)) for group in groups]
    other_way = [Group(g.rows[order], g.targets[order]) for g, order in zip(groups, orders, strict=True)][::-1]
    one = solve_groups(X, *standard(X), groups, PENALTIES, n_total=len(X))
    other = solve_groups(X, *standard(X), other_way, PENALTIES[::-1], n_total=len(X))
    for solutions, reverse in zip(one, reversed(other), strict=True):
        for solution, twin in zip(solutions, reversed(reverse), strict=True):
            same(solution, twin)


def test_the_same_data_give_the_same_bytes_also_from_a_memory_map(tmp_path: Path) -> None:
    X, groups = random_problem(4, MIXED)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    one, other = (solve_groups(x, *standard(X), groups, PENALTIES, n_total=len(X)) for x in (X, mapped))
    for solutions, twins in zip(one, other, strict=True):
        for solution, twin in zip(solutions, twins, strict=True):
            assert solution.weights.tobytes() == twin.weights.tobytes()
            assert solution.bias.tobytes() == twin.bias.tobytes()


def test_under_a_large_penalty_the_probabilities_are_the_shares_of_the_classes() -> None:
    X, groups = random_problem(5, [(8, 3), (100, 4)])
    for group, (solution,) in zip(
        groups, solve_groups(X, *standard(X), groups, [1e8], n_total=len(X), tolerance=1e-12), strict=True
    ):
        np.testing.assert_allclose(solution.weights, 0, atol=1e-6)
        probabilities = np.exp(solution.bias) / np.exp(solution.bias).sum()
        np.testing.assert_allclose(probabilities, group.targets.mean(axis=0), atol=1e-5)


def test_repeated_and_constant_examples_have_an_optimum_too() -> None:
    X = np.zeros((6, DIM), dtype=np.float32)
    X[3:] = 1
    targets = np.eye(2, dtype=np.float32)[[0, 0, 1, 1, 1, 0]]
    two, one = Group(np.arange(6), targets), Group(np.arange(3), targets[:3])
    (split,), (constant,) = solve_groups(X, np.zeros(DIM), np.ones(DIM), [two, one], [1e-2], n_total=6)
    expected = objective(X, two, *reference(X, two, 1e-2), 1e-2)
    assert split.objective == pytest.approx(expected, rel=1e-4)
    np.testing.assert_allclose(constant.weights, 0, atol=1e-9)
    np.testing.assert_allclose(np.exp(constant.bias) / np.exp(constant.bias).sum(), [2 / 3, 1 / 3], rtol=1e-6)


def test_a_class_without_examples_has_no_chance_and_a_single_class_no_weights() -> None:
    X, (group,) = random_problem(6, [(20, 3)])
    more = Group(group.rows, np.insert(group.targets, 1, 0, axis=1))
    only = Group(group.rows, np.insert(np.zeros((20, 1), np.float32), 0, 1, axis=1))
    one_column = Group(group.rows, np.ones((20, 1), dtype=np.float32))
    found = solve_groups(X, *standard(X), [group, more, only, one_column], [1e-2], n_total=20)
    (without,), (with_it,), (single,), (lone,) = found
    np.testing.assert_allclose(np.delete(with_it.weights, 1, axis=0), without.weights, atol=1e-6)
    assert with_it.bias[1] == -np.inf
    assert not with_it.weights[1].any()
    for solution, bias in ((single, [0, -np.inf]), (lone, [0])):
        assert solution.converged
        assert solution.objective == 0
        assert not solution.weights.any()
        np.testing.assert_array_equal(solution.bias, bias)


def test_running_out_of_steps_is_said(caplog: pytest.LogCaptureFixture) -> None:
    X, groups = random_problem(7, [(50, 3), (60, 4)])
    with caplog.at_level(logging.WARNING):
        found = solve_groups(X, *standard(X), groups, [1e-3], n_total=110, tolerance=1e-12, max_iterations=1)
    assert not any(solution.converged for solutions in found for solution in solutions)
    assert "2 of 2 softmax regressions did not converge in 1 steps" in caplog.text


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_refused(value: float) -> None:
    X, groups = random_problem(8, [(10, 2)])
    X[3, 5] = value
    with pytest.raises(ValueError, match="NaN or infinity"):
        solve_groups(X, np.zeros(DIM), np.ones(DIM), groups, [1e-2], n_total=10)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        MaskedLinearProbe().fit(X, [("a",), ("b",)] * 5, ["g"] * 10)


@pytest.mark.parametrize(
    ("targets", "penalty", "message"),
    [
        (np.eye(3), 0.0, "penalties must be positive"),
        (np.eye(2), 1.0, r"group 0 has 3 rows and targets of shape \(2, 2\)"),
        (np.eye(3) / 2, 1.0, "group 0 has an example whose targets do not sum to 1"),
    ],
)
def test_what_is_no_problem_is_refused(targets: NDArray[Any], penalty: float, message: str) -> None:
    group = Group(np.arange(3), targets.astype(np.float32))
    with pytest.raises(ValueError, match=message):
        solve_groups(np.eye(3), np.zeros(3), np.ones(3), [group], [penalty], n_total=3)


Words = dict[str, Any]


@pytest.fixture(scope="module")
def words() -> dict[str, Words]:
    """Train and dev of three lemmas: `bank` with three senses, `run` with two, `cat` with one."""
    rng = np.random.default_rng(9)
    senses = {"bank": ("bank%c", "bank%a", "bank%b"), "run": ("run%1", "run%2"), "cat": ("cat%1",)}
    centres = {sense: rng.normal(size=DIM) for own in senses.values() for sense in own}
    splits = {}
    for split, size in (("train", 150), ("dev", 60)):
        groups = rng.choice(["bank", "bank", "run", "cat"], size=size).tolist()
        gold: list[tuple[str, ...]] = [(senses[group][rng.integers(len(senses[group]))],) for group in groups]
        X = np.array([centres[labels[0]] + 1.2 * rng.normal(size=DIM) for labels in gold]) * np.logspace(-2, 2, DIM) + 5
        # Every tenth example of `bank` has a second sense.
        for i in range(0, size, 10):
            if groups[i] == "bank":
                gold[i] = tuple(dict.fromkeys((*gold[i], "bank%a")))
        splits[split] = {"X": X.astype(np.float32), "gold": gold, "groups": groups}
    return splits


def fitted(words: dict[str, Words], penalty: float | tuple[float, ...], **settings: Any) -> MaskedLinearProbe:
    dev = words["dev"]
    return MaskedLinearProbe(penalty, **settings).fit(
        **words["train"], X_dev=dev["X"], dev_gold=dev["gold"], dev_groups=dev["groups"]
    )


def test_of_several_penalties_the_best_on_dev_is_kept_and_of_equals_the_largest(words: dict[str, Words]) -> None:
    penalties = (1e-4, 1e3, 1e-2, 1e4)
    probe = fitted(words, penalties)
    assert set(probe.dev_accuracy_) == set(penalties)
    dev = words["dev"]
    for penalty in penalties:
        alone = MaskedLinearProbe(penalty).fit(**words["train"])
        labels, answered = alone.predict(dev["X"], dev["groups"])
        assert answered.all()
        right = [label in gold for label, gold in zip(labels.tolist(), dev["gold"], strict=True)]
        assert probe.dev_accuracy_[penalty] == pytest.approx(np.mean(right))
        assert alone.dev_accuracy_ == {}
        if penalty == probe.penalty_:
            np.testing.assert_allclose(probe.coef_["bank"], alone.coef_["bank"], rtol=1e-2, atol=1e-3)
    best = max(probe.dev_accuracy_.values())
    assert probe.penalty_ == max(p for p, accuracy in probe.dev_accuracy_.items() if accuracy == best)
    assert probe.dev_accuracy_[1e3] == probe.dev_accuracy_[1e4]
    assert fitted(words, (1e3, 1e4)).penalty_ == 1e4


def test_its_objective_is_that_of_one_softmax_masked_to_the_group(words: dict[str, Words]) -> None:
    probe, train = fitted(words, 1e-2), words["train"]
    mean, scale = standard(train["X"])
    scaled = (train["X"] - mean) / scale
    total = 0.0
    for name, labels in probe.classes_.items():
        rows = np.array([i for i, group in enumerate(train["groups"]) if group == name])
        shares = np.array([[(x in train["gold"][i]) / len(train["gold"][i]) for x in labels] for i in rows])
        if len(labels) > 1:
            weights = probe.coef_[name] * scale
            bias = probe.intercept_[name] + probe.coef_[name] @ mean
            total += objective(scaled, Group(rows, shares.astype(np.float32)), weights, bias, 1e-2)
    assert probe.objective_ == pytest.approx(total, rel=1e-4)
    assert probe.converged_ == 1
    assert probe.n_features_in_ == DIM


def test_the_scale_and_the_place_of_a_feature_change_nothing(words: dict[str, Words]) -> None:
    train, X = words["train"], words["dev"]["X"]
    one = MaskedLinearProbe(1e-2).fit(**train)
    other = MaskedLinearProbe(1e-2).fit(100 * train["X"] - 3, train["gold"], train["groups"])
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-4)
    assert (one.predict(X, words["dev"]["groups"])[0] == other.predict(100 * X - 3, words["dev"]["groups"])[0]).all()
    unscaled = MaskedLinearProbe(1e-2, standardize=False).fit(**train)
    assert unscaled.objective_ != pytest.approx(one.objective_, rel=1e-2)


def test_a_group_that_training_lacks_has_no_answer_and_does_not_count_on_dev(words: dict[str, Words]) -> None:
    dev = words["dev"]
    groups = ["dog" if i < 10 else group for i, group in enumerate(dev["groups"])]
    probe = MaskedLinearProbe(1e-2).fit(**words["train"], X_dev=dev["X"], dev_gold=dev["gold"], dev_groups=groups)
    labels, answered = probe.predict(dev["X"], groups)
    np.testing.assert_array_equal(answered, np.arange(len(groups)) >= 10)
    assert set(labels[:10].tolist()) == {""}
    right = [label in gold for label, gold in zip(labels[10:].tolist(), dev["gold"][10:], strict=True)]
    assert probe.dev_accuracy_[1e-2] == pytest.approx(np.mean(right))


def test_candidates_restrict_the_answer_to_those_that_were_trained(words: dict[str, Words]) -> None:
    probe = fitted(words, 1e-2)
    assert probe.classes_ == {"bank": ("bank%a", "bank%b", "bank%c"), "run": ("run%1", "run%2"), "cat": ("cat%1",)}
    X = np.repeat(words["dev"]["X"][:1], 6, axis=0)
    groups = ["bank", "bank", "bank", "bank", "cat", "cat"]
    candidates = [["bank%b"], ["bank%z", "bank%c"], ["bank%z"], [], [], ["cat%2"]]
    labels, answered = probe.predict(X, groups, candidates)
    free, _ = probe.predict(X, groups)
    assert labels.tolist() == ["bank%b", "bank%c", "", free[3], "cat%1", ""]
    assert answered.tolist() == [True, True, False, True, True, False]


def test_a_group_with_one_label_is_answered_with_it(words: dict[str, Words]) -> None:
    only = [i for i, group in enumerate(words["train"]["groups"]) if group == "cat"]
    train = {key: [value[i] for i in only] for key, value in words["train"].items()}
    probe = MaskedLinearProbe((1e-2, 1e-1)).fit(
        **train, X_dev=train["X"], dev_gold=train["gold"], dev_groups=["cat"] * len(only)
    )
    assert set(probe.predict(train["X"], train["groups"])[0].tolist()) == {"cat%1"}
    assert (probe.objective_, probe.converged_, probe.penalty_) == (0, 1, 1e-1)


def test_what_cannot_be_fitted_is_refused(words: dict[str, Words]) -> None:
    train = words["train"]
    with pytest.raises(ValueError, match="to choose from 2 penalties, fit needs X_dev"):
        MaskedLinearProbe((1e-3, 1e-2)).fit(**train)
    with pytest.raises(ValueError, match=r"training example 2 .* has no label"):
        MaskedLinearProbe().fit(train["X"], [*train["gold"][:2], (), *train["gold"][3:]], train["groups"])
    with pytest.raises(ValueError, match="150 vectors, but"):
        MaskedLinearProbe().fit(train["X"], train["gold"][1:], train["groups"])


def test_settings_are_only_stored_and_a_clone_is_not_fitted(words: dict[str, Words]) -> None:
    probe = fitted(words, (1e-3, 1e-2), tolerance=1e-4, max_iterations=50, standardize=False)
    twin = clone(probe)
    assert twin.get_params() == probe.get_params()
    assert not hasattr(twin, "coef_")
