"""Accuracy by layer, drawn from result rows alone; `canvas` says how figures look."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from probing.report.canvas import COLOURS, GREY, MARKERS, draw_spread, frame, house_style
from probing.report.depth import LayerAxis, layer_axis
from probing.report.series import (
    BASELINES,
    SUBSETS,
    Panel,
    Series,
    capital,
    footnote,
    shared_layer_names,
    subset_panels,
    task_name,
    vertical_limits,
)
from probing.statistics import CONFIDENCE

_BASELINE_LINES: dict[str, Any] = dict(zip(BASELINES, (":", (0, (6, 2)), (0, (6, 2)), ":"), strict=True))
_MOST_SIDE_BY_SIDE, _MOST_NAMED = 5, 7  # views for which there is room in each of three panels, and for layers' names
_MOST_COLUMNS = 3  # panels side by side; more go on in a row below
_MOST_NUMBERS = 13  # of layers in a line below an axis of relative depth


def accuracy_by_layer(
    rows: pd.DataFrame,
    task: str,
    corpus: str,
    *,
    probe: str = "linear",
    split: str = "test",
    confidence: float = CONFIDENCE,
    layer_names: Mapping[str, Sequence[str]] | None = None,
) -> Figure:
    """Draw the accuracy of every encoder's layers, in their order, and of the views that join all layers.

    Layers stand at their number; where encoders have different numbers of layers, at their relative depth.

    Parameters
    ----------
    rows : DataFrame with the columns `probing.results.COLUMNS`
    task, corpus, probe, split : str
        Which rows are drawn. Those of the baselines, which see no vectors, are drawn as horizontal lines.
    confidence : float
        Of the rows' intervals; only written in the footnote.
    layer_names : mapping from encoder to the names of its layers, optional
        Written under the layers' numbers where there is room and all encoders agree; also says how many layers an
        encoder has, where not all of them are drawn.

    Returns
    -------
    Figure
        In percent. An encoder with one row a view has its interval as bars; one with several seeds is drawn as their
        mean with a band for their range. A baseline far from all else is named at the axis' end, not drawn.

    Raises
    ------
    ValueError
        If no row is of this task, corpus, split and probe.
    """
    panels = subset_panels(rows, task, corpus, probe, split, ["all"])
    title = f"From which layer does a {probe} probe best read {task_name(task)}?"
    return _draw(title, f"{corpus}, {split}", panels, confidence, layer_names or {})


def accuracy_by_subset(
    rows: pd.DataFrame,
    task: str,
    corpus: str,
    *,
    probe: str = "linear",
    split: str = "test",
    confidence: float = CONFIDENCE,
    layer_names: Mapping[str, Sequence[str]] | None = None,
) -> Figure:
    """Draw a panel for all examples and for each subset of them that says most about context.

    Parameters and errors are those of `accuracy_by_layer`; layers' names are not written. A subset without examples
    has no panel. The panels' vertical axes differ, and the footnote says so: what is to be compared are the layers
    within a panel.
    """
    panels = subset_panels(rows, task, corpus, probe, split, list(SUBSETS))
    title = f"From which layer does a {probe} probe best read {task_name(task)}, by kind of example?"
    return _draw(title, f"{corpus}, {split}", panels, confidence, layer_names or {}, named=False)


def accuracy_by_task(
    rows: pd.DataFrame,
    tasks: Sequence[tuple[str, str, str]],
    *,
    split: str = "test",
    confidence: float = CONFIDENCE,
    layer_names: Mapping[str, Sequence[str]] | None = None,
) -> Figure:
    """Draw a panel for each of several tasks: the same layers of the same networks, side by side.

    Parameters
    ----------
    rows, split, confidence, layer_names
        As in `accuracy_by_layer`.
    tasks : sequence of (task, corpus, probe)
        A panel each.

    Raises
    ------
    ValueError
        If a task has no row.
    """
    panels = []
    for task, corpus, probe in tasks:
        (panel,) = subset_panels(rows, task, corpus, probe, split, ["all"])
        title = f"{task_name(task)}, {probe} probe\n{corpus}, n = {panel.series[0].n:,}"
        panels.append(panel._replace(title=capital(title)))
    return _draw("What does each layer know?", capital(split), panels, confidence, layer_names or {})


def _draw(
    title: str,
    data: str,
    panels: Sequence[Panel],
    confidence: float,
    layer_names: Mapping[str, Sequence[str]],
    *,
    named: bool = True,
) -> Figure:
    series = panels[0].series
    axis = layer_axis([one for panel in panels for one in panel.series], layer_names)  # one task may have more views
    names = shared_layer_names(series, layer_names) if named else ()
    several = len(panels) > 1
    stacked = several and axis.views > _MOST_SIDE_BY_SIDE
    columns = 1 if stacked else min(len(panels), _MOST_COLUMNS)
    if columns < len(panels) and not stacked:
        names = ()  # no room for the layers' names
    with house_style():
        shape = (-(-len(panels) // columns), columns)
        note = f"{footnote(data, panels, confidence)} {axis.note}".rstrip()
        figure, grid = _frame(title, series, axis, note, shape)
        for unused in grid[len(panels) :]:
            unused.remove()
        for index, (axes, panel) in enumerate(zip(grid, panels, strict=False)):
            axes.set_ylim(vertical_limits(panel.series, panel.levels))
            _label_views(axes, axis, names, headed=index + columns >= len(panels))
            _draw_series(axes, panel.series, axis)
            draw_baselines(axes, panel.levels, "\n" if several and not stacked else " ")
            if several:
                axes.set_title(panel.title, loc="left")
            if index % columns == 0 or panel.measure != panels[index - 1].measure:
                axes.set_ylabel(panel.measure)
            if index + columns < len(panels):  # another panel stands below it
                axes.set_xlabel("")
    return figure


def _frame(
    title: str, series: Sequence[Series], axis: LayerAxis, note: str, shape: tuple[int, int]
) -> tuple[Figure, list[Axes]]:
    width = {1: 6.6, 2: 7.6}.get(shape[1], 7.6 if shape[0] == 1 else 9.6)
    fitting = max(1, int(width * 13 / (max(len(axis.named(one.encoder)) for one in series) + 7)))
    # Two columns put trained networks on the left and the same networks untrained beside them.
    columns = min(fitting, len(series) if all(one.trained for one in series) else 2)
    stacked = 2.4 if axis.relative and shape[0] < 3 else 1.9
    middle = 3.2 if shape[0] == 1 else (stacked if shape[1] == 1 else 2.5) * shape[0]
    return frame(title, legend(series, axis), note, shape, columns=columns, width=width, middle=middle)


def legend(series: Sequence[Series], axis: LayerAxis) -> list[Line2D]:
    """Return what a legend shows of networks; with their number of layers where they differ in it."""
    drawn = [look(one) | {"label": axis.named(one.encoder)} for one in series]
    return [
        Line2D([], [], linestyle="-" if one.trained else "--", **as_is)
        for one, as_is in zip(series, drawn, strict=True)
    ]


def look(one: Series) -> dict[str, Any]:
    """Trained networks are solid and filled, untrained ones hollow and thin."""
    colour = COLOURS[one.family % len(COLOURS)]
    return {
        "color": colour,
        "marker": MARKERS[one.family % len(MARKERS)],
        "markerfacecolor": colour if one.trained else "white",
        "linewidth": 1.6 if one.trained else 1.0,
        "label": one.encoder,
    }


def _label_views(axes: Axes, axis: LayerAxis, names: Sequence[str], *, headed: bool) -> None:
    ticks = axis.ticks(_MOST_NUMBERS)
    if not axis.relative and axis.views <= _MOST_NAMED and max(axis.layers, default=0) < len(names):
        ticks = {place: f"{text}\n{textwrap.fill(names[int(place)], 10)}" for place, text in ticks.items()}
    ticks |= {place: view for view, place in axis.others.items()}
    axes.set_xticks(list(ticks), list(ticks.values()))
    left, right = min(ticks), max(ticks)
    margin = 0.05 * (right - left)
    left, right = left - max(0.4 * axis.unit, margin), right + max(0.75 * axis.unit, margin)
    axes.set_xlim(left, right)
    layers = axis.layers
    if layers and axis.others:
        axes.axvline((layers[-1] + min(axis.others.values())) / 2, color="#BBBBBB", linewidth=0.8)
    middle = (float(np.mean(layers)) - left) / (right - left) if layers else 0.5
    axes.set_xlabel("layer, at its relative depth" if axis.relative else "layer", x=middle)
    if axis.relative and headed:
        _head_numbers(axes, axis)


def _head_numbers(axes: Axes, axis: LayerAxis) -> None:
    """Say, left of the lines of numbers below an axis of relative depth, of how many layers each line is."""
    said = "\n".join(f"{depth} layers:" for depth in axis.drawn)
    place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "ha": "right", "va": "top"}
    axes.annotate(said, (0, 0), (-4, -7), fontsize="medium", **place)


def _draw_series(axes: Axes, series: Sequence[Series], axis: LayerAxis) -> None:
    left, right = axes.get_xlim()
    dodge = min(0.014 * (right - left), 0.7 * axis.unit / len(series))  # so that the encoders' bars can be told apart
    for index, one in enumerate(series):
        shift = (index - (len(series) - 1) / 2) * dodge
        drawn_as = look(one)
        for layers in (True, False):  # a line joins the layers; nothing joins views that have no order
            views = [view for view in one.cells if view.isdecimal() == layers]
            if not views:
                continue
            x = np.array([axis.at(one.encoder, view) + shift for view in views])
            cells = [one.cells[view] for view in views]
            value, low, high = 100 * np.array([(cell.value, cell.low, cell.high) for cell in cells]).T
            ranged = np.array([cell.seeds > 1 for cell in cells])
            draw_spread(axes, x, low, high, ranged, drawn_as["color"], banded=layers, label=drawn_as["label"])
            line = ("-" if one.trained else "--") if layers else "none"
            axes.plot(x, value, linestyle=line, **drawn_as)


def draw_baselines(axes: Axes, levels: Mapping[str, float], between_words: str) -> None:
    """Draw the baselines within the axis and name all of them in the right margin, where no data are."""
    bottom, top = axes.get_ylim()
    style: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "fontsize": 7, "color": GREY}
    texts = {n: BASELINES[n].replace(" ", between_words) + f"\n{level:.1f}" for n, level in levels.items()}
    below = [f"{texts[name]} ↓" for name, level in levels.items() if level < bottom]
    above = [f"{texts[name]} ↑" for name, level in levels.items() if level > top]
    axes.text(1.02, bottom, "\n".join(below), va="top", **style)
    axes.text(1.02, top, "\n".join(above), va="bottom", **style)
    inside = sorted((n for n, level in levels.items() if bottom <= level <= top), key=levels.__getitem__, reverse=True)
    for name in inside:
        line = _BASELINE_LINES[name]
        axes.axhline(levels[name], color=GREY, linewidth=1.0, linestyle=line, label=BASELINES[name], zorder=1)
    room = (top - bottom) * 0.2  # for one name; two whose lines are nearer stand together, the higher line's first
    touching = len(inside) == 2 and levels[inside[0]] - levels[inside[1]] < room
    for group in [inside] if touching else [[name] for name in inside]:
        half = len(group) * room / 2
        place = min(max(float(np.mean([levels[name] for name in group])), bottom + half), top - half)
        axes.text(1.02, place, "\n".join(texts[name] for name in group), va="center", **style)
