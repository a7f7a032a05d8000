from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from probing.report.canvas import save
from probing.report.figures import accuracy_by_layer, accuracy_by_subset, accuracy_by_task
from probing.results import UNTRAINED

CORPUS = ("pos-upos", "toy-corpus")
NAMES = {"net": ["token encoder", "LSTM 1", "LSTM 2"]}


def points(axes: Axes, encoder: str) -> dict[float, float]:
    """Read back what is drawn of an encoder: value by (undodged) position."""
    drawn: dict[float, float] = {}
    for line in axes.lines:
        if line.get_label() == encoder:
            x, y = np.asarray(line.get_xydata()).T
            drawn |= dict(zip(np.round(x).tolist(), y.tolist(), strict=True))
    return drawn


def bars(axes: Axes, encoder: str) -> list[tuple[float, float]]:
    """Read back the ends of an encoder's bars."""
    found = []
    for container in axes.containers:
        if isinstance(container, ErrorbarContainer) and container.get_label() == encoder:
            for collection in container.lines[2]:
                found += [(float(low), float(high)) for (_, low), (_, high) in collection.get_segments()]
    return found


def texts(figure: Figure) -> str:
    found = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
    return " ".join(text.get_text() for text in found).replace("\n", " ")


def deep(rows: pd.DataFrame, encoders: int, n_layers: int) -> pd.DataFrame:
    """Return rows of several networks of which the last has `n_layers` layers."""
    baselines, networks = rows[rows["encoder"] == ""], rows[rows["encoder"] != ""]
    layer = networks[networks["view"] == "1"]
    found = [baselines]
    for number in range(encoders):
        shallow = networks[networks["view"].isin(["0", "1"])] if n_layers < 3 else networks
        more = [layer.assign(view=str(view)) for view in range(3, n_layers)] if number == encoders - 1 else []
        one = pd.concat([shallow, networks[~networks["view"].str.isdecimal()], *more]).drop_duplicates()
        found.append(one.assign(encoder=one["encoder"].str.replace("net", f"a-network-{number}")))
    return pd.concat(found)


def test_every_value_of_the_rows_is_drawn_in_percent_and_nothing_else(rows: pd.DataFrame) -> None:
    axes = accuracy_by_layer(rows, *CORPUS).axes[0]
    trained, untrained = points(axes, "net"), points(axes, f"net{UNTRAINED}")
    assert trained == pytest.approx({0: 88, 1: 95, 2: 94, 3: 95.1, 5: 95.3})  # mean at 3.4, concat at 4.8
    assert untrained == pytest.approx({0: 85.5, 1: 88.5, 2: 87.5, 3: 89, 5: 89.5})
    named = {str(line.get_label()) for line in axes.lines}
    assert {name for name in named if not name.startswith("_")} == {"net", f"net{UNTRAINED}", "type majority"}


def test_bars_are_the_intervals_of_the_rows(rows: pd.DataFrame) -> None:
    axes = accuracy_by_layer(rows, *CORPUS).axes[0]
    expected = [(value - 0.4, value + 0.5) for value in (88, 95, 94, 95.1, 95.3)]
    np.testing.assert_allclose(bars(axes, "net"), expected)


def test_an_interval_that_does_not_contain_the_value_is_drawn_as_it_is(rows: pd.DataFrame) -> None:
    rows.loc[(rows["encoder"] == "net") & (rows["view"] == "1"), "value"] = 0.96
    axes = accuracy_by_layer(rows, *CORPUS).axes[0]
    assert points(axes, "net")[1] == pytest.approx(96)
    assert bars(axes, "net")[1] == pytest.approx((94.6, 95.5))


def test_several_seeds_have_a_band_for_their_range_and_no_bars(rows: pd.DataFrame) -> None:
    axes = accuracy_by_layer(rows, *CORPUS).axes[0]
    (band,) = [c for c in axes.collections if isinstance(c, PolyCollection)]
    outline = np.asarray(band.get_paths()[0].vertices)
    assert {round(float(y), 6) for y in outline[:, 1]} == {85, 86, 87, 88, 89}
    assert bars(axes, f"net{UNTRAINED}") == []


