"""Our numbers beside the published ones: one table, one picture, and what can be compared."""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from probing.report.canvas import COLOURS, GREY, MARKERS, draw_spread, frame, house_style
from probing.report.document import Block, Paragraph, Picture, Table, Text
from probing.report.inputs import Inputs
from probing.report.measures import KBIT, written
from probing.report.published import COMPARISONS, UNITS, Comparison, Published, published
from probing.report.series import BASELINES, whole
from probing.report.tables import NOTHING, percent
from probing.results import SCORES, UNTRAINED, measured, ordered_views, scores, select

_SCALES = {"%": 0.01, "points": 0.01, "kbit": float(KBIT), "×": 1.0}
_NAMES = {"accuracy": "accuracy", "f1": "F1", "codelength_bits": "codelength"}
_NAMES |= {name: name for name in ("selectivity", "compression")}


def beside_blocks(inputs: Inputs) -> Iterator[Block]:
    """Yield what can be compared, the table of ours and theirs and, where they have layers, the picture.

    Raises
    ------
    UserError
        If the config names published numbers that are not known.
    """
    key = inputs.settings.published
    records = published(key)
    comparison = COMPARISONS[key]
    yield Paragraph(f"{comparison.title}. {comparison.comparable}")
    if not records:
        return
    if comparison.probe:
        yield _settings_table(inputs, key, records, comparison)
        return
    metrics = dict.fromkeys(record.metric for record in records)
    ours = {metric: _ours(inputs.rows, metric, records, comparison) for metric in metrics}
    confidence = inputs.settings.bootstrap.confidence
    layered = [metric for metric in ours if any(r.view.isdecimal() for r in records if r.metric == metric)]
    if layered and comparison.task:
        figure, told = _picture(records, {metric: ours[metric] for metric in layered}, comparison)
        yield Picture(f"beside-{key}", f"{comparison.title}, and ours. {told}", figure)
    lines: list[tuple[Text, ...]] = []
    for metric, rows in ours.items():
        unit = UNITS[metric]
        write = _writer(unit)
        for system, view, own in _cells(rows):
            text = written(own, write, confidence)
            source = f"ours, {own['corpus'].iloc[0]}"
            lines.append((_heading(metric, ""), system, view or NOTHING, source, "", text))
        for record in records:
            if record.metric == metric:
                heading, value = _heading(metric, record.task), f"{record.value:g}"
                note = record.note
                lines.append((heading, record.system, record.view or NOTHING, record.source, note, value))
    header = ("measure", "network or system", "view", "source", "note", "value")
    caption = f"Ours beside {comparison.title}"
    yield Table(header, tuple(lines), caption, text_columns=5, name=f"beside-{key}")


def _settings_table(inputs: Inputs, key: str, records: Sequence[Published], comparison: Comparison) -> Table:
    """Return our conditions and their settings, a line each, with a column for each task of ours and of theirs."""
    confidence = inputs.settings.bootstrap.confidence
    rows = whole(select(scores(inputs.rows), probe=comparison.probe, split=comparison.split, subset="all"))
    ours = {
        f"ours: {task} on {corpus}, {encoder} ({SCORES[own['metric'].iloc[0]]}, %)": own
        for (task, corpus, encoder), own in rows.groupby(["task", "corpus", "encoder"], sort=False)
    }
    theirs = {record.task: f"{record.task} ({SCORES[record.metric]}, %)" for record in records}
    values = {(record.system, record.task): f"{record.value:.1f}" for record in records}
    conditions = ordered_views(rows["view"])
    pairs: list[tuple[str, str]] = []
    for system, view in {record.system: record.view for record in records}.items():
        pairs += [(system, one) for one in conditions if _is_setting(one, view)] or [(system, "")]
    pairs += [("", one) for one in conditions if one not in {condition for _, condition in pairs}]
    lines: list[tuple[Text, ...]] = []
    for system, one in pairs:
        our_cells = [written(select(own, view=one), percent, confidence) for own in ours.values()]
        their_cells = [values.get((system, task), NOTHING) for task in theirs]
        lines.append((system or NOTHING, one or NOTHING, *our_cells, *their_cells))
    header = ("setting of the paper", "condition of ours", *ours, *theirs.values())
    caption = f"Ours beside {comparison.title} ({records[0].source})"
    return Table(header, tuple(lines), caption, text_columns=2, name=f"beside-{key}")


def _is_setting(condition: str, view: str) -> bool:
    """Tell whether a condition of ours is a setting of theirs: a place for all layers, or layers at whatever place."""
    place, *rest = condition.removesuffix(" lambda=0.001").split()  # the paper's penalty, named or left out
    if view in ("none", "input", "output", "both"):
        return place == view and not rest
    return place != "none" and rest == ([] if view == "lambda=0.001" else [view])


def _heading(metric: str, task: str) -> str:
    return f"{_NAMES[metric]} ({UNITS[metric]}){f', {task}' if task else ''}"


def _ours(rows: pd.DataFrame, metric: str, records: Sequence[Published], comparison: Comparison) -> pd.DataFrame:
    """Return our rows that can stand beside the records of one metric, baselines among them."""
    rows = whole(select(rows, metric=metric, split=comparison.split, subset="all"))
    if not comparison.task:
        return rows[:0]
    probes = {record.probe for record in records if record.metric == metric}
    if metric in ("accuracy", "f1"):
        probes |= set(BASELINES)
    ours = rows["task"].str.startswith(comparison.task)
    # A control's accuracy is not the task's: a record of "selectivity" asks for the probe control, one of accuracy not.
    return rows[ours & rows["probe"].isin(sorted(probes))]


