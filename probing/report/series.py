"""What the report shows of result rows, before it is drawn or set in a table: names for readers, one series an encoder.

Where things stand on a figure's axes is decided here, from the numbers alone; how they look is decided in `figures`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from probing.results import SCORES, UNTRAINED, Measured, measured, ordered_views, scores, select, trained_label

BASELINES = {
    "majority": "majority class",
    "type-majority": "type majority",
    "first-sense": "first sense",
    "most-frequent-sense": "most frequent sense",
}
"""Probes that see no vectors, and what readers see them called."""
SUBSETS = {
    "all": "all examples",
    "ambiguous": "ambiguous word forms",
    "unseen": "unseen word forms",
    "first-sense": "first sense right",
    "other-sense": "other sense right",
}
"""Subsets that have panels and columns, in their order, and what readers see them called."""
WITHOUT = "none"
"""The condition in which a downstream model has no layers: what the others are measured against."""
_MEANINGS = {
    "type-majority": "the word form's most frequent label in train",
    "first-sense": "the inventory's first sense of the lemma",
    "most-frequent-sense": "the lemma's most frequent one in train",
}
_TASK_NAMES = {
    "pos-upos": "universal parts of speech",
    "pos-xpos": "the treebank's parts of speech",
    "pos-deprel": "dependency relations",
    "wsd": "word senses",
    "coarsewsd": "coarse word senses",
    "supersense": "supersenses",
    "homographs": "senses of homographs",
}


def task_name(task: str) -> str:
    """Return what readers see a task called; any other than the project's own is called by its own name."""
    return _TASK_NAMES.get(task, task)


@dataclass(frozen=True, slots=True)
class Series:
    """The accuracy of one encoder by view.

    Attributes
    ----------
    encoder : str
        The encoder's label, as in the rows.
    family : int
        The number of the network among those of the rows; a network and the same network untrained share it.
    cells : mapping from view to Measured
        Fractions, views in their order; views without a value are left out.
    """

    encoder: str
    family: int
    cells: dict[str, Measured]

    @property
    def trained(self) -> bool:
        """Whether the network's weights are trained ones."""
        return not self.encoder.endswith(UNTRAINED)

    @property
    def seeds(self) -> int:
        """How many seeds stand behind a layer's value; with more than one, the ends of a cell are their range."""
        layers = [cell.seeds for view, cell in self.cells.items() if view.isdecimal()]
        return max(layers or [cell.seeds for cell in self.cells.values()])

    @property
    def n(self) -> int:
        """How many examples stand behind a value."""
        return max(cell.n for cell in self.cells.values())


class Panel(NamedTuple):
    """What one panel of a figure shows.

    Attributes
    ----------
    title : str
    measure : str
        Name of the vertical axis.
    series : list of Series
    levels : dict of str to float
        Baselines, in percent.
    """

    title: str
    measure: str
    series: list[Series]
    levels: dict[str, float]