def test_a_single_untrained_seed_has_bars_and_the_footnote_says_that_it_is_one(rows: pd.DataFrame) -> None:
    figure = accuracy_by_layer(rows[rows["encoder_seed"].isin(["", "0"])], *CORPUS)
    assert len(bars(figure.axes[0], f"net{UNTRAINED}")) == 5
    assert "Untrained networks: one seed." in texts(figure)
    assert "seeds" not in texts(figure)


def test_only_the_layers_are_joined_by_a_line(rows: pd.DataFrame) -> None:
    axes = accuracy_by_layer(rows, *CORPUS).axes[0]
    styles = [line.get_linestyle() for line in axes.lines if str(line.get_label()).startswith("net")]
    assert styles == ["-", "None", "--", "None"]


def test_a_baseline_near_the_data_is_a_line_and_one_far_below_is_named_at_the_end_of_the_axis(
    rows: pd.DataFrame,
) -> None:
    figure = accuracy_by_layer(rows, *CORPUS)
    axes = figure.axes[0]
    levels = {line.get_label(): np.asarray(line.get_ydata()).tolist() for line in axes.lines}
    assert levels["type majority"] == pytest.approx([86, 86])
    assert "majority class" not in levels
    assert "majority class 40.0 ↓" in texts(figure)
    assert "An arrow marks a baseline beyond the axis." in texts(figure)
    bottom, top = axes.get_ylim()
    assert 83 < bottom < 85 < 95.8 < top < 98


def test_the_axis_names_layers_in_order_and_the_other_views_after_a_gap(rows: pd.DataFrame) -> None:
    axes = accuracy_by_layer(rows.iloc[::-1], *CORPUS, layer_names=NAMES).axes[0]
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels[:3] == ["0\ntoken\nencoder", "1\nLSTM 1", "2\nLSTM 2"]
    assert sorted(labels[3:]) == ["concat", "mean"]
    assert np.diff(axes.get_xticks())[:3] == pytest.approx([1, 1, 1.4])


def test_layers_are_named_only_where_all_networks_agree(rows: pd.DataFrame) -> None:
    names = NAMES | {f"net{UNTRAINED}": ["embedding", "block 1", "block 2"]}
    axes = accuracy_by_layer(rows, *CORPUS, layer_names=names).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()][:3] == ["0", "1", "2"]


def test_the_footnote_says_what_is_shown_and_what_is_resampled(rows: pd.DataFrame) -> None:
    said = texts(accuracy_by_layer(rows, *CORPUS, confidence=0.9))
    assert "toy-corpus, test, n = 2,000 examples." in said
    assert "90 % percentile interval from resampling sentences" in said
    assert "lowest to highest of 3 seeds" in said
    assert "does not start at 0" in said


def test_the_title_is_a_question(rows: pd.DataFrame) -> None:
    title = accuracy_by_layer(rows, *CORPUS).get_suptitle().replace("\n", " ")
    assert title == "From which layer does a linear probe best read universal parts of speech?"


def test_each_subset_has_a_panel_with_its_own_values(rows: pd.DataFrame) -> None:
    figure = accuracy_by_subset(rows, *CORPUS)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [
        "all examples (n = 2,000)",
        "ambiguous word forms (n = 1,000)",
        "unseen word forms (n = 200)",
    ]
    assert [points(axes, "net")[1] for axes in figure.axes] == pytest.approx([95, 85, 65])
    assert "axes differ" in texts(figure)


def test_a_subset_without_examples_has_no_panel(rows: pd.DataFrame) -> None:
    rows.loc[rows["subset"] == "unseen", ["value", "ci_low", "ci_high", "n"]] = [np.nan, np.nan, np.nan, 0]
    assert len(accuracy_by_subset(rows, *CORPUS).axes) == 2


def test_a_value_that_is_missing_is_left_out(rows: pd.DataFrame) -> None:
    rows.loc[(rows["encoder"] == "net") & (rows["view"] == "1"), ["value", "ci_low", "ci_high"]] = np.nan
    assert points(accuracy_by_layer(rows, *CORPUS).axes[0], "net") == pytest.approx({0: 88, 2: 94, 3: 95.1, 5: 95.3})


def test_rows_of_another_task_are_no_figure(rows: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="pos-xpos"):
        accuracy_by_layer(rows, "pos-xpos", "toy-corpus")


