"""Bits of gold labels: by hand, with and without labels that training lacks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probing.probes.surprisal import surprisal

LOG_PROBA = np.log([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125]])


def test_the_bits_of_a_label_are_the_negative_binary_logarithm_of_its_probability() -> None:
    assert surprisal(LOG_PROBA, ["a", "b", "c"], [("a",), ("c",)], 10).tolist() == pytest.approx([1, 3])


def test_several_gold_labels_are_right_together_and_each_counts_once() -> None:
    bits = surprisal(LOG_PROBA, ["a", "b", "c"], [("b", "c"), ("a", "c", "a")], 10)
    assert bits.tolist() == pytest.approx([1, 2])


def test_a_label_that_training_lacks_costs_what_the_escape_leaves_it() -> None:
    # m = 2 missing labels, 6 training examples: classes keep 6/8 of their probability, each missing label has 1/8.
    bits = surprisal(LOG_PROBA[[0, 0, 0, 0]], ["a", "b", "c"], [("x",), ("y",), ("a",), ("a", "x")], 6)
    assert bits.tolist() == pytest.approx([3, 3, -np.log2(3 / 8), 1])


@pytest.mark.parametrize("inventory", [("a", "b", "c"), ("a", "b", "c", "x"), ("x", "y", "z")])
def test_the_probabilities_of_all_labels_sum_to_one(inventory: tuple[str, ...]) -> None:
    labels = sorted({"a", "b", "c", *inventory})
    proba = [2 ** -surprisal(LOG_PROBA, ["a", "b", "c"], [(label,)] * 2, 5, inventory) for label in labels]
    np.testing.assert_allclose(np.sum(proba, axis=0), [1, 1], rtol=1e-12)


def test_an_inventory_reserves_probability_for_labels_that_are_not_in_gold() -> None:
    bits = surprisal(LOG_PROBA, ["a", "b", "c"], [("a",), ("c",)], 3, inventory=["a", "x"])
    assert bits.tolist() == pytest.approx([1 + np.log2(4 / 3), 3 + np.log2(4 / 3)])


@given(st.floats(-1e5, 0))
def test_bits_are_finite_and_never_negative_however_small_a_probability_is(log_of_one: float) -> None:
    (bits,) = surprisal(np.array([[log_of_one, 0.0]]), [1, 2], [(1,)], 10)
    assert bits == pytest.approx(-log_of_one / np.log(2))
    assert surprisal(np.array([[log_of_one, 0.0]]), [1, 2], [(1, 2)], 10)[0] == 0


def test_shapes_that_do_not_belong_together_and_an_example_without_gold_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(2, 3\), but there are 1 examples and 3 classes"):
        surprisal(LOG_PROBA, ["a", "b", "c"], [("a",)], 10)
    with pytest.raises(ValueError, match="example 1 has no gold label"):
        surprisal(LOG_PROBA, ["a", "b", "c"], [("a",), ()], 10)