def whole(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of probes that were fitted on all of train."""
    return select(rows, train_percent="100")


def vector_probes(rows: pd.DataFrame) -> list[str]:
    """Return the probes that read vectors."""
    return list(dict.fromkeys(rows["probe"][rows["encoder"] != ""]))


def is_condition(view: str) -> bool:
    """Tell whether a view says where a downstream model takes the layers in ("none", "input", "both lambda=1")."""
    return view not in ("", "mean", "concat", "mix") and not view.isdecimal() and not view.startswith("mix-")


def downstream_probes(rows: pd.DataFrame) -> list[str]:
    """Return the probes whose views are conditions: models of a task's own, beside which no single layer stands."""
    return list(dict.fromkeys(rows["probe"][[is_condition(view) for view in rows["view"]]]))


def known_for(rows: pd.DataFrame, probes: Sequence[str]) -> str:
    """Return that one of `probes` which the task of the rows is known to be read by, else the first.

    Peters et al. 2018 read senses by the nearest mean and parts of speech by a linear probe.
    """
    senses = rows["probe"].isin(["first-sense", "most-frequent-sense"]).any()
    known = "nearest" if senses else "linear"
    return known if known in probes else probes[0]


def probed_by(rows: pd.DataFrame, probe: str) -> pd.DataFrame:
    """Return the rows of one probe; beside the linear one's stand those of the mix of all layers."""
    keep = rows["probe"] == probe
    if probe == "linear":
        keep |= (rows["probe"] == "mix") & (rows["view"] == "mix")
    return rows[keep]


def subset_panels(
    rows: pd.DataFrame, task: str, corpus: str, probe: str, split: str, subsets: Sequence[str]
) -> list[Panel]:
    """Return a panel for each subset that has accuracies of this task, corpus, probe and split.

    Raises
    ------
    ValueError
        If there is none.
    """
    rows = whole(scores(select(rows, task=task, corpus=corpus, split=split)))
    panels = []
    for subset in subsets:
        if series := accuracy_series(probed_by(rows, probe), subset):
            title = f"{SUBSETS[subset]} (n = {series[0].n:,})"
            measure = f"{SCORES[rows['metric'].iloc[0]]} on {split} (%)"
            levels = baseline_levels(rows, subset)
            if subset in ("first-sense", "other-sense"):  # there the sense baselines are right, or wrong, by definition
                levels = {name: level for name, level in levels.items() if not name.endswith("sense")}
            panels.append(Panel(title, measure, series, levels))
    if not panels:
        raise ValueError(f"no accuracy of probe {probe!r} on {task}, {corpus}, {split}")
    return panels


def told(panels: Sequence[Panel]) -> str:
    """Tell the panels' numbers in words, for whoever does not see them."""
    parts = []
    for panel in panels:
        lines = [
            f"{one.encoder}: " + ", ".join(f"{_named(view)} {100 * c.value:.1f}" for view, c in one.cells.items())
            for one in panel.series
        ]
        lines += [f"{BASELINES[name]}: {level:.1f}" for name, level in panel.levels.items()]
        parts.append(f"{' '.join(panel.title.split())}, {panel.measure}: {'; '.join(lines)}.")
    return " ".join(parts)


def _named(view: str) -> str:
    return f"layer {view}" if view.isdecimal() else view


def accuracy_series(rows: pd.DataFrame, subset: str) -> list[Series]:
    """Return a series for each encoder that has accuracies on `subset`, trained networks first.

    `rows` are the accuracies of one task, corpus, split and probe. The family numbers do not depend on the subset.
    """
    encoders = list(dict.fromkeys(rows["encoder"]))
    families = list(dict.fromkeys(trained_label(encoder) for encoder in encoders))
    found = []
    for encoder in sorted(encoders, key=lambda e: e.endswith(UNTRAINED)):
        here = select(rows, encoder=encoder, subset=subset)
        cells = {v: cell for v in ordered_views(here["view"]) if (cell := measured(select(here, view=v)))}
        if cells:
            found.append(Series(encoder, families.index(trained_label(encoder)), cells))
    return found


def baseline_levels(rows: pd.DataFrame, subset: str) -> dict[str, float]:
    """Return the accuracy, in percent, of each baseline that has one on `subset`."""
    cells = {probe: measured(select(rows, probe=probe, subset=subset)) for probe in BASELINES}
    return {probe: cell.value * 100 for probe, cell in cells.items() if cell}


def vertical_limits(series: Sequence[Series], levels: Mapping[str, float]) -> tuple[float, float]:
    """Return the ends of the vertical axis, in percent.

    A baseline lies within them if it takes up no more room again than the data do; beyond that it would squash what is
    to be read.
    """
    ends = [100 * end for one in series for cell in one.cells.values() for end in (cell.low, cell.value, cell.high)]
    bottom, top = float(np.nanmin(ends)), float(np.nanmax(ends))
    span = max(top - bottom, 1.0)
    inside = [level for level in levels.values() if bottom - span <= level <= top + span]
    bottom, top = min([bottom, *inside]), max([top, *inside])
    margin = 0.07 * max(top - bottom, 1.0)
    return max(bottom - margin, 0.0), top + margin


def shared_layer_names(series: Sequence[Series], layer_names: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return the layers' names where the encoders agree on them, none where they do not."""
    known = {tuple(layer_names[one.encoder]) for one in series if one.encoder in layer_names}
    return known.pop() if len(known) == 1 else ()


def capital(text: str) -> str:
    """Return text with its first letter in upper case, as a title begins."""
    return text[0].upper() + text[1:]


def footnote(data: str, panels: Sequence[Panel], confidence: float) -> str:
    """Say what the figure's numbers are of, and what each mark in it means; nothing that is not in it."""
    series = [one for panel in panels for one in panel.series]
    limits = [vertical_limits(panel.series, panel.levels) for panel in panels]
    several = len(panels) > 1
    parts = [f"{data}. The panels' vertical axes differ." if several else f"{data}, n = {series[0].n:,} examples."]
    if any(bottom > 0 for bottom, _ in limits):
        parts.append("Vertical axes do not start at 0." if several else "The vertical axis does not start at 0.")
    others = [view for view in ordered_views(view for one in series for view in one.cells) if not view.isdecimal()]
    if others:
        parts.append(f"{', '.join(others).capitalize()}: of all layers.")
    if "mix" in others:
        parts.append("The mix's weights are trained jointly with its linear probe, and training stops early on dev.")
    if any(cell.seeds == 1 and not np.isnan(cell.low) for one in series for cell in one.cells.values()):
        interval = f"{100 * confidence:g} % percentile interval"
        parts.append(f"Bars: {interval} from resampling sentences, of each value by itself.")
    ranged = sorted({cell.seeds for one in series for cell in one.cells.values() if cell.seeds > 1})
    if ranged:
        parts.append(f"Bands: lowest to highest of {' or '.join(map(str, ranged))} seeds, around their mean.")
    if any(one.seeds == 1 for one in series if not one.trained):
        parts.append("Untrained networks: one seed.")
    levels = [panel.levels for panel in panels]
    for baseline, meaning in _MEANINGS.items():
        if any(baseline in level for level in levels):
            parts.append(f"{BASELINES[baseline].capitalize()}: {meaning}.")
    if any(not low <= x <= high for (low, high), level in zip(limits, levels, strict=True) for x in level.values()):
        parts.append("An arrow marks a baseline beyond the axis.")
    return " ".join(parts)
