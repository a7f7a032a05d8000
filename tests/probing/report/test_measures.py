import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from probing.report.document import Table, plain
from probing.report.figures import accuracy_by_layer
from probing.report.measure_figures import measures_by_layer, mix_weights
from probing.report.measures import measures_table, mix_tables
from probing.report.shares import sample_efficiency
from probing.report.tables import accuracy_table, student
from probing.results import UNTRAINED
from probing.statistics import t_interval

CORPUS = ("pos-upos", "toy-corpus")


def line_of(table: Table, *start: str) -> dict[str, str]:
    (found,) = [row for row in table.rows if row[: len(start)] == start]
    return dict(zip(table.header, map(plain, found), strict=True))


def drawn(axes: Axes, label: str) -> list[tuple[float, float]]:
    (line,) = [line for line in axes.lines if line.get_label() == label]
    return [(float(x), round(float(y), 6)) for x, y in np.asarray(line.get_xydata())]


def test_the_table_of_measures_has_each_measure_of_a_view(rich_rows: pd.DataFrame) -> None:
    table = measures_table(rich_rows, *CORPUS)
    assert table
    line = line_of(table, "net", "1")
    assert line == {
        "network": "net",
        "view": "1",
        "accuracy (%)": "95.00 [94.60, 95.50]",
        "control accuracy (%)": "71.00 (70.00–72.00)",
        "selectivity (points)": "24.00 [23.00, 25.00]",
        "control ceiling (%)": "92.00",
        "codelength (kbit)": "90.5 (90.0–91.0)",
        "compression (×)": "8.84 (8.79–8.89)",
        "data (kbit)": "67.9 (67.5–68.2)",
        "model (kbit)": "22.6 (22.5–22.8)",
        "V-information (bits)": "3.100 [3.080, 3.120]",
        "conditional information (bits)": "0.500 [0.480, 0.520]",
    }
    assert line_of(table, "net", "0")["conditional information (bits)"] == "–"


def test_accuracy_alone_is_no_table_of_measures_and_no_figure(rows: pd.DataFrame) -> None:
    assert measures_table(rows, *CORPUS) is None
    assert list(mix_tables(rows, *CORPUS)) == []
    assert measures_by_layer(rows) is mix_weights(rows) is sample_efficiency(rows) is None


def test_the_tables_of_the_mix_have_weights_gains_and_an_expected_layer_where_there_is_one(
    rich_rows: pd.DataFrame,
) -> None:
    summary, layers = mix_tables(rich_rows, *CORPUS)
    assert line_of(summary, "net")["expected layer"] == "1.06 (1.06–1.06)"
    assert line_of(summary, f"net{UNTRAINED}")["expected layer"] == "–"
    assert line_of(summary, "net")["centre of gravity"].startswith("1.08 (1.06–1.10)")
    assert line_of(layers, "net", "1")["weight"].startswith("0.520 (0.500–0.540)")
    assert [line_of(layers, "net", layer)["gain (points)"] for layer in "012"] == ["–", "+8.00", "+0.50"]


def test_five_seeds_have_a_t_interval_and_four_have_none(rich_rows: pd.DataFrame) -> None:
    # 95.5 to 95.9: standard deviation 0.158, standard error 0.0707, t with 4 degrees of freedom 2.776.
    own = rich_rows[(rich_rows["encoder"] == "net") & (rich_rows["view"] == "mix")]
    own = own[own["metric"] == "accuracy"]
    assert student(own) == pytest.approx((0.957 - 0.001963, 0.957 + 0.001963), abs=1e-6)
    assert student(own[:4]) is None
    table = accuracy_table(rich_rows, *CORPUS)
    assert "95.70 (95.50–95.90) [95.50, 95.90]" in line_of(table, "net, 5 seeds", "mix")["test (n = 2,000)"]


def test_several_fits_on_one_untrained_network_are_not_as_many_networks(rich_rows: pd.DataFrame) -> None:
    own = rich_rows[(rich_rows["encoder"] == f"net{UNTRAINED}") & (rich_rows["view"] == "mix")]
    own = own[own["metric"] == "accuracy"]
    assert len(own) == 3 * 5
    assert student(own) is None, "three networks, five mixes each"
    more = own.assign(encoder_seed="1" + own["encoder_seed"], value=own["value"] + 0.01)
    six = pd.concat([own, more])
    # 0.957 less 0.07, 0.075 or 0.08, and 0.01 more: the means of five mixes each.
    means = [0.887, 0.882, 0.877, 0.897, 0.892, 0.887]
    assert student(six) == pytest.approx(t_interval(means), abs=1e-9)


def test_seeds_that_change_nothing_have_no_t_interval(rich_rows: pd.DataFrame) -> None:
    own = rich_rows[(rich_rows["encoder"] == "net") & (rich_rows["view"] == "mix")]
    assert student(own[own["metric"] == "mix_gamma"]) is None


def test_the_mix_of_all_layers_stands_beside_the_linear_probe_s_views_and_parts_of_it_do_not(
    rich_rows: pd.DataFrame,
) -> None:
    figure = accuracy_by_layer(rich_rows, *CORPUS)
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "1", "2", "mean", "concat", "mix"]
    lines = [line for line in axes.lines if line.get_label() == "net"]
    assert np.asarray(lines[-1].get_ydata()).tolist() == pytest.approx([95.1, 95.3, 95.7])
    assert "trained jointly" in " ".join(text.get_text().replace("\n", " ") for text in figure.texts)


def test_shares_of_train_are_in_their_own_figure_alone(rich_rows: pd.DataFrame, rows: pd.DataFrame) -> None:
    linear = rich_rows[~rich_rows["probe"].isin(["mix"])]
    assert accuracy_table(linear, *CORPUS) == accuracy_table(rows, *CORPUS)
    found = sample_efficiency(rich_rows)
    assert found
    trained, untrained = found.figure.axes
    assert drawn(trained, "layer 1") == [(0.1, 67.5), (1, 77), (10, 91.25), (100, 95)]
    assert drawn(untrained, "layer 1")[-1] == (100, 88.5)
    assert trained.get_xscale() == "log"


def test_each_measure_has_a_panel_that_names_its_best_layer(rich_rows: pd.DataFrame) -> None:
    found = measures_by_layer(rich_rows)
    assert found
    assert [axes.get_title(loc="left").split("\n")[-1] for axes in found.figure.axes] == [
        "best: layer 1",
        "best: layer 2",
        "best: layer 1 (90.5 kbit)",
        "best: layer 1",
    ]
    assert drawn(found.figure.axes[1], "net") == [(0, 12), (1, 24), (2, 33)]


def test_the_mix_s_weights_are_bars_with_their_range_and_equal_weights_are_a_line(rich_rows: pd.DataFrame) -> None:
    found = mix_weights(rich_rows)
    assert found
    (axes,) = found.figure.axes
    heights = [round(float(bar.get_height()), 6) for bar in axes.patches]  # type: ignore[attr-defined]
    assert heights == [0.2, 0.52, 0.28] * 2
    ranges = next(one for one in axes.collections if isinstance(one, LineCollection))
    assert [tuple(np.round(line[:, 1], 6)) for line in ranges.get_segments()][1] == (0.5, 0.54)
    levels = {tuple(np.asarray(line.get_ydata()).tolist()) for line in axes.lines}
    assert (1 / 3, 1 / 3) in levels
