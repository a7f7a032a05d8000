"""Figures beside accuracy by layer: what other measures say, and how layers are mixed."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from probing.report.canvas import COLOURS, GREY, draw_spread, frame, house_style
from probing.report.depth import LayerAxis, layer_axis
from probing.report.figures import legend, look
from probing.report.measures import KBIT, MEASURES, MIX_LAYERS, Measure, mix_layers, of_measure
from probing.report.series import Series, capital, task_name, whole
from probing.results import UNTRAINED, measured, ordered_views, select, trained_label

_DRAWN = {  # a measure's name and unit, and what its values are divided by
    "accuracy": ("accuracy (%)", 0.01),
    "f1": ("F1 (%)", 0.01),
    "selectivity": ("selectivity (points)", 0.01),
    "compression": ("compression (×)", 1.0),
    "conditional_information_bits": ("conditional info. (bits)", 1.0),
}
_MOST_NUMBERS = 7  # of layers in a line below a narrow axis of relative depth
WIDTH = 7.6
"""Inches: of a figure with panels side by side."""


class Drawing(NamedTuple):
    """A figure, and its numbers in words."""

    figure: Figure
    told: str


def measures_by_layer(rows: pd.DataFrame, layer_names: Mapping[str, Sequence[str]] | None = None) -> Drawing | None:
    """Draw a row of panels for each task: each measure by layer, the best layer of each trained network in its title.

    Layers stand as in `accuracy_by_layer`. None where no task has another measure than accuracy.
    """
    rows = whole(rows)
    panels = []
    for task, corpus in dict.fromkeys(zip(rows["task"], rows["corpus"], strict=True)):
        here = select(rows, task=task, corpus=corpus)
        found = {one.metric: _layer_series(here, one) for one in MEASURES if _drawn(one)}
        found = {metric: series for metric, series in found.items() if series}
        if set(found) - {"accuracy", "f1"}:
            panels.append((task, corpus, here, found))
    if not panels:
        return None
    columns = max(len(found) for *_, found in panels)
    series = max((one for *_, found in panels for one in found.values()), key=len)
    axis = layer_axis([one for *_, found in panels for several in found.values() for one in several], layer_names)
    handles = legend(series, axis)
    note = (
        "Higher is better in every panel; vertical axes differ and do not start at 0. Bars: intervals from resampling "
        "sentences; bands: lowest to highest of several seeds or draws. Accuracy, F1, selectivity and conditional "
        "information: test. Compression: the labels of train without a model over those with it (online code). "
        f"{axis.note}"
    ).rstrip()
    words = []
    with house_style():
        shape = (len(panels), columns)
        figure, grid = frame(
            "Does the best layer depend on the measure?", handles, note, shape,
            columns=2, width=WIDTH, middle=2.3 * len(panels), sharex=False,
        )  # fmt: skip
        for row, (task, corpus, here, found) in enumerate(panels):
            for column in range(columns):
                axes = grid[row * columns + column]
                if column >= len(found):
                    axes.set_axis_off()
                    continue
                metric = list(found)[column]
                heading, unit = _DRAWN[metric]
                best = _draw_layers(axes, found[metric], unit, axis)
                if metric == "compression":
                    best = {name: (view, _kbit(here, name, view)) for name, (view, _) in best.items()}
                axes.set_title(f"{heading}\n{_best(best)}" if best else heading, loc="left", fontsize=8)
                axes.set_xlabel(f"layer (of {'; of '.join(map(str, axis.drawn))})" if axis.relative else "layer")
                if not column:
                    axes.set_ylabel(f"{capital(task_name(task))}\n{corpus}")
                words.append(_words(f"{task}, {' '.join(heading.split())}", found[metric], unit))
    return Drawing(figure, " ".join(words))


def _drawn(measure: Measure) -> bool:
    return measure.metric in _DRAWN and (measure.metric != "accuracy" or measure.probe == "linear")


def _best(best: Mapping[str, tuple[str, str]]) -> str:
    """Name the best layer of each network; of several, a line each, as the same number need not be the same layer."""
    if len(best) == 1:
        ((view, length),) = best.values()
        return f"best: layer {view}{length}"
    return "\n".join(f"best of {name}: {view}{length}" for name, (view, length) in best.items())


def _layer_series(rows: pd.DataFrame, measure: Measure) -> list[Series]:
    encoders = [encoder for encoder in dict.fromkeys(rows["encoder"]) if encoder]
    families = list(dict.fromkeys(trained_label(encoder) for encoder in encoders))
    found = []
    for encoder in sorted(encoders, key=lambda name: name.endswith(UNTRAINED)):
        here = of_measure(rows, measure, encoder)
        views = [view for view in ordered_views(here["view"]) if view.isdecimal()]
        cells = {view: cell for view in views if (cell := measured(select(here, view=view)))}
        if cells:
            found.append(Series(encoder, families.index(trained_label(encoder)), cells))
    return found


def _draw_layers(axes: Axes, series: Sequence[Series], unit: float, axis: LayerAxis) -> dict[str, tuple[str, str]]:
    """Draw one measure by layer; return the best layer of each trained network."""
    best = {}
    for one in series:
        x = np.array([axis.at(one.encoder, view) for view in one.cells])
        cells = list(one.cells.values())
        value, low, high = np.array([(cell.value, cell.low, cell.high) for cell in cells]).T / unit
        ranged = np.array([cell.seeds > 1 for cell in cells])
        drawn_as = look(one)
        draw_spread(axes, x, low, high, ranged, drawn_as["color"], banded=True)
        axes.plot(x, value, linestyle="-" if one.trained else "--", **drawn_as)
        if one.trained:
            best[one.encoder] = (list(one.cells)[int(np.argmax(value))], "")
    if axis.relative:
        ticks = axis.ticks(_MOST_NUMBERS)
        axes.set_xticks(list(ticks), list(ticks.values()))
        axes.set_xlim(-0.4 * axis.unit, 1 + 0.4 * axis.unit)
        return best
    views = sorted({int(view) for one in series for view in one.cells})
    axes.set_xticks(views[:: 1 + len(views) // 7])
    axes.set_xlim(min(views) - 0.4, max(views) + 0.4)
    return best


def _kbit(rows: pd.DataFrame, encoder: str, view: str) -> str:
    cell = measured(select(rows, probe="mdl", metric="codelength_bits", encoder=encoder, view=view))
    return f" ({cell.value / KBIT:,.1f} kbit)" if cell else ""


def _words(heading: str, series: Sequence[Series], unit: float, digits: int = 2) -> str:
    lines = [
        f"{one.encoder} " + ", ".join(f"{view}: {cell.value / unit:.{digits}f}" for view, cell in one.cells.items())
        for one in series
    ]
    return f"{heading} by layer: {'; '.join(lines)}."


def mix_weights(rows: pd.DataFrame) -> Drawing | None:
    """Draw, for each task, the weight of each layer in each network's mix; None where no mix was trained.

    Networks with different numbers of layers have panels of their own: an equal share is another for each.
    """
    rows = select(whole(rows), probe="mix", split="train", view="mix")
    tasks = list(dict.fromkeys(zip(rows["task"], rows["corpus"], strict=True)))
    encoders = sorted(dict.fromkeys(rows["encoder"]), key=lambda name: name.endswith(UNTRAINED))
    if not tasks:
        return None
    families = list(dict.fromkeys(trained_label(encoder) for encoder in encoders))
    depths = {encoder: 1 + max(mix_layers(select(rows, encoder=encoder))) for encoder in encoders}
    panels = [
        (task, corpus, depth)
        for task, corpus in tasks
        for depth in sorted({depths[encoder] for encoder in select(rows, task=task, corpus=corpus)["encoder"]})
    ]
    styles: dict[str, dict[str, Any]] = {}
    for encoder in encoders:
        colour = COLOURS[families.index(trained_label(encoder)) % len(COLOURS)]
        hollow = encoder.endswith(UNTRAINED)
        styles[encoder] = {"facecolor": "white" if hollow else colour, "edgecolor": colour, "label": encoder}
        styles[encoder] |= {"hatch": "////"} if hollow else {}
    uniform = Line2D([], [], color=GREY, linestyle=":", label="equal weights")
    centre = Line2D([], [], color=GREY, marker="v", linestyle="none", label="centre of gravity")
    handles = [*(Patch(**style) for style in styles.values()), uniform, centre]
    note = (
        "Weights of a softmax, trained jointly with a linear probe; every layer was standardised first. Mean of the "
        "seeds; lines: lowest to highest of them. The centre of gravity is the mean layer under the weights."
    )
    words = []
    with house_style():
        columns = min(len(panels), 3)
        shape = (-(-len(panels) // columns), columns)
        figure, grid = frame(
            "Which layers does a learned mix use?", handles, note, shape,
            columns=2, width=WIDTH if columns > 1 else 6.6, middle=2.6 * shape[0], sharex=False,
        )  # fmt: skip
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        for axes, (task, corpus, depth) in zip(grid, panels, strict=False):
            here = select(rows, task=task, corpus=corpus)
            own = {encoder: style for encoder, style in styles.items() if depths[encoder] == depth}
            words += _draw_weights(axes, here[here["encoder"].isin(list(own))], task, own)
            of = f", {depth} layers" if len(set(depths.values())) > 1 else ""
            axes.set_title(f"{capital(task_name(task))}\n{corpus}{of}", loc="left")
            axes.set_xlabel("layer")
        grid[0].set_ylabel("weight")
    return Drawing(figure, " ".join(words))


def _draw_weights(axes: Axes, rows: pd.DataFrame, task: str, styles: dict[str, dict[str, Any]]) -> list[str]:
    layers = mix_layers(rows)
    width = 0.8 / len(styles)
    words, highest = [], 1 / len(layers)
    centres: list[tuple[float, str]] = []
    for index, (encoder, style) in enumerate(styles.items()):
        own = select(rows, encoder=encoder)
        cells = [measured(select(own, metric=f"{MIX_LAYERS}{layer}")) for layer in layers]
        weights = {layer: cell for layer, cell in zip(layers, cells, strict=True) if cell}
        if not weights:
            continue
        x = np.array(list(weights)) + (index - (len(styles) - 1) / 2) * width
        axes.bar(x, [cell.value for cell in weights.values()], 0.9 * width, linewidth=0.8, zorder=2, **style)
        several = [(at, cell) for at, cell in zip(x, weights.values(), strict=True) if cell.seeds > 1]
        if several:
            low, high = [cell.low for _, cell in several], [cell.high for _, cell in several]
            axes.vlines([at for at, _ in several], low, high, color="black", linewidth=1.2, zorder=3)
        highest = max(highest, *(max(cell.value, cell.high if cell.seeds > 1 else 0) for cell in weights.values()))
        centre = measured(select(own, metric="centre_of_gravity"))
        told = ", ".join(f"{layer}: {cell.value:.2f}" for layer, cell in weights.items())
        if centre:
            centres.append((centre.value, style["edgecolor"] if style["facecolor"] != "white" else "white"))
            told += f"; centre of gravity {centre.value:.2f}"
        words.append(f"{task}, weights of {encoder} by layer: {told}.")
    axes.axhline(1 / len(layers), color=GREY, linestyle=":", linewidth=1.2, zorder=4)
    for index, (value, face) in enumerate(centres):  # above the bars, where nothing else is
        edge = face if face != "white" else GREY
        axes.plot(
            [value], [(1.1 + 0.08 * index) * highest], marker="v", color=edge, markerfacecolor=face, linestyle="none"
        )
    axes.set_ylim(0, (1.1 + 0.09 * len(centres)) * highest)
    axes.set_xticks(layers[:: 1 + len(layers) // 10])
    return words
