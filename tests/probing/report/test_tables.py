import numpy as np
import pandas as pd

from probing.report.document import Table
from probing.report.markdown import markdown_table
from probing.report.tables import accuracy_table, ends, percent
from probing.results import Measured


def lines_of(rows: pd.DataFrame) -> list[str]:
    return markdown_table(accuracy_table(rows, "pos-upos", "toy-corpus")).split("\n")


def test_the_table_of_a_task_has_baselines_then_each_network_view_by_view(rows: pd.DataFrame) -> None:
    lines = lines_of(rows)
    assert lines[0] == (
        "| network | view | dev (n = 2,000) | test (n = 2,000) | test, ambiguous word forms (n = 1,000) "
        "| test, unseen word forms (n = 200) | L2 penalty |"
    )
    assert lines[1] == "| :-- | :-- | --: | --: | --: | --: | --: |"
    assert lines[2] == (
        "| majority class | – | 41.00 [40.60, 41.50] | 40.00 [39.60, 40.50] | 30.00 [29.60, 30.50] "
        "| 10.00 [9.60, 10.50] | – |"
    )
    assert lines[5] == (
        "| net | 1 | 96.00 [95.60, 96.50] | 95.00 [94.60, 95.50] | 85.00 [84.60, 85.50] | 65.00 [64.60, 65.50] | 0.01 |"
    )
    first_two = [line.split(" | ")[:2] for line in lines[2:]]
    untrained = "| net (untrained), 3 seeds"
    views = ["0", "1", "2", "mean", "concat"]
    assert first_two[:2] == [["| majority class", "–"], ["| type majority", "–"]]
    assert first_two[2:] == [["| net", view] for view in views] + [[untrained, view] for view in views]


def test_several_seeds_are_shown_as_their_mean_and_range(rows: pd.DataFrame) -> None:
    # 0.85 on test, and 0, 0.01 and 0.005 more: mean 0.855.
    assert lines_of(rows)[9].startswith("| net (untrained), 3 seeds | 0 | 86.50 (86.00–87.00) | 85.50 (85.00–86.00) |")


def test_only_the_highest_number_of_a_trained_network_is_bold(rows: pd.DataFrame) -> None:
    bold = [line for line in lines_of(rows) if "**" in line]
    assert len(bold) == 1
    assert bold[0].startswith("| net | concat | **96.30** [95.90, 96.80] | **95.30** [94.90, 95.80] | **85.30**")


def test_nothing_is_bold_where_two_views_print_the_same_number(rows: pd.DataFrame) -> None:
    rows.loc[(rows["encoder"] == "net") & (rows["view"] == "mean"), "value"] += 0.002
    assert "**" not in "\n".join(lines_of(rows))


def test_nothing_is_bold_where_a_network_has_one_view_only(rows: pd.DataFrame) -> None:
    assert "**" not in "\n".join(lines_of(rows[rows["view"].isin(["", "1"])]))


def test_a_number_that_is_not_there_is_a_dash_and_a_column_without_any_is_left_out(rows: pd.DataFrame) -> None:
    rows.loc[rows["subset"] == "unseen", ["value", "ci_low", "ci_high", "n"]] = [np.nan, np.nan, np.nan, 0]
    missing = (rows["encoder"] == "net") & (rows["view"] == "2") & (rows["split"] == "dev")
    rows.loc[missing, ["value", "ci_low", "ci_high"]] = np.nan
    lines = lines_of(rows)
    assert "unseen" not in lines[0]
    assert lines[6] == "| net | 2 | – | 94.00 [93.60, 94.50] | 84.00 [83.60, 84.50] | 0.01 |"


def test_a_number_without_an_interval_stands_alone() -> None:
    assert ends(Measured(0.5, np.nan, np.nan, 10, 1)) == ""


def test_penalties_that_differ_between_seeds_are_all_named(rows: pd.DataFrame) -> None:
    rows.loc[(rows["encoder_seed"] == "2") & (rows["metric"] == "l2_penalty"), "value"] = 0.0001
    assert lines_of(rows)[9].endswith("| 0.0001, 0.01 |")


def test_a_table_of_baselines_alone_has_no_networks(rows: pd.DataFrame) -> None:
    assert len(lines_of(rows[rows["encoder"] == ""])) == 4


def test_a_bar_in_a_label_does_not_break_the_table() -> None:
    assert markdown_table(Table(("a", "b"), (("x|y", "1"),))) == "| a | b |\n| :-- | --: |\n| x\\|y | 1 |"


def test_fractions_are_percent_with_two_decimals() -> None:
    assert [percent(value) for value in (1.0, 0.86204, 0.0)] == ["100.00", "86.20", "0.00"]
