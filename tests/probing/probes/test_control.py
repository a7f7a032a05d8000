"""The control task: one random label a word form, and the ceiling that memory sets."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from probing.probes.base import Problem
from probing.probes.control import ControlConfig, control_ceiling, control_labels
from probing.probes.linear import LinearProbe
from probing.tasks import Example, PosTask, Split
from tests.probing.probes.toy_problems import labelled, planted, split_of

SPLITS = {
    "train": split_of([[("saw", "V"), ("the", "D"), ("Saw", "N")], [("saw", "N"), ("lamp", "N")]]),
    "dev": split_of([[("lamp", "N"), ("saw", "V")]]),
    "test": split_of([[("goose", "N"), ("the", "D"), ("goose", "N")]]),
}


def test_a_word_form_has_one_control_label_in_all_splits() -> None:
    for seed in range(10):
        controls = ControlConfig().relabel(SPLITS, seed)
        labels_of: dict[str, set[tuple[str, ...]]] = {}
        for split in controls.values():
            for example in split.examples:
                labels_of.setdefault(example.form, set()).add(example.labels)
        assert set(labels_of) == {"saw", "the", "Saw", "lamp", "goose"}
        assert all(len(labels) == 1 and len(next(iter(labels))) == 1 for labels in labels_of.values())


def test_only_the_labels_are_replaced() -> None:
    controls = ControlConfig().relabel(SPLITS, 3)
    for name, split in SPLITS.items():
        assert controls[name].sentences is split.sentences
        assert controls[name].content == split.content
        for control, example in zip(controls[name].examples, split.examples, strict=True):
            assert (control.form, control.group, control.candidates) == (example.form, None, ())


def test_the_same_seed_draws_the_same_labels_whatever_the_order_of_examples() -> None:
    backwards = {name: Split(split.sentences, split.examples[::-1]) for name, split in SPLITS.items()}
    assert control_labels(SPLITS, 7) == control_labels(SPLITS, 7) == control_labels(backwards, 7)
    assert len({tuple(control_labels(SPLITS, seed).items()) for seed in range(20)}) > 10


def test_labels_are_drawn_from_the_distribution_of_the_training_tokens() -> None:
    words = [[(f"w{index}", "A" if index % 10 < 7 else "B" if index % 10 < 9 else "C")] for index in range(8000)]
    splits = {"train": split_of(words), "dev": split_of([[("x", "Z")]])}
    counts = Counter(control_labels(splits, 0).values())
    assert set(counts) == {"A", "B", "C"}, "a label of dev alone is never drawn"
    # Four standard deviations of a share of 8,001 draws.
    for label, share in {"A": 0.7, "B": 0.2, "C": 0.1}.items():
        assert counts[label] / 8001 == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 8001))


def test_the_ceiling_by_hand() -> None:
    # Train has 1 V, 1 D, 3 N: the sum of squares is 11/25. One of the three test tokens ("the") is known.
    assert control_ceiling(SPLITS["train"], SPLITS["test"]) == pytest.approx(1 / 3 + 2 / 3 * 11 / 25)
    assert control_ceiling(SPLITS["train"], SPLITS["dev"]) == 1


@pytest.mark.real_data
def test_ewt_has_the_ceilings_of_record(data_dir: Path) -> None:
    splits = PosTask.model_validate({"corpus": "ud-english-ewt", "column": "upos"}).load()
    assert round(100 * control_ceiling(splits["train"], splits["dev"]), 1) == 92.5
    assert round(100 * control_ceiling(splits["train"], splits["test"]), 1) == 91.7


def test_each_draw_has_a_seed_of_its_own() -> None:
    assert ControlConfig().all_seeds == (0, 1, 2, 3, 4)
    assert ControlConfig(draws=2, seed=40).all_seeds == (40, 41)
    for wrong in ({"draws": 0}, {"draws": 101}, {"seed": -1}, {"penalties": [1.0]}):
        with pytest.raises(ValidationError):
            ControlConfig.model_validate(wrong)


def test_a_task_with_groups_has_no_control() -> None:
    assert ControlConfig().suits(SPLITS["train"])
    assert not ControlConfig().suits(Split([], [Example(0, 0, 1, ("s",), "saw", "saw/V", ("s",))]))


def test_several_draws_with_different_penalties_in_one_go_equal_each_alone() -> None:
    rng = np.random.default_rng(0)
    X, labels = planted(400, 4, 1.0, rng)
    problems = [
        Problem(labelled(rng.permutation(labels).tolist()), labelled(labels[:50].tolist()), seed, {"l2_penalty": own})
        for seed, own in enumerate([1e-3, 1e-1, 1.0])
    ]
    config = ControlConfig(tolerance=1e-9)
    fitted = config.fit(problems, X, X[:50])
    for one, problem in zip(fitted, problems, strict=True):
        alone = LinearProbe(problem.given["l2_penalty"], tolerance=1e-9).fit(X, problem.train.labels)
        assert one.penalty_ == alone.penalty_
        assert one.objective_ == pytest.approx(alone.objective_, rel=1e-6)
        np.testing.assert_allclose(one.predict_proba(X), alone.predict_proba(X), atol=1e-3)


def test_answers_have_control_labels_and_their_bits() -> None:
    rng = np.random.default_rng(1)
    X, labels = planted(200, 3, 0.3, rng)
    train = labelled(labels.tolist())
    config = ControlConfig()
    (probe,) = config.fit([Problem(train, train, 0, {"l2_penalty": 1e-2})], X, X)
    answers = config.answer(probe, X, train)
    assert answers.labels.tolist() == probe.predict(X).tolist()
    assert answers.answered.all()
    chosen = probe.predict_proba(X)[np.arange(200), np.searchsorted(probe.classes_, labels)]
    assert answers.bits is not None
    np.testing.assert_allclose(answers.bits, -np.log2(chosen), atol=1e-9)
