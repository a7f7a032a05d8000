"""The online code: by hand, against a calculation of its own, and on data whose description lengths must differ."""

import logging
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from probing.probes.base import Problem
from probing.probes.mdl import MDLConfig, OnlineCode, cut_sentences
from probing.tasks import Example, Split
from tests.probing.probes.toy_problems import labelled, planted, split_of

GIVEN = {"train_cross_entropy_bits": 0.5}


def code(config: MDLConfig, X: NDArray[Any], labels: Any, X_dev: NDArray[Any], dev_labels: Any) -> OnlineCode:
    (found,) = config.fit([Problem(labelled(labels), labelled(dev_labels), 0, GIVEN)], X, X_dev)
    return found


def test_the_uniform_code_of_eight_labels_of_four_classes_is_sixteen_bits() -> None:
    labels = ["a", "b", "c", "d"] * 2
    found = code(MDLConfig(percents=(100,)), np.zeros((8, 1), np.float32), labels, np.zeros((1, 1), np.float32), ["a"])
    assert found.blocks_ == [(8, 16.0)]
    facts = MDLConfig().facts(found)
    assert facts == {
        "codelength_bits": 16,
        "uniform_codelength_bits": 16,
        "compression": 1,
        "data_bits": 4,
        "model_bits": 12,
    }


def independent_blocks(
    X: NDArray[Any], y: NDArray[Any], X_dev: NDArray[Any], y_dev: NDArray[Any], sizes: list[int], penalties: list[float]
) -> list[float]:
    """Return each block's bits, from the definition, for examples already in the order of the code."""
    inventory = np.unique(y)
    bits = [sizes[0] * np.log2(len(inventory))]
    for start, stop in zip(np.cumsum(sizes)[:-1], np.cumsum(sizes)[1:], strict=True):
        scaler = StandardScaler().fit(X[:start])
        models = [
            LogisticRegression(C=1 / (start * p), tol=1e-10, max_iter=10_000).fit(
                scaler.transform(X[:start]), y[:start]
            )
            for p in penalties
        ]

        def cost(model: Any, X: NDArray[Any], y: NDArray[Any], n: int, scaler: Any = scaler) -> NDArray[Any]:
            missing = len(inventory) - len(model.classes_)
            columns = dict(zip(model.classes_, model.predict_proba(scaler.transform(X)).T, strict=True))
            chosen = [
                columns[label][row] * n / (n + missing) if label in columns else 1 / (n + missing)
                for row, label in enumerate(y)
            ]
            result: NDArray[Any] = -np.log2(chosen)
            return result

        best = min(models, key=lambda model: cost(model, X_dev, y_dev, start).mean())
        bits.append(cost(best, X[start:stop], y[start:stop], start).sum())
    return bits


def test_every_block_costs_what_an_independent_calculation_says() -> None:
    rng = np.random.default_rng(3)
    X, y = planted(300, 4, 1.5, rng)
    X_dev, y_dev = planted(200, 4, 1.5, rng)
    # A class that the first blocks lack: its examples are in the sentences that come last.
    train = labelled(y.tolist())
    last = np.concatenate(cut_sentences(train, [100], 0))[-40:]
    y = np.where(y == "c3", "c0", y)
    y[last[::4]] = "c3"
    y_dev = np.where(y_dev == "c3", "c0", y_dev)
    config = MDLConfig(percents=(10, 30, 50, 100), penalties=(1e-3, 1e-1), tolerance=1e-9)
    found = code(config, X, y.tolist(), X_dev, y_dev.tolist())
    order = np.concatenate(cut_sentences(train, config.percents, 0))
    sizes = [n for n, _ in found.blocks_]
    assert sizes == [30, 60, 60, 150]
    expected = independent_blocks(X[order], y[order], X_dev, y_dev, sizes, list(config.penalties))
    assert [bits for _, bits in found.blocks_] == pytest.approx(expected, rel=1e-4)


def test_labels_that_are_noise_do_not_compress() -> None:
    rng = np.random.default_rng(0)
    X, X_dev = rng.normal(size=(4000, 8)).astype(np.float32), rng.normal(size=(500, 8)).astype(np.float32)
    labels, dev_labels = (np.array(list("abcd"))[rng.integers(4, size=n)] for n in (4000, 500))
    found = code(MDLConfig(), X, labels.tolist(), X_dev, dev_labels.tolist())
    compression = MDLConfig().facts(found)["compression"]
    assert 0.95 < compression <= 1.0


def test_the_noisier_a_layer_the_longer_its_description() -> None:
    lengths = []
    for noise in (0.3, 1.0, 2.0, 4.0):
        rng = np.random.default_rng(1)
        (X, labels), (X_dev, dev_labels) = (planted(n, 4, noise, rng) for n in (2000, 300))
        found = code(MDLConfig(), X, labels.tolist(), X_dev, dev_labels.tolist())
        assert sum(n for n, _ in found.blocks_) == 2000
        lengths.append(found.codelength_bits)
    assert lengths == sorted(lengths)
    assert lengths[0] < 0.2 * 4000
    assert lengths[-1] > 0.6 * 4000


def test_a_first_block_with_one_class_is_as_if_that_class_were_certain(caplog: pytest.LogCaptureFixture) -> None:
    # One sentence of five a's is sent first; then one of 2 b's and 3 a's, with a escape of 1/(5 + 1).
    sentences = [[("w", "a")] * 5, [("w", "b")] * 2 + [("w", "a")] * 3]
    seed = next(seed for seed in range(9) if cut_sentences(split_of(sentences), [100], seed)[0][0] == 0)
    config = MDLConfig(percents=(50, 100), seeds=(seed,))
    X = np.arange(10, dtype=np.float32)[:, None]
    with caplog.at_level(logging.WARNING):
        (found,) = config.fit([Problem(split_of(sentences), labelled(["a", "b"]), seed, GIVEN)], X, X[:2])
    assert [n for n, _ in found.blocks_] == [5, 5]
    assert [bits for _, bits in found.blocks_] == pytest.approx([5, 2 * np.log2(6) + 3 * np.log2(6 / 5)])
    assert "the first 5 examples have one class only (a)" in caplog.text