def _cells(rows: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield (network or baseline, view, rows that differ by seed)."""
    several = rows["task"].nunique() > 1
    for task in dict.fromkeys(rows["task"]):
        here = select(rows, task=task)
        for probe in (name for name in BASELINES if name in set(here["probe"])):
            yield _system(BASELINES[probe], task if several else ""), "", select(here, probe=probe)
        for encoder in (name for name in dict.fromkeys(here["encoder"]) if name):
            own = select(here, encoder=encoder)
            for view in ordered_views(own["view"]):
                yield _system(encoder, task if several else ""), view, select(own, view=view)


def _system(name: str, task: str) -> str:
    return f"{name}, {task}" if task else name


def _writer(unit: str) -> Callable[[float], str]:
    digits = 2 if unit in ("%", "points", "×") else 1
    return lambda value: f"{value / _SCALES[unit]:,.{digits}f}"


def _picture(records: Sequence[Published], ours: dict[str, pd.DataFrame], comparison: Comparison) -> tuple[Figure, str]:
    """Draw a panel for each measure: ours filled with intervals, theirs hollow."""
    mine = list(dict.fromkeys(system for rows in ours.values() for system, view, _ in _cells(rows) if view.isdecimal()))
    theirs = list(dict.fromkeys(record.system for record in records if record.view.isdecimal()))
    looks = _looks(mine, theirs)
    note = (
        f"{comparison.comparable} Filled: ours, with intervals or the range of seeds (untrained: dashed). Hollow "
        "markers and dotted lines: as published."
    )
    words = []
    with house_style():
        handles = [Line2D([], [], **look) for look in looks.values()]
        width = 6.6 if len(ours) == 1 else 7.6
        figure, grid = frame(
            "Our layers beside the published ones", handles, note, (1, len(ours)), columns=2, width=width, middle=3.0
        )
        for axes, (metric, rows) in zip(grid, ours.items(), strict=True):
            words += _draw(axes, rows, [record for record in records if record.metric == metric], looks)
            axes.set_ylabel(f"{_NAMES[metric]} ({UNITS[metric]})")
            axes.set_xlabel("layer")
    return figure, " ".join(words)


def _looks(mine: Sequence[str], theirs: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Ours are filled, dashed and smaller where untrained; theirs are hollow. A network has one colour."""
    families = list(dict.fromkeys([*(name.replace(UNTRAINED, "") for name in mine), *theirs]))
    looks = {}
    for name in (*mine, *theirs):
        index = families.index(name.replace(UNTRAINED, "")) % len(COLOURS)
        untrained = UNTRAINED in name
        looks[name] = {
            "color": COLOURS[index],
            "marker": MARKERS[index],
            "markersize": 4 if untrained else 5.5,
            "linestyle": "--" if untrained else ":" if name in theirs else "-",
            "markerfacecolor": COLOURS[index] if name in mine else "white",
            "label": f"{name} ({'ours' if name in mine else 'published'})",
        }
    return looks


def _draw(axes: Axes, rows: pd.DataFrame, records: Sequence[Published], looks: dict[str, dict[str, Any]]) -> list[str]:
    words = []
    metric = records[0].metric
    scale = _SCALES[UNITS[metric]]
    cells = [(s, v, cell) for s, v, own in _cells(rows) if v.isdecimal() and (cell := measured(own))]
    for name, look in looks.items():
        own = [(int(view), cell) for system, view, cell in cells if system == name]
        told = [(int(r.view), r.value) for r in records if r.system == name and r.view.isdecimal()]
        points = [(layer, cell.value / scale) for layer, cell in own] or told
        if own:
            low, high = np.array([(cell.low, cell.high) for _, cell in own]).T / scale
            at = np.array([float(layer) for layer, _ in own])
            draw_spread(axes, at, low, high, np.array([c.seeds > 1 for _, c in own]), look["color"], banded=True)
        if points:
            axes.plot(*zip(*points, strict=True), **look)
            listed = ", ".join(f"layer {layer} {value:.1f}" for layer, value in points)
            words.append(f"{_NAMES[metric]} of {look['label']}: {listed}.")
    layers = sorted({int(line) for plotted in axes.lines for line in np.asarray(plotted.get_xdata()).round().tolist()})
    axes.set_xticks(layers)
    axes.set_xlim(min(layers) - 0.4, max(layers) + 0.4)
    _draw_levels(axes, {record.system: record.value for record in records if not record.view})
    return words


def _draw_levels(axes: Axes, levels: dict[str, float]) -> None:
    """Draw what has no layers as lines, and name them in the right margin, one under another where they are near."""
    for value in levels.values():
        axes.axhline(value, color=GREY, linestyle=":", linewidth=0.8, zorder=1)
    bottom, top = axes.get_ylim()
    room, place = 0.075 * (top - bottom), top + 1
    for name, value in sorted(levels.items(), key=lambda item: -item[1]):
        place = min(value, place - room)
        style: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "fontsize": 7, "color": GREY}
        axes.text(1.02, place, textwrap.fill(f"{name} {value:g}", 30), va="center", linespacing=0.95, **style)
