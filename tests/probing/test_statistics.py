import math

import numpy as np
import pytest
from numpy.typing import NDArray

from probing import statistics
from probing.statistics import bootstrap_interval, bootstrap_intervals, macro_intervals, paired_difference


def clustered(rng: np.random.Generator, n_sentences: int = 40) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Draw sentences of 5 to 15 tokens that are easy or hard as a whole; 2/3 of all tokens are right on average."""
    lengths = rng.integers(5, 16, size=n_sentences)
    sentence = np.repeat(np.arange(n_sentences), lengths)
    return rng.random(len(sentence)) < rng.beta(2, 1, size=n_sentences)[sentence], sentence


def test_two_sentences_have_the_interval_that_can_be_computed_by_hand() -> None:
    # Sentence 0 has 3 examples, all right; sentence 1 has 1, wrong. Drawing two of two gives accuracy 1 (1/4 of the
    # time), 3/4 (1/2) or 0 (1/4): the middle 40 % are 3/4 (the mean of the sentences' accuracies would be 1/2), and the
    # middle 95 % reach from 0 to 1.
    correct, sentence = np.array([True, True, True, False]), np.array([0, 0, 0, 1])
    assert bootstrap_interval(correct, sentence, confidence=0.4) == (0.75, 0.75)
    assert bootstrap_interval(correct, sentence) == (0.0, 1.0)


def test_an_interval_equals_the_one_from_a_plain_loop_over_the_same_draws() -> None:
    correct, sentence = clustered(np.random.default_rng(1), n_sentences=7)
    rng = np.random.default_rng(5)
    accuracies = []
    for _ in range(300):
        drawn = rng.integers(7, size=7)
        accuracies.append(np.mean(np.concatenate([correct[sentence == one] for one in drawn])))
    expected = np.percentile(accuracies, [5, 95])
    assert bootstrap_interval(correct, sentence, samples=300, confidence=0.9, seed=5) == pytest.approx(tuple(expected))


def test_an_interval_over_sentences_covers_the_truth_where_one_over_tokens_is_too_narrow() -> None:
    truth, trials = 2 / 3, 400
    covered = np.zeros(2)
    for trial in range(trials):
        correct, sentence = clustered(np.random.default_rng(trial))
        for way, unit in enumerate((sentence, np.arange(len(sentence)))):
            low, high = bootstrap_interval(correct, unit, samples=300, seed=trial)
            covered[way] += low <= truth <= high
    over_sentences, over_tokens = covered / trials
    assert 0.91 <= over_sentences <= 0.97  # nominally 0.95; 40 sentences are few, and 400 trials are right to 0.02
    assert over_tokens < 0.80


def test_one_example_a_sentence_gives_the_interval_of_the_binomial_distribution() -> None:
    correct = np.arange(1000) < 900
    low, high = bootstrap_interval(correct, np.arange(1000))
    half = 1.96 * math.sqrt(0.9 * 0.1 / 1000)
    assert low == pytest.approx(0.9 - half, abs=0.002)
    assert high == pytest.approx(0.9 + half, abs=0.002)


def test_the_order_of_the_examples_and_gaps_in_the_numbering_change_nothing() -> None:
    correct, sentence = clustered(np.random.default_rng(2))
    shuffled = np.random.default_rng(3).permutation(len(correct))
    expected = bootstrap_interval(correct, sentence, samples=500)
    assert bootstrap_interval(correct[shuffled], sentence[shuffled], samples=500) == expected
    assert bootstrap_interval(correct, 10 * sentence + 3, samples=500) == expected


def test_the_same_seed_gives_the_same_interval_and_another_seed_another_P42() -> None:
    correct, sentence = clustered(np.random.default_rng(2))
    zero, again, one = (bootstrap_interval(correct, sentence, samples=200, seed=seed) for seed in (0, 0, 1))
    assert zero == again != one


def test_how_many_draws_are_held_at_once_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    correct, sentence = clustered(np.random.default_rng(2))
    expected = bootstrap_interval(correct, sentence, samples=500)
    monkeypatch.setattr(statistics, "_BLOCK_CELLS", 7 * 40)
    assert bootstrap_interval(correct, sentence, samples=500) == expected
    monkeypatch.setattr(statistics, "_BLOCK_CELLS", 1)
    assert bootstrap_interval(correct, sentence, samples=500) == expected


def test_several_systems_have_the_same_intervals_together_as_each_alone() -> None:
    correct, sentence = clustered(np.random.default_rng(2))
    systems = np.stack([correct, ~correct, np.ones_like(correct)])
    together = bootstrap_intervals(systems, sentence, samples=500)
    assert [tuple(one) for one in together] == [bootstrap_interval(one, sentence, samples=500) for one in systems]
    # On the same draws, what one system has right is exactly what its opposite has wrong.
    np.testing.assert_allclose(together[1], 1 - together[0][::-1])


def test_all_right_is_certain_and_so_is_a_single_sentence() -> None:
    assert bootstrap_interval(np.ones(6, dtype=bool), np.array([0, 0, 1, 1, 2, 2])) == (1.0, 1.0)
    assert bootstrap_interval(np.array([True, False, True, True]), np.zeros(4, dtype=int)) == (0.75, 0.75)


def test_no_examples_have_no_interval() -> None:
    low, high = bootstrap_interval(np.zeros(0, dtype=bool), np.zeros(0, dtype=int))
    assert math.isnan(low)
    assert math.isnan(high)
    assert bootstrap_intervals(np.zeros((3, 0), dtype=bool), np.zeros(0, dtype=int)).shape == (3, 2)


def test_what_is_no_boolean_or_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="int64"):
        bootstrap_interval(np.array([1, 0]), np.array([0, 1]))
    with pytest.raises(ValueError, match="does not fit"):
        bootstrap_interval(np.array([True, False]), np.array([0, 1, 2]))
    with pytest.raises(ValueError, match="confidence=95"):
        bootstrap_interval(np.array([True]), np.array([0]), confidence=95)
    with pytest.raises(ValueError, match="samples=0"):
        bootstrap_interval(np.array([True]), np.array([0]), samples=0)


def test_a_paired_difference_is_the_difference_of_the_accuracies_with_both_tests() -> None:
    first = np.array([True] * 9 + [False] + [True] * 10)
    second = np.array([False] * 9 + [True] + [True] * 10)
    found = paired_difference(first, second, np.arange(20))
    assert found.value == pytest.approx(0.4)
    assert found.mcnemar_p == pytest.approx(2 * 11 / 1024)  # at most 1 of 10 discordant examples, twice
    assert 0 < found.low < 0.4 < found.high
    assert found.p < 0.05


def test_equal_systems_differ_by_nothing() -> None:
    right = np.array([True, False, True, True])
    assert paired_difference(right, right, np.arange(4)) == (0, 0, 0, 1, 1)


def test_a_paired_difference_changes_its_sign_with_the_order() -> None:
    generator = np.random.default_rng(3)
    first, second = generator.random((2, 300)) < [[0.8], [0.7]]
    sentence = generator.integers(60, size=300)
    there, back = paired_difference(first, second, sentence), paired_difference(second, first, sentence)
    assert (there.value, there.low, there.high) == pytest.approx((-back.value, -back.high, -back.low))
    assert there.p == back.p and there.mcnemar_p == back.mcnemar_p


def test_examples_of_one_sentence_widen_the_paired_interval() -> None:
    first, second = np.repeat(np.random.default_rng(0).random((2, 100)) < [[0.8], [0.6]], 10, axis=1)
    clustered = paired_difference(first, second, np.repeat(np.arange(100), 10))
    independent = paired_difference(first, second, np.arange(1000))
    assert (clustered.high - clustered.low) > 2.5 * (independent.high - independent.low)  # about the root of 10
    assert clustered.p > independent.p


def test_paired_intervals_cover_the_true_difference_and_no_difference_is_rarely_rejected() -> None:
    """300 simulated test sets of 150 sentences; of 95 % intervals some 285 should cover, at most 24 of 300 reject."""
    generator = np.random.default_rng(7)
    covered = rejected = 0
    for _ in range(300):
        sentence = np.repeat(np.arange(150), generator.integers(1, 12, size=150))
        ease = np.repeat(generator.beta(4, 2, size=150), np.bincount(sentence))
        first, second = generator.random((2, len(sentence))) < [np.minimum(ease + 0.05, 1), ease]
        third = generator.random(len(sentence)) < ease
        true = np.minimum(ease + 0.05, 1).mean() - ease.mean()
        found = paired_difference(first, second, sentence, samples=400)
        covered += found.low <= true <= found.high
        rejected += paired_difference(second, third, sentence, samples=400).p < 0.05
    assert 274 <= covered <= 296
    assert 4 <= rejected <= 27


def test_a_macro_interval_counts_each_group_the_same() -> None:
    group = np.array(["big"] * 90 + ["small"] * 10)
    right = np.array([True] * 90 + [False] * 10)
    assert macro_intervals(right[np.newaxis], np.arange(100), group).tolist() == [[0.5, 0.5]]
