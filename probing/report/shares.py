"""The figure of training data: scores over the share of the training sentences that probes were fitted on."""

from collections.abc import Iterable
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from probing.report.canvas import COLOURS, MARKERS, frame, house_style
from probing.report.measure_figures import WIDTH, Drawing
from probing.report.series import WITHOUT, capital, downstream_probes, is_condition, task_name
from probing.results import UNTRAINED, Measured, measured, ordered_views, scores, select

_MOST_VIEWS = 8


def sample_efficiency(rows: pd.DataFrame) -> Drawing | None:
    """Draw scores over the share of train that probes were fitted on; None where all saw all of it."""
    rows = scores(select(rows, split="test", subset="all"))
    rows = rows[(rows["encoder"] != "") & rows["view"].map(lambda view: not view.startswith("mix-"))]
    parts = rows.groupby(["task", "corpus", "probe"], sort=False)["train_percent"].nunique()
    cells = [key for key in parts.index if parts[key] > 1]
    if not cells:
        return None
    rows = rows[[key in set(cells) for key in zip(rows["task"], rows["corpus"], rows["probe"], strict=True)]]
    # A view that was fitted on all of train alone would be a point over the others' ends.
    rows = rows[rows["view"].map(rows.groupby("view")["train_percent"].nunique()) > 1]
    cells = [key for key in cells if not select(rows, **dict(zip(("task", "corpus", "probe"), key, strict=True))).empty]
    if not cells:
        return None
    encoders = sorted(dict.fromkeys(rows["encoder"]), key=lambda name: name.endswith(UNTRAINED))
    views = ordered_views(rows["view"])
    if len(views) > _MOST_VIEWS:
        few = {encoder: _few(select(rows, encoder=encoder)["view"]) for encoder in encoders}  # depths may differ
        rows = rows[[view in few[name] for name, view in zip(rows["encoder"], rows["view"], strict=True)]]
        views = ordered_views(rows["view"])
    styles = {view: _view_style(index, view) for index, view in enumerate(views)}
    handles = [Line2D([], [], **style) for style in styles.values()]
    downstream = any(probe in downstream_probes(rows) for _, _, probe in cells)
    note = (
        f"Mean of several {'seeds' if downstream else 'draws of training sentences'}; bands: lowest to highest. "
        "Vertical axes do not start at 0."
    )
    words = []
    with house_style():
        shape = (len(cells), len(encoders))
        figure, grid = frame(
            "How much training data does each view need?", handles, note, shape, columns=min(len(handles), 6),
            width=WIDTH if len(encoders) > 1 else 6.6, middle=2.7 * len(cells), sharex=False,
        )  # fmt: skip
        for row, (task, corpus, probe) in enumerate(cells):
            here = select(rows, task=task, corpus=corpus, probe=probe)
            panels = grid[row * len(encoders) : (row + 1) * len(encoders)]
            for axes, encoder in zip(panels, encoders, strict=True):
                words += _draw_shares(axes, select(here, encoder=encoder), styles, f"{task}, {probe} probe, {encoder}")
                axes.set_title(f"{capital(task_name(task))}, {probe} probe\n{encoder}", loc="left")
                axes.set_xlabel("training sentences (%)")
            ends = [axes.get_ylim() for axes in panels]
            for axes in panels:
                axes.set_ylim(min(low for low, _ in ends), max(high for _, high in ends))
            panels[0].set_ylabel(f"{'F1' if 'f1' in set(here['metric']) else 'accuracy'} on test (%)")
    return Drawing(figure, " ".join(words))


def _few(views: Iterable[str]) -> list[str]:
    """Return the first layer, the one in the middle and the top one, and the views that are no layer."""
    ordered = ordered_views(views)
    layers = [view for view in ordered if view.isdecimal()]
    kept = {layers[index] for index in (0, len(layers) // 2, -1)} if layers else set()
    return [view for view in ordered if view in kept or not view.isdecimal()]


def _view_style(index: int, view: str) -> dict[str, Any]:
    colour = COLOURS[index % len(COLOURS)]
    label = f"layer {view}" if view.isdecimal() else view
    line = "-" if view.isdecimal() or (is_condition(view) and view != WITHOUT) else "--"
    return {"color": colour, "marker": MARKERS[index % len(MARKERS)], "linestyle": line, "label": label}


def _draw_shares(axes: Axes, rows: pd.DataFrame, styles: dict[str, dict[str, Any]], heading: str) -> list[str]:
    words = []
    percents = sorted(set(rows["train_percent"]), key=float)
    for view, style in styles.items():
        found = {p: measured(select(rows, view=view, train_percent=p)) for p in percents}
        cells: dict[str, Measured] = {percent: cell for percent, cell in found.items() if cell}
        if not cells:
            continue
        x = [float(percent) for percent in cells]
        low = [100 * (cell.low if cell.seeds > 1 else cell.value) for cell in cells.values()]
        high = [100 * (cell.high if cell.seeds > 1 else cell.value) for cell in cells.values()]
        axes.fill_between(x, low, high, color=style["color"], alpha=0.15, linewidth=0)
        axes.plot(x, [100 * cell.value for cell in cells.values()], **style)
        told = ", ".join(f"{100 * cell.value:.1f} at {percent} %" for percent, cell in cells.items())
        words.append(f"{heading}, {style['label']}: {told}.")
    axes.set_xscale("log")
    axes.set_xticks([float(percent) for percent in percents], percents)
    axes.minorticks_off()
    return words
