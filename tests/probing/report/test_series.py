import numpy as np
import pandas as pd
import pytest

from probing.report.series import (
    Panel,
    Series,
    accuracy_series,
    baseline_levels,
    footnote,
    shared_layer_names,
    vertical_limits,
)
from probing.results import UNTRAINED, Measured, select


def series(*values: float, half: float = 0.01) -> Series:
    cells = {str(view): Measured(value, value - half, value + half, 10, 1) for view, value in enumerate(values)}
    return Series("net", 0, cells)


def test_trained_networks_come_first_and_share_their_family_with_the_same_network_untrained(rows: pd.DataFrame) -> None:
    accuracy = select(rows, metric="accuracy", split="test", probe="linear")
    more = accuracy.assign(encoder=accuracy["encoder"].str.replace("net", "other"))
    found = accuracy_series(pd.concat([accuracy.iloc[::-1], more]), "all")
    assert [(one.encoder, one.family, one.seeds) for one in found] == [
        ("net", 0, 1),
        ("other", 1, 1),
        (f"net{UNTRAINED}", 0, 3),
        (f"other{UNTRAINED}", 1, 3),
    ]


def test_baselines_have_the_level_of_their_subset_in_percent(rows: pd.DataFrame) -> None:
    tested = select(rows, metric="accuracy", split="test")
    assert baseline_levels(tested, "unseen") == pytest.approx({"majority": 10, "type-majority": 56})
    assert baseline_levels(select(tested, probe="linear"), "all") == {}


def test_the_axis_reaches_over_intervals_and_the_baselines_near_them() -> None:
    # The intervals reach from 79 to 91: a baseline down to 67 is inside, one at 66 is not. The margin is 7 %.
    one = [series(0.8, 0.9)]
    assert vertical_limits(one, {}) == pytest.approx((79 - 0.84, 91 + 0.84))
    assert vertical_limits(one, {"majority": 68, "type-majority": 66}) == pytest.approx((68 - 1.61, 91 + 1.61))


def test_the_axis_does_not_go_below_nothing_and_then_the_footnote_says_nothing_of_its_start() -> None:
    low, high = [series(0.012, 0.1)], [series(0.8, 0.9)]
    assert vertical_limits(low, {})[0] == 0
    assert "start at 0" not in footnote("toy, test", [Panel("all", "%", low, {})], 0.95)
    assert "start at 0" in footnote("toy, test", [Panel("all", "%", high, {})], 0.95)


def test_a_footnote_explains_nothing_that_is_not_in_the_figure() -> None:
    bare = [Series("net", 0, {"0": Measured(0.5, np.nan, np.nan, 10, 1)})]
    said = footnote("toy, test", [Panel("all", "%", bare, {})], 0.95)
    assert said == "toy, test, n = 10 examples. The vertical axis does not start at 0."


def test_layer_names_are_shared_only_where_all_networks_agree() -> None:
    one, other = series(0.5), Series("other", 1, {})
    assert shared_layer_names([one, other], {"net": ["token"], "other": ["token"]}) == ("token",)
    assert shared_layer_names([one, other], {"net": ["token"], "other": ["word"]}) == ()
    assert shared_layer_names([one], {}) == ()