def test_networks_differ_by_colour_and_marker_and_an_untrained_one_has_its_network_s(rows: pd.DataFrame) -> None:
    axes = accuracy_by_layer(deep(rows, 3, 3), *CORPUS).axes[0]
    looks = {str(line.get_label()): (line.get_color(), line.get_marker()) for line in axes.lines}
    looks = {label: look for label, look in looks.items() if label.startswith("a-network")}
    assert len(looks) == 6
    assert len(set(looks.values())) == 3
    assert all(looks[f"a-network-{i}"] == looks[f"a-network-{i}{UNTRAINED}"] for i in range(3))


@pytest.mark.parametrize(("encoders", "n_layers"), [(1, 2), (3, 3), (1, 4), (1, 7), (3, 13)])
@pytest.mark.parametrize("draw", [accuracy_by_layer, accuracy_by_subset])
def test_no_text_covers_another_or_the_data_or_leaves_the_figure(
    draw: Callable[..., Figure], encoders: int, n_layers: int, rows: pd.DataFrame
) -> None:
    names = {"layer_names": {"a-network-0": [f"layer no. {view}" for view in range(n_layers)]}}
    more: dict[str, Any] = names if draw is accuracy_by_layer else {}
    figure = draw(deep(rows, encoders, n_layers), *CORPUS, **more)
    figure.draw_without_rendering()
    panels = [axes.get_window_extent() for axes in figure.axes]
    outside = [text.get_window_extent() for text in figure.texts]
    outside.append(figure.legends[0].get_window_extent())
    for axes in figure.axes:
        bottom, top = axes.get_ylim()
        labels = [label for label in axes.get_yticklabels() if bottom <= label.get_position()[1] <= top]
        labels += axes.get_xticklabels() if axes.xaxis.get_tick_params()["labelbottom"] else []
        labels += [*axes.texts, axes.xaxis.label, axes.yaxis.label]
        outside += [label.get_window_extent() for label in labels if label.get_text()]
    for one, other in combinations([*panels, *outside], 2):
        overlap = Bbox.intersection(one, other)
        assert overlap is None or min(overlap.width, overlap.height) < 1
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in outside)
    assert all(figure.bbox.y0 <= box.y0 and box.y1 <= figure.bbox.y1 for box in outside)


def test_the_files_are_the_same_bytes_whatever_settings_the_user_has(rows: pd.DataFrame, tmp_path: Path) -> None:
    save(accuracy_by_layer(rows, *CORPUS), tmp_path, "first")
    with matplotlib.rc_context({"font.size": 20, "svg.fonttype": "path", "axes.grid": False, "savefig.dpi": 50}):
        save(accuracy_by_layer(rows, *CORPUS), tmp_path, "second")
        assert matplotlib.rcParams["font.size"] == 20
    for ending in ("svg", "png"):
        assert (tmp_path / f"first.{ending}").read_bytes() == (tmp_path / f"second.{ending}").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first.png", "first.svg", "second.png", "second.svg"]


def test_the_svg_has_its_words_as_text_and_neither_file_has_a_date_or_a_version(
    rows: pd.DataFrame, tmp_path: Path
) -> None:
    save(accuracy_by_layer(rows, *CORPUS), tmp_path, "figure")
    svg = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert ">net (untrained)</text>" in svg
    assert "<title>From which layer" in svg
    for word in ("dc:date", "Matplotlib", matplotlib.__version__):
        assert word not in svg
        assert word.encode() not in (tmp_path / "figure.png").read_bytes()


def test_a_task_may_have_views_that_the_one_before_it_lacks(rows: pd.DataFrame) -> None:
    fewer = rows[~rows["view"].isin(["mean", "concat"])].assign(task="wsd")
    tasks = [("wsd", "toy-corpus", "linear"), ("pos-upos", "toy-corpus", "linear")]
    first, second = accuracy_by_task(pd.concat([fewer, rows]), tasks).axes
    assert [label.get_text() for label in first.get_xticklabels()] == ["0", "1", "2", "mean", "concat"]
    assert len(points(first, "net")) == 3
    assert list(points(second, "net").values()) == pytest.approx([88, 95, 94, 95.1, 95.3])
