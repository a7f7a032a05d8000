import numpy as np
import pandas as pd
import pytest

from probing.report.depth import layer_axis
from probing.report.figures import accuracy_by_layer
from probing.report.measure_figures import measures_by_layer, mix_weights
from probing.report.series import Series
from probing.results import COLUMNS, Measured
from tests.probing.report.conftest import network_rows, one_row

CORPUS = ("pos-upos", "toy-corpus")


def series(encoder: str, *views: str) -> Series:
    return Series(encoder, 0, dict.fromkeys(views, Measured(0.5, 0.4, 0.6, 10, 1)))


SHALLOW, DEEP = series("net", "0", "1", "2", "mean"), series("deep", *"0123456", "mean", "mix")


def unequal() -> pd.DataFrame:
    """Return rows of networks with three and with seven layers."""
    rows = network_rows("net", "", {"0": 0.88, "1": 0.95, "2": 0.94, "mean": 0.95})
    rows += network_rows("deep", "", {str(layer): 0.80 + 0.01 * layer for layer in range(7)} | {"mean": 0.9})
    return pd.DataFrame(rows, columns=list(COLUMNS))


def test_networks_of_the_same_depth_have_their_layers_at_their_number_and_other_views_after_a_gap() -> None:
    axis = layer_axis([series("net", "0", "1", "12", "mean", "concat"), series("other", "0", "12")])
    assert not axis.relative
    assert [axis.at("net", view) for view in ("0", "1", "12", "mean", "concat")] == [0, 1, 12, 14, 16]
    assert axis.ticks(7) == {0: "0", 1: "1", 12: "12"}
    assert axis.named("net") == "net"
    assert axis.note == ""


def test_networks_of_different_depth_have_layer_k_of_n_at_k_over_n_less_one() -> None:
    axis = layer_axis([SHALLOW, DEEP])
    assert [axis.at("net", view) for view in "012"] == [0, 0.5, 1]
    assert [axis.at("deep", view) for view in "0236"] == pytest.approx([0, 1 / 3, 0.5, 1])
    assert axis.at("net", "mean") == axis.at("deep", "mean") > 1
    assert axis.at("deep", "mix") > axis.at("deep", "mean")


def test_each_depth_has_a_line_of_layer_numbers_below_the_axis() -> None:
    axis = layer_axis([SHALLOW, DEEP])
    ticks = axis.ticks(13)
    assert [ticks[place] for place in sorted(ticks)] == ["0\n0", "\n1", "\n2", "1\n3", "\n4", "\n5", "2\n6"]
    assert (axis.named("net"), axis.named("deep")) == ("net, 3 layers", "deep, 7 layers")


def test_of_many_layers_some_are_numbered_and_the_first_and_the_top_one_always() -> None:
    axis = layer_axis([SHALLOW, series("deeper", *map(str, range(25)))])
    numbers = [text.split("\n")[1] for _, text in sorted(axis.ticks(7).items())]
    assert [number for number in numbers if number] == ["0", "4", "8", "12", "16", "20", "24"]
    numbers = [text.split("\n")[1] for _, text in sorted(axis.ticks(6).items())]
    assert [number for number in numbers if number] == ["0", "5", "10", "15", "24"]


def test_a_network_is_as_deep_as_its_names_say_where_not_all_of_its_layers_are_drawn() -> None:
    axis = layer_axis([SHALLOW, series("deep", "0", "2")], {"deep": list("abcdefg")})
    assert axis.at("deep", "2") == pytest.approx(1 / 3)
    assert axis.at("net", "2") == 1


def test_a_network_with_a_single_layer_has_it_where_the_first_layers_are() -> None:
    assert layer_axis([SHALLOW, series("vectors", "0")]).at("vectors", "0") == 0


def test_a_network_without_a_single_layer_drawn_makes_no_depths_unequal() -> None:
    axis = layer_axis([SHALLOW, series("deep", "mean")], {"deep": list("abcdefg"), "net": list("abc")})
    assert not axis.relative
    assert axis.named("deep") == "deep"


def test_the_figure_of_networks_of_different_depth_draws_each_layer_at_its_relative_depth() -> None:
    figure = accuracy_by_layer(unequal(), *CORPUS)
    (axes,) = figure.axes
    drawn = {str(line.get_label()): line for line in axes.lines if line.get_linestyle() == "-"}
    x, y = np.asarray(drawn["deep"].get_xydata()).T
    assert np.diff(x) == pytest.approx([1 / 6] * 6)
    assert y == pytest.approx([80, 81, 82, 83, 84, 85, 86])
    x, y = np.asarray(drawn["net"].get_xydata()).T
    assert np.diff(x) == pytest.approx([0.5, 0.5])
    assert y == pytest.approx([88, 95, 94])
    assert axes.get_xlabel() == "layer, at its relative depth"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["net, 3 layers", "deep, 7 layers"]
    said = " ".join(text.get_text().replace("\n", " ") for text in [*figure.texts, *axes.texts])
    assert "The networks have 3 and 7 layers" in said
    assert "3 layers: 7 layers:" in said


def test_the_best_layers_of_several_networks_are_named_with_their_network() -> None:
    more = [one_row(view, "control", "selectivity", 0.2, encoder="net") for view in "012"]
    more += [one_row(view, "control", "selectivity", 0.2, encoder="deep") for view in "0123456"]
    found = measures_by_layer(pd.concat([unequal(), pd.DataFrame(more, columns=list(COLUMNS))]))
    assert found
    first, second = found.figure.axes
    assert first.get_title(loc="left").split("\n")[1:] == ["best of net: 1", "best of deep: 6"]
    (deep,) = (line for line in second.lines if line.get_label() == "deep")
    assert np.asarray(deep.get_xdata()) == pytest.approx(np.arange(7) / 6)


def test_mixes_of_networks_of_different_depth_have_panels_with_an_equal_share_of_their_own() -> None:
    rows = [
        one_row("mix", "mix", f"mix_weight_{layer}", 1 / depth, encoder=encoder, split="train")
        for encoder, depth in (("net", 3), ("deep", 7))
        for layer in range(depth)
    ]
    found = mix_weights(pd.DataFrame(rows, columns=list(COLUMNS)))
    assert found
    assert [len(axes.patches) for axes in found.figure.axes] == [3, 7]
    levels = [np.asarray(axes.lines[0].get_ydata()).tolist() for axes in found.figure.axes]
    assert levels == [pytest.approx([1 / 3] * 2), pytest.approx([1 / 7] * 2)]
