import math
from random import Random

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from probing import resampling
from probing.statistics import (
    bootstrap_interval,
    bootstrap_intervals,
    holm,
    macro_intervals,
    mean_intervals,
    paired_difference,
    seeds_change_something,
    t_interval,
)


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
    monkeypatch.setattr(resampling, "_BLOCK_CELLS", 7 * 40)
    assert bootstrap_interval(correct, sentence, samples=500) == expected
    monkeypatch.setattr(resampling, "_BLOCK_CELLS", 1)
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
    with pytest.raises(ValueError, match="do not fit"):
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


def test_a_difference_of_hits_has_the_interval_of_its_mean_and_the_same_one_as_numbers() -> None:
    generator = np.random.default_rng(3)
    first, second = generator.random((2, 300)) < [[0.8], [0.7]]
    sentence = generator.integers(60, size=300)
    hits = paired_difference(first, second, sentence, samples=500)
    numbers = paired_difference(first.astype(float), second.astype(float), sentence, samples=500)
    assert hits[:4] == numbers[:4]
    assert math.isnan(numbers.mcnemar_p) and not math.isnan(hits.mcnemar_p)
    difference = first.astype(float) - second
    assert mean_intervals(difference[np.newaxis], sentence, samples=500).tolist() == [[hits.low, hits.high]]


def test_numbers_that_are_shifted_by_a_constant_differ_by_exactly_this_constant() -> None:
    correct, sentence = clustered(np.random.default_rng(2))
    bits = np.random.default_rng(4).integers(0, 64, size=len(correct)) / 8
    found = paired_difference(bits + 0.25, bits, sentence, samples=500)
    assert found[:4] == (0.25, 0.25, 0.25, 1 / 501)
    same = paired_difference(bits, bits, sentence, samples=500)
    assert same[:4] == (0, 0, 0, 1)
    assert math.isnan(found.mcnemar_p) and math.isnan(same.mcnemar_p)


def test_two_systems_on_no_examples_are_not_compared() -> None:
    with pytest.raises(ValueError, match="no examples"):
        paired_difference(np.zeros(0), np.zeros(0), np.zeros(0, dtype=int))


class Population:
    """Endless sentences of 1 to 25 words: long ones are harder, and a sentence is easy or hard as a whole.

    `worse` and `equal` are as often right, `better` more often; all three find the same seven sentences of ten
    equally easy and each has its own luck with the other three, so that differences too go together in a sentence.
    """

    def __init__(self) -> None:
        lengths = np.arange(1, 26)
        # The ratio of expectations: right words of a sentence over words of a sentence.
        harder = (lengths * self.harder(lengths)).mean() / lengths.mean()
        self.worse = harder * 2 / 3
        self.better = harder * (0.7 * 2 / 3 + 0.3 * 3 / 4)

    @staticmethod
    def harder(lengths: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what the length makes of a sentence's ease."""
        return 1 - 0.3 * lengths / 25

    def draw(
        self, rng: np.random.Generator, n_sentences: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int64]]:
        """Draw hits of better [n], equal [n] and worse [n], and the sentence [n] of each word."""
        lengths = rng.integers(1, 26, size=n_sentences)
        sentence = np.repeat(np.arange(n_sentences), lengths)
        own = rng.beta([[6], [4], [4]], 2, size=(3, n_sentences))
        ease = np.where(rng.random((3, n_sentences)) < 0.3, own, rng.beta(4, 2, size=n_sentences))
        better, equal, worse = rng.random((3, len(sentence))) < (ease * self.harder(lengths))[:, sentence]
        return better, equal, worse, sentence


def test_95_percent_intervals_cover_the_true_difference_and_the_true_accuracy_that_often() -> None:
    """1,000 test sets of 400 sentences: one standard error of these shares is 0.7 percent."""
    population, generator, trials = Population(), np.random.default_rng(0), 1000
    difference = population.better - population.worse
    covered = covered_alone = 0
    for trial in range(trials):
        better, _, worse, sentence = population.draw(generator, 400)
        found = paired_difference(better, worse, sentence, samples=1000, seed=trial)
        covered += int(found.low <= difference <= found.high)
        low, high = bootstrap_interval(better, sentence, samples=1000, seed=trial)
        covered_alone += int(low <= population.better <= high)
    print(f"covered: {covered / trials:.2%} of differences, {covered_alone / trials:.2%} of accuracies")
    assert 0.93 < covered / trials < 0.97
    assert 0.93 < covered_alone / trials < 0.97


def test_where_there_is_no_difference_p_is_below_5_percent_5_percent_of_the_time() -> None:
    """4,000 test sets: of 1,000 one standard error would be 0.7 percent, too much to tell 5 percent from 6."""
    population, generator, trials = Population(), np.random.default_rng(0), 4000
    rejected = 0
    for trial in range(trials):
        _, equal, worse, sentence = population.draw(generator, 400)
        rejected += paired_difference(equal, worse, sentence, samples=1000, seed=trial).p < 0.05
    print(f"rejected: {rejected / trials:.2%}")
    assert 0.04 < rejected / trials < 0.06


def test_a_macro_interval_counts_each_group_the_same() -> None:
    group = np.array(["big"] * 90 + ["small"] * 10)
    right = np.array([True] * 90 + [False] * 10)
    assert macro_intervals(right[np.newaxis], np.arange(100), group).tolist() == [[0.5, 0.5]]