def test_problems_coded_together_equal_each_alone_whatever_classes_their_blocks_lack() -> None:
    rng = np.random.default_rng(5)
    X, first = planted(200, 3, 1.0, rng)
    rare = np.full(200, "no")
    rare[np.concatenate(cut_sentences(labelled(first.tolist()), [100], 0))[-60::3]] = "yes"
    config = MDLConfig(percents=(5, 10, 50, 100), penalties=(1e-3, 1e-1), tolerance=1e-9)
    problems = [Problem(labelled(y.tolist()), labelled(y[:40].tolist()), 0, GIVEN) for y in (first, rare)]
    together = config.fit(problems, X, X[:40])
    for one, problem in zip(together, problems, strict=True):
        (alone,) = config.fit([problem], X, X[:40])
        assert [n for n, _ in one.blocks_] == [n for n, _ in alone.blocks_] == [10, 10, 80, 100]
        assert [bits for _, bits in one.blocks_] == pytest.approx([bits for _, bits in alone.blocks_], rel=1e-4)


def test_a_cut_comes_after_the_fewest_whole_sentences_that_reach_its_percentage() -> None:
    split = split_of([[("w", "a")] * length for length in (3, 0, 5, 2, 7, 3)])
    for seed in range(5):
        blocks = cut_sentences(split, (15, 50, 100), seed)
        order = np.random.default_rng(seed).permutation(6)
        lengths = np.array([3, 0, 5, 2, 7, 3])[order]
        expected, so_far = [], 0
        for length in lengths:
            before, so_far = so_far, so_far + int(length)
            if any(before < wanted <= so_far for wanted in (3, 10, 20)):
                expected.append(so_far)
        assert np.cumsum([len(block) for block in blocks]).tolist() == expected
        rows = np.concatenate(blocks)
        assert sorted(rows.tolist()) == list(range(20))
        assert list(dict.fromkeys(split.sentence_index[rows].tolist())) == [s for s in order.tolist() if s != 1]


def test_cuts_that_fall_together_count_once() -> None:
    split = split_of([[("w", "a")] * 10, [("w", "b")] * 10])
    assert [len(block) for block in cut_sentences(split, (10, 20, 50, 60, 100), 0)] == [10, 10]
    assert [len(block) for block in cut_sentences(split_of([[("w", "a")] * 10]), (10, 50, 100), 0)] == [10]


def test_a_first_block_without_an_example_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^0\.1 % of 999 training examples is less than one"):
        cut_sentences(labelled(["a"] * 999), MDLConfig().percents, 0)
    assert len(cut_sentences(labelled(["a"] * 1000, length=1), MDLConfig().percents, 0)[0]) == 1


def test_one_class_in_all_of_train_is_refused() -> None:
    with pytest.raises(ValueError, match=r"one class only \(a\): there is nothing to code"):
        code(MDLConfig(percents=(50, 100)), np.zeros((10, 2), np.float32), ["a"] * 10, np.zeros((2, 2)), ["a", "a"])


@pytest.mark.parametrize(
    ("percents", "message"),
    [
        ((1, 1, 100), "percents must rise, but 1 comes after 1"),
        ((50, 10, 100), "percents must rise, but 10 comes after 50"),
        ((1, 50), "percents must end at 100, not at 50"),
        ((0, 100), "greater than 0"),
        ((), "at least 1 item"),
    ],
)
def test_a_schedule_rises_to_100(percents: tuple[float, ...], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        MDLConfig(percents=percents)


def test_each_seed_has_a_code_and_the_same_seed_the_same_one() -> None:
    assert MDLConfig(seeds=(3, 1)).all_seeds == (3, 1)
    with pytest.raises(ValidationError, match="seeds must differ"):
        MDLConfig(seeds=(3, 3))
    rng = np.random.default_rng(6)
    X, labels = planted(200, 3, 1.0, rng)
    split = labelled(labels.tolist())
    config = MDLConfig(percents=(10, 50, 100), seeds=(3, 1))
    problems = [Problem(split, split, seed, GIVEN) for seed in (3, 1, 3)]
    one, other, again = (code.blocks_ for code in config.fit(problems, X, X))
    # Solved in one product, whose last bits depend on where in it a problem stands.
    assert np.allclose(one, again, rtol=1e-6, atol=0)
    assert not np.allclose(one, other, rtol=1e-3, atol=0)


def test_it_makes_no_sense_where_examples_compete_in_groups() -> None:
    assert MDLConfig().suits(labelled(["a", "b"]))
    assert not MDLConfig().suits(Split([], [Example(0, 0, 1, ("s",), "saw", "saw/V", ("s",))]))


def test_of_several_gold_labels_the_first_is_coded() -> None:
    split = labelled(["a", "b", "a", "b"])
    several = Split(
        split.sentences, [Example(e.sentence, e.start, e.stop, (*e.labels, "z"), "w") for e in split.examples]
    )
    X = np.zeros((4, 1), np.float32)
    for train in (split, several):
        (found,) = MDLConfig(percents=(100,)).fit([Problem(train, split, 0, GIVEN)], X, X)
        assert found.blocks_ == [(4, 4.0)]
