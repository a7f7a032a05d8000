"""Downstream models, whose views are conditions: where the layers enter a model that is trained for the task.

Every seed is a model of its own, so that the spread over seeds is shown beside the mean; there is no layer to draw on
an axis, and nothing joins the conditions.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from probing.report.canvas import GREY, frame, house_style
from probing.report.depth import LayerAxis, layer_axis
from probing.report.document import Block, Paragraph, Table, Text
from probing.report.figures import draw_baselines, look
from probing.report.inputs import Inputs
from probing.report.measure_figures import Drawing
from probing.report.measures import number, written
from probing.report.series import (
    BASELINES,
    SUBSETS,
    WITHOUT,
    Panel,
    accuracy_series,
    capital,
    downstream_probes,
    subset_panels,
    task_name,
    told,
    vertical_limits,
    whole,
)
from probing.report.tables import NOTHING, accuracy_table, percent, student
from probing.results import Measured, measured, ordered_views, scores, select
from probing.statistics import CONFIDENCE

_SPLITS = ("dev", "test")
_FACT = re.compile(r"epochs|parameters|(input|output)_(weight_\d+|gamma)")
_MOST_SIDE_BY_SIDE = 5  # conditions for which there is room in panels side by side
_MOST_ON_TWO_LINES = 6  # conditions whose penalty has room beside "lambda="


def downstream_blocks(inputs: Inputs, task: str, corpus: str, probe: str, name: str) -> Iterator[Block]:
    """Yield what one downstream model reached in each condition: in words, then as tables."""
    rows, confidence = select(inputs.rows, task=task, corpus=corpus), inputs.settings.bootstrap.confidence
    if not select(whole(scores(rows)), probe=probe).empty:
        yield Paragraph(what_was_trained(rows, task, probe))
        yield conditions_table(rows, task, corpus, probe, confidence, name=name)
    if table := shares_table(rows, task, corpus, probe, confidence):
        yield table
    if table := fits_table(rows, task, corpus, probe, confidence):
        yield table
    if select(whole(scores(rows)), probe=probe)["subset"].isin(list(SUBSETS)[1:]).any():
        yield accuracy_table(rows, task, corpus, probe=probe, confidence=confidence, name=f"{name}-subsets")


def what_was_trained(rows: pd.DataFrame, task: str, probe: str) -> str:
    """Say in plain words which condition has the highest mean test score, beside the model without layers."""
    sentences = [
        f"A {probe} model was trained for {task_name(task)} in each condition; the network's layers are frozen."
    ]
    for one in accuracy_series(select(whole(scores(rows)), probe=probe, split="test"), "all"):
        highest = max(cell.value for cell in one.cells.values())
        best = [view for view, cell in one.cells.items() if cell.value == highest]
        verb = "has" if len(best) == 1 else "have equally"
        text = f"With {one.encoder}, {' and '.join(best)} {verb} the highest test score: {_said(one.cells[best[0]])}"
        if WITHOUT in one.cells and WITHOUT not in best:
            text += f"; {WITHOUT} has {_said(one.cells[WITHOUT])}"
        sentences.append(f"{text}.")
    return " ".join(sentences)


def _said(cell: Measured) -> str:
    return f"{percent(cell.value)} %" + (f" as the mean of {cell.seeds} seeds" if cell.seeds > 1 else "")


def conditions_table(
    rows: pd.DataFrame, task: str, corpus: str, probe: str, confidence: float = CONFIDENCE, *, name: str = ""
) -> Table:
    """Return the scores of a downstream model by condition.

    Parameters
    ----------
    rows : DataFrame with the columns `probing.results.COLUMNS`
    task, corpus, probe : str
        Which rows are shown, of models that were trained on all of train; the baselines come first.
    confidence : float
        Of the intervals.
    name : str
        The stem of the table's own files.

    Returns
    -------
    Table
        On dev and on test, in percent: the mean over seeds and their standard deviation in points; on test also
        Student's interval of that mean (of five seeds or more), the mean of each seed's own interval from resampling
        sentences, and by how many points the mean lies above that of the model without layers.
    """
    rows = select(whole(scores(rows)), task=task, corpus=corpus, subset="all")
    sizes = {split: max(select(rows, split=split)["n"], default=0) for split in _SPLITS}
    lines: list[tuple[Text, ...]] = []
    for baseline, called in BASELINES.items():
        if not select(rows, probe=baseline).empty:
            lines.append((called, NOTHING, *_numbers(select(rows, probe=baseline), rows[:0], confidence)))
    own = select(rows, probe=probe)
    for encoder in dict.fromkeys(own["encoder"]):
        here = select(own, encoder=encoder)
        without = select(here, view=WITHOUT)
        for view in ordered_views(here["view"]):
            reference = without if view != WITHOUT else without[:0]
            lines.append((encoder, view, *_numbers(select(here, view=view), reference, confidence)))
    around = f"[{100 * confidence:g} %]"
    header = (
        *("network", "condition", "seeds"),
        *(f"dev (n = {sizes['dev']:,})", "dev, SD", f"test (n = {sizes['test']:,})", "test, SD"),
        *(f"test, seeds {around}", f"test, sentences {around}", f"test, less {WITHOUT}"),
    )
    caption = f"{task} on {corpus}: scores of the {probe} model by condition, in %, mean of the seeds"
    return Table(header, tuple(lines), caption, text_columns=2, name=name)


def _numbers(rows: pd.DataFrame, reference: pd.DataFrame, confidence: float) -> list[Text]:
    dev, test = (select(rows, split=split) for split in _SPLITS)
    counts = [cell.seeds for cell in (measured(dev), measured(test)) if cell]
    cells: list[Text] = [str(max(counts)) if max(counts, default=1) > 1 else NOTHING]
    for split in (dev, test):
        cell = measured(split)
        values = split["value"].dropna()
        cells.append(percent(cell.value) if cell else NOTHING)
        cells.append(percent(float(values.std(ddof=1))) if len(values) > 1 else NOTHING)
    cells.append(_bracketed(student(test, confidence)))
    low, high = test["ci_low"].mean(), test["ci_high"].mean()
    cells.append(_bracketed(None if np.isnan(low) else (low, high)))
    now, before = measured(test), measured(select(reference, split="test"))
    cells.append(f"{100 * (now.value - before.value):+.2f}" if now and before else NOTHING)
    return cells


def _bracketed(interval: tuple[float, float] | None) -> str:
    return f"[{percent(interval[0])}, {percent(interval[1])}]" if interval else NOTHING


def shares_table(
    rows: pd.DataFrame, task: str, corpus: str, probe: str, confidence: float = CONFIDENCE
) -> Table | None:
    """Return the test scores of a downstream model by share of train; None where all were trained on all of it."""
    rows = scores(select(rows, task=task, corpus=corpus, probe=probe, split="test", subset="all"))
    shares = sorted(set(rows["train_percent"]), key=float)
    if len(shares) < 2:
        return None
    lines: list[tuple[Text, ...]] = []
    for encoder in dict.fromkeys(rows["encoder"]):
        here = select(rows, encoder=encoder)
        for view in ordered_views(here["view"]):
            own = [select(here, view=view, train_percent=share) for share in shares]
            lines.append((encoder, view, *(written(one, percent, confidence) for one in own)))
    caption = f"{task} on {corpus}: test scores of the {probe} model by share of the training sentences, in %"
    header = ("network", "condition", *(f"{share} %" for share in shares))
    return Table(header, tuple(lines), caption, text_columns=2, name=f"{task}-{probe}-shares")


def fits_table(rows: pd.DataFrame, task: str, corpus: str, probe: str, confidence: float = CONFIDENCE) -> Table | None:
    """Return what a downstream model's fits came to: epochs, parameters, each mix's weights; None where untold."""
    rows = select(whole(rows), task=task, corpus=corpus, probe=probe, split="train")
    facts = [metric for metric in dict.fromkeys(rows["metric"]) if _FACT.fullmatch(metric)]
    if not facts:
        return None
    writers = [number(0) if metric in ("epochs", "parameters") else number(3) for metric in facts]
    lines: list[tuple[Text, ...]] = []
    for encoder in dict.fromkeys(rows["encoder"]):
        here = select(rows, encoder=encoder)
        for view in ordered_views(here["view"]):
            own = [select(here, view=view, metric=metric) for metric in facts]
            cells = [written(one, write, confidence) for one, write in zip(own, writers, strict=True)]
            lines.append((encoder, view, *cells))
    caption = f"{task} on {corpus}: the fits of the {probe} model; weights and gamma of each mix of layers"
    header = ("network", "condition", *(metric.replace("_", " ") for metric in facts))
    return Table(header, tuple(lines), caption, text_columns=2, name=f"{task}-{probe}-fits")


def placement(rows: pd.DataFrame, confidence: float = CONFIDENCE) -> Drawing | None:
    """Draw, for each task, each seed of a downstream model by condition, their mean and its interval.

    None where there is no downstream model that was trained on all of train.
    """
    rows = whole(rows)
    panels, drawn = [], []
    for task, corpus in dict.fromkeys(zip(rows["task"], rows["corpus"], strict=True)):
        here = select(rows, task=task, corpus=corpus)
        tested = scores(select(here, split="test", subset="all"))
        for probe in downstream_probes(tested[tested["value"].notna()]):
            (panel,) = subset_panels(here, task, corpus, probe, "test", ["all"])
            title = f"{task_name(task)}, {probe}\n{corpus}, n = {panel.series[0].n:,}"
            panels.append(panel._replace(title=capital(title)))
            drawn.append(select(tested, probe=probe))
    if not panels:
        return None
    series = max((panel.series for panel in panels), key=len)
    axis = layer_axis([one for panel in panels for one in panel.series])
    columns = 1 if axis.views > _MOST_SIDE_BY_SIDE else min(len(panels), 2)
    shape = (-(-len(panels) // columns), columns)
    handles = [Line2D([], [], **look(one) | {"linestyle": "none"}) for one in series]
    handles.append(Line2D([], [], color=GREY, marker=".", linestyle="none", alpha=0.6, label="one seed"))
    with house_style():
        figure, grid = frame(
            "What does a model of the task's own gain from the layers, and where?", handles,
            _note(panels, confidence), shape, columns=min(len(handles), 3), width=6.6 if columns == 1 else 7.6,
            middle=2.9 * shape[0], sharex=False,
        )  # fmt: skip
        for unused in grid[len(panels) :]:
            unused.remove()
        for index, (axes, panel, own) in enumerate(zip(grid, panels, drawn, strict=False)):
            axes.set_ylim(vertical_limits(panel.series, panel.levels))
            _draw_conditions(axes, panel, own, axis, confidence)
            draw_baselines(axes, panel.levels, "\n" if columns > 1 else " ")
            axes.set_title(panel.title, loc="left")
            if index % columns == 0 or panel.measure != panels[index - 1].measure:
                axes.set_ylabel(panel.measure)
    return Drawing(figure, told(panels))


def _note(panels: Sequence[Panel], confidence: float) -> str:
    cells = [cell for panel in panels for one in panel.series for cell in one.cells.values()]
    parts = ["Test. Vertical axes do not start at 0."]
    if any(cell.seeds > 1 for cell in cells):
        parts.append(
            f"Small dots: models of one seed each. Beside them their mean; bars: {100 * confidence:g} % interval of "
            "the mean over seeds (Student's t, of five seeds or more). It is about seeds, not about test sentences."
        )
    if any(cell.seeds == 1 for cell in cells):
        parts.append(f"Of one seed alone, bars are the {100 * confidence:g} % interval from resampling sentences.")
    return " ".join([*parts, f"{WITHOUT.capitalize()}: the model without the network's layers."])


def _draw_conditions(axes: Axes, panel: Panel, rows: pd.DataFrame, axis: LayerAxis, confidence: float) -> None:
    room = 0.9 / len(panel.series)  # of one network at one condition: seeds on the left of it, mean on the right
    for index, one in enumerate(panel.series):
        as_drawn: dict[str, Any] = look(one) | {"linestyle": "none"}
        for view, cell in one.cells.items():
            centre = axis.at(one.encoder, view) + (index - (len(panel.series) - 1) / 2) * room
            own = select(rows, encoder=one.encoder, view=view)
            values = 100 * own["value"].dropna().to_numpy(dtype=float)
            interval = student(own, confidence) if cell.seeds > 1 else (cell.low, cell.high)
            if len(values) > 1:
                x = centre + room * np.linspace(-0.32, 0.0, len(values))
                axes.plot(x, values, ".", color=as_drawn["color"], alpha=0.6, markersize=4, label="one seed")
            at = centre + (0.2 * room if len(values) > 1 else 0)
            if interval and not np.isnan(interval[0]):
                low, high = 100 * interval[0], 100 * interval[1]
                axes.errorbar(at, (low + high) / 2, (high - low) / 2, fmt="none", ecolor=as_drawn["color"], capsize=2)
            axes.plot(at, 100 * cell.value, **as_drawn)
    places = {place: view for view, place in axis.others.items()}
    crowded = str.maketrans({" ": "\n"} | ({"=": "=\n"} if len(places) > _MOST_ON_TWO_LINES else {}))
    axes.set_xticks(list(places), [view.translate(crowded) for view in places.values()])
    axes.set_xlim(min(places) - 0.7, max(places) + 0.7)