def test_means_of_0_and_1_have_the_intervals_of_accuracies() -> None:
    correct, sentence = clustered(np.random.default_rng(2))
    systems = np.stack([correct, ~correct])
    expected = bootstrap_intervals(systems, sentence, samples=500, confidence=0.9, seed=3)
    found = mean_intervals(systems.astype(np.float64), sentence, samples=500, confidence=0.9, seed=3)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(mean_intervals(systems, sentence, samples=500, confidence=0.9, seed=3), expected)


def test_the_interval_of_a_mean_equals_the_one_from_a_plain_loop_over_the_same_draws() -> None:
    _, sentence = clustered(np.random.default_rng(1), n_sentences=7)
    bits = np.random.default_rng(2).exponential(size=len(sentence))
    rng = np.random.default_rng(5)
    means = []
    for _ in range(300):
        drawn = rng.integers(7, size=7)
        means.append(np.mean(np.concatenate([bits[sentence == one] for one in drawn])))
    found = mean_intervals(bits[np.newaxis], sentence, samples=300, confidence=0.9, seed=5)
    np.testing.assert_allclose(found, [np.percentile(means, [5, 95])], rtol=1e-12)


def test_a_constant_is_certain_and_so_is_a_mean_over_one_sentence() -> None:
    _, sentence = clustered(np.random.default_rng(2))
    constant = np.full((1, len(sentence)), 0.1)
    np.testing.assert_allclose(mean_intervals(constant, sentence, samples=500), [[0.1, 0.1]], rtol=1e-12)
    assert mean_intervals(np.array([[1.5, 2.5]]), np.array([4, 4]), samples=500).tolist() == [[2.0, 2.0]]


def test_the_order_of_numbers_changes_their_interval_by_no_more_than_rounding() -> None:
    _, sentence = clustered(np.random.default_rng(2))
    bits = np.random.default_rng(4).exponential(size=(2, len(sentence)))
    shuffled = np.random.default_rng(3).permutation(len(sentence))
    expected = mean_intervals(bits, sentence, samples=500)
    np.testing.assert_allclose(mean_intervals(bits[:, shuffled], sentence[shuffled], samples=500), expected, rtol=1e-12)


def test_a_mean_of_no_examples_has_no_interval() -> None:
    assert np.isnan(mean_intervals(np.zeros((3, 0)), np.zeros(0, dtype=int))).all()


def test_infinite_bits_are_refused() -> None:
    for value in (math.inf, math.nan):
        with pytest.raises(ValueError, match="finite"):
            mean_intervals(np.array([[1.0, value]]), np.array([0, 1]))
        with pytest.raises(ValueError, match="finite"):
            paired_difference(np.array([1.0, value]), np.array([1.0, 2.0]), np.array([0, 1]))


def test_holm_equals_the_example_calculated_by_hand() -> None:
    # In order: 0.005 * 4 = 0.02, 0.01 * 3 = 0.03, 0.03 * 2 = 0.06, 0.04 * 1 = 0.04, which may not fall below 0.06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.6, 0.01]) == pytest.approx([1, 1, 0.03])
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


def test_a_test_that_was_not_made_stays_nan_and_does_not_count() -> None:
    found = holm([0.01, math.nan, 0.04, math.nan])
    assert math.isnan(found[1]) and math.isnan(found[3])
    assert [found[0], found[2]] == pytest.approx([0.02, 0.04])


def test_what_is_no_p_value_is_refused() -> None:
    for wrong in (-0.1, 1.1):
        with pytest.raises(ValueError, match="between 0 and 1"):
            holm([0.5, wrong])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_holm_keeps_the_order_makes_nothing_smaller_and_does_not_mind_how_it_is_asked(
    p: list[float], random: Random
) -> None:
    found = holm(p)
    assert all(raw <= adjusted <= 1 for raw, adjusted in zip(p, found, strict=True))
    in_order = [adjusted for _, adjusted in sorted(zip(p, found, strict=True))]
    assert in_order == sorted(in_order)
    assert found[p.index(min(p))] == min(1, len(p) * min(p))  # the smallest is Bonferroni's
    assert all(one == other for one, other in zip(found, holm([*p, math.nan]), strict=False))
    places = list(range(len(p)))
    random.shuffle(places)
    assert holm([p[place] for place in places]) == [found[place] for place in places]


def test_a_t_interval_equals_the_one_by_hand_and_scipys() -> None:
    # Mean 3, standard deviation sqrt(2.5), and t of 4 degrees of freedom at 97.5 % is 2.776445.
    half = 2.776445 * math.sqrt(2.5 / 5)
    assert t_interval([1, 2, 3, 4, 5]) == pytest.approx((3 - half, 3 + half), rel=1e-6)
    values = np.random.default_rng(0).normal(size=7)
    expected = scipy.stats.t.interval(0.9, 6, loc=values.mean(), scale=scipy.stats.sem(values))
    assert t_interval(list(values), confidence=0.9) == pytest.approx(expected)


def test_one_seed_has_no_t_interval_and_seeds_that_change_nothing_have_one_of_no_width() -> None:
    assert all(math.isnan(end) for end in (*t_interval([]), *t_interval([0.7])))
    assert t_interval([0.1] * 3) == (0.1, 0.1)
    assert not seeds_change_something([0.1] * 3)
    assert not seeds_change_something([0.1])
    assert not seeds_change_something([])
    assert seeds_change_something([0.1, 0.1, np.nextafter(0.1, 1)])
    with pytest.raises(ValueError, match="confidence=95"):
        t_interval([0.1, 0.2], confidence=95)
