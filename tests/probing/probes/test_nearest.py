"""The nearest-sense probe: means, cosines, candidates, ties, and what is answered where nothing is known."""

from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from probing.probes import NearestSenseProbe, Problem
from probing.probes.first_sense import FirstSenseConfig, MostFrequentSenseConfig
from probing.probes.nearest import NearestConfig
from probing.tasks import Example, Split


@parametrize_with_checks([NearestSenseProbe()])  # type: ignore[untyped-decorator]
def test_it_keeps_the_contract_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def split(*examples: tuple[tuple[str, ...], tuple[str, ...]]) -> Split:
    """Return a split of examples given by gold labels and candidates."""
    return Split([], [Example(0, 0, 1, gold, "form", "group", candidates) for gold, candidates in examples])


def test_the_answers_are_those_of_a_plain_double_loop() -> None:
    generator = np.random.default_rng(1)
    senses = [f"lemma{lemma}%{sense}" for lemma in range(40) for sense in range(lemma % 4 + 1)]
    gold = [tuple(generator.choice(senses, size=generator.integers(1, 3), replace=False)) for _ in range(3000)]
    X = generator.normal(size=(3000, 12)).astype(np.float32)
    targets = generator.normal(size=(2000, 12)).astype(np.float32)
    candidates = [tuple(s for s in senses if s.startswith(f"lemma{n % 40}%")) for n in range(2000)]
    probe = NearestSenseProbe().fit(X, gold)
    labels, answered = probe.predict_among(targets, candidates)
    assert answered.all()
    for target, among, label in zip(targets.astype(float), candidates, labels, strict=True):
        best, highest = "", -2.0
        for sense in among:
            mean = np.mean([x for x, several in zip(X.astype(float), gold, strict=True) if sense in several], axis=0)
            cosine = target @ mean / np.linalg.norm(target) / np.linalg.norm(mean)
            if cosine > highest:
                best, highest = sense, cosine
        assert label == best


def test_with_several_gold_senses_each_gets_the_vector_by_itself() -> None:
    """LMMS stored one array twice and summed in place, which spoilt both senses."""
    probe = NearestSenseProbe().fit(np.array([[1.0, 0.0], [0.0, 1.0]]), [("a", "b"), ("b",)])
    assert probe.means_ == pytest.approx(np.array([[1, 0], [np.sqrt(0.5), np.sqrt(0.5)]]))


def test_of_equals_and_for_a_zero_vector_the_earlier_candidate_is_chosen_P59() -> None:
    probe = NearestSenseProbe().fit(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]), [("b",), ("a",), ("zero",)])
    targets = np.array([[2.0, 0.0], [2.0, 0.0], [0.0, 0.0]], dtype=np.float32)
    labels, _ = probe.predict_among(targets, [("a", "b"), ("b", "a"), ("zero", "a")])
    assert labels == ["a", "b", "zero"]


def test_a_candidate_that_train_lacks_is_never_chosen_and_none_known_falls_back_to_the_first_sense() -> None:
    train = split((("b",), ("a", "b")), (("c",), ("c",)))
    test = split((("a",), ("a", "b")), (("x",), ("x", "y")), (("q",), ()))
    config = NearestConfig()
    X = np.array([[-1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    (probe,) = config.fit([Problem(train, train, None, {})], X, X)
    found = config.answer(probe, np.array([[1.0, 0.0]] * 3, dtype=np.float32), test)
    assert found.labels.tolist() == ["b", "x", ""]
    assert found.answered.tolist() == [True, False, False]


def test_without_groups_all_labels_compete() -> None:
    train = Split([], [Example(0, 0, 1, (label,), "form") for label in ("NOUN", "VERB")])
    X = np.eye(2, dtype=np.float32)
    config = NearestConfig()
    (probe,) = config.fit([Problem(train, train, None, {})], X, X)
    assert config.answer(probe, X[::-1], train).labels.tolist() == ["VERB", "NOUN"]


def test_baselines_answer_the_first_and_the_most_frequent_sense() -> None:
    train = split((("b",), ("a", "b")), (("b",), ("a", "b")), (("a",), ("a", "b")), (("d", "c"), ("c", "d")))
    test = split((("a",), ("a", "b")), (("c",), ("c", "d")), (("z",), ("y", "z")), (("q",), ()))
    forms = np.array(["form"] * 4, dtype=object)
    first, frequent = FirstSenseConfig(), MostFrequentSenseConfig()
    found = first.answer(first.fit([Problem(train, train, None, {})], forms, forms)[0], forms, test)
    assert found.labels.tolist() == ["a", "c", "y", ""]
    assert found.answered.tolist() == [True, True, True, False]
    found = frequent.answer(frequent.fit([Problem(train, train, None, {})], forms, forms)[0], forms, test)
    assert found.labels.tolist() == ["b", "c", "y", ""]  # c and d are equally frequent: the earlier one
    assert found.answered.tolist() == [True, True, False, False]


def test_the_baselines_of_senses_and_of_forms_suit_different_tasks() -> None:
    grouped, plain = split((("a",), ("a",))), Split([], [Example(0, 0, 1, ("NOUN",), "form")])
    assert FirstSenseConfig().suits(grouped) and not FirstSenseConfig().suits(plain)
