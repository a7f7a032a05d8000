"""Result rows as tables, and how a measured number is written wherever the report shows one."""

import math
from collections.abc import Callable, Sequence

import pandas as pd

from probing.report.document import Span, Table, Text, joined
from probing.report.series import BASELINES, SUBSETS, probed_by, whole
from probing.results import POOLED, UNTRAINED, Measured, measured, ordered_views, scores, select
from probing.statistics import CONFIDENCE, seeds_change_something, t_interval

SEEDS_FOR_T = 5
"""So many seeds have Student's t-interval of their mean beside their range."""
_COLUMNS = (("dev", "all"), *(("test", subset) for subset in SUBSETS), (POOLED, "all"))
NOTHING = "–"


def percent(value: float) -> str:
    """Write a fraction in percent, with the two decimals that test sets of some ten thousand examples allow."""
    return f"{100 * value:.2f}"


def ends(cell: Measured, write: Callable[[float], str] = percent) -> str:
    """Write an interval as [low, high], the range of several seeds as (lowest–highest)."""
    if cell.seeds > 1:
        return f"({write(cell.low)}–{write(cell.high)})"
    return f"[{write(cell.low)}, {write(cell.high)}]" if not math.isnan(cell.low) else ""


def student(rows: pd.DataFrame, confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """Return Student's t-interval of the mean over seeds; None of fewer than five, or where they change nothing.

    Where untrained networks differ by their seed, each counts once, with the mean of its rows: several probes on one
    network are not as many networks.
    """
    rows = rows[rows["value"].notna()]
    if rows["encoder_seed"].nunique() > 1:
        values = [float(own.mean()) for _, own in rows.groupby("encoder_seed", sort=False)["value"]]
    else:
        values = [float(value) for value in rows["value"]]
    return t_interval(values, confidence) if len(values) >= SEEDS_FOR_T and seeds_change_something(values) else None


def accuracy_table(
    rows: pd.DataFrame,
    task: str,
    corpus: str,
    *,
    probe: str = "linear",
    confidence: float = CONFIDENCE,
    name: str = "",
) -> Table:
    """Return the main table of one task: the baselines, then each network's views.

    Parameters
    ----------
    rows : DataFrame with the columns `probing.results.COLUMNS`
    task, corpus, probe : str
        Which rows are shown; beside those of the linear probe, those of the mix of all layers.
    confidence : float
        Of the t-interval of five or more seeds.
    name : str
        The stem of the table's own files.

    Returns
    -------
    Table
        Accuracies in percent on dev, on test and on the subsets of test, each with its interval (or, of several seeds,
        mean and range: the network's name says how many; of five or more also the mean's t-interval), and the penalty
        that was chosen. The highest number of a trained network in a column is bold if no other view reaches it;
        columns without any value are left out.
    """
    rows = whole(select(rows, task=task, corpus=corpus))
    accuracy = scores(rows)
    probed = probed_by(accuracy, probe)
    columns = [column for column in _COLUMNS if _size(accuracy, *column)]
    lines: list[tuple[Text, ...]] = []
    for baseline, called in BASELINES.items():
        cells = [measured(select(accuracy, probe=baseline, split=s, subset=subset)) for s, subset in columns]
        if any(cells):
            lines.append((called, NOTHING, *(_written(cell) for cell in cells), NOTHING))
    for encoder in dict.fromkeys(probed["encoder"]):
        here = select(probed, encoder=encoder)
        views = ordered_views(here["view"])
        found = [[select(here, split=s, subset=u, view=v) for v in views] for s, u in columns]
        by_column = [[measured(cell) for cell in column] for column in found]
        best = [_only_highest(cells) if not encoder.endswith(UNTRAINED) else None for cells in by_column]
        penalties = select(rows, probe=probe, encoder=encoder, metric="l2_penalty")
        for index, view in enumerate(views):
            written = [
                _written(cells[index], bold=index == top, interval=student(own[index], confidence))
                for cells, top, own in zip(by_column, best, found, strict=True)
            ]
            seeds = max((cell.seeds for cells in by_column if (cell := cells[index])), default=1)
            network = f"{encoder}, {seeds} seeds" if seeds > 1 else encoder
            chosen = sorted(set(select(penalties, view=view)["value"]))
            lines.append((network, view, *written, ", ".join(f"{value:g}" for value in chosen) or NOTHING))
    header = ("network", "view", *(_heading(accuracy, *column) for column in columns), "L2 penalty")
    caption = f"{task} on {corpus}: scores of the {probe} probe by view, in %"
    return Table(header, tuple(lines), caption, text_columns=2, name=name)


def subset_table(rows: pd.DataFrame, task: str, corpus: str, *, probe: str = "linear") -> Table | None:
    """Return the table of the subsets of test that the main table has no room for; None where there are none.

    A line for each subset; columns are the baselines and each view of each trained network. Numbers as in
    `accuracy_table`, without intervals.
    """
    rows = whole(scores(select(rows, task=task, corpus=corpus, split="test")))
    subsets = [subset for subset in dict.fromkeys(rows["subset"]) if subset not in SUBSETS]
    columns = {BASELINES[name]: select(rows, probe=name) for name in BASELINES if name in set(rows["probe"])}
    probed = probed_by(rows, probe)
    for encoder in dict.fromkeys(probed["encoder"]):
        if not encoder.endswith(UNTRAINED):
            here = select(probed, encoder=encoder)
            columns |= {f"{encoder}, {view}": select(here, view=view) for view in ordered_views(here["view"])}
    lines: list[tuple[Text, ...]] = []
    for subset in subsets:
        cells = [measured(select(column, subset=subset)) for column in columns.values()]
        sizes = [cell.n for cell in cells if cell]
        if sizes:
            lines.append((subset, f"{max(sizes):,}", *(percent(cell.value) if cell else NOTHING for cell in cells)))
    caption = f"{task} on {corpus}: scores of the {probe} probe on more subsets of test, in %"
    return Table(("subset of test", "n", *columns), tuple(lines), caption) if lines else None


def fallback_table(rows: pd.DataFrame, task: str, corpus: str, *, probe: str) -> Table | None:
    """Return the share of test that a probe answers by itself, and its F1 without falling back; None without groups."""
    rows = whole(select(rows, task=task, corpus=corpus, split="test", subset="all"))
    lines: list[tuple[Text, ...]] = []
    answered = select(rows, metric="answered")
    for baseline, name in BASELINES.items():
        lines += _fallback_lines(select(rows, probe=baseline), name)
    for encoder in dict.fromkeys(select(answered, probe=probe)["encoder"]):
        lines += _fallback_lines(select(rows, probe=probe, encoder=encoder), encoder)
    header = ("network", "view", "answered", "F1 without fallback")
    caption = f"{task} on {corpus}: what the {probe} probe answers by itself, in %"
    return Table(header, tuple(lines), caption, text_columns=2) if lines else None


def _fallback_lines(rows: pd.DataFrame, name: str) -> list[tuple[Text, ...]]:
    lines: list[tuple[Text, ...]] = []
    for view in ordered_views(rows["view"]) or [""]:
        here = select(rows, view=view)
        cells = [measured(select(here, metric=metric)) for metric in ("answered", "f1_without_fallback")]
        if all(cells):
            lines.append((name, view or NOTHING, *(percent(cell.value) for cell in cells if cell)))
    return lines


def _size(accuracy: pd.DataFrame, split: str, subset: str) -> int:
    return max(select(accuracy, split=split, subset=subset)["n"], default=0)


def _heading(accuracy: pd.DataFrame, split: str, subset: str) -> str:
    name = split.replace("+", " + ") if subset == "all" else f"{split}, {SUBSETS[subset]}"
    return f"{name} (n = {_size(accuracy, split, subset):,})"


def _written(cell: Measured | None, bold: bool = False, interval: tuple[float, float] | None = None) -> Text:
    if cell is None:
        return NOTHING
    around = f" {ends(cell)}" if ends(cell) else ""
    if interval:
        around += f" [{percent(interval[0])}, {percent(interval[1])}]"
    return joined((Span(percent(cell.value), "strong"),), around) if bold else percent(cell.value) + around


def _only_highest(cells: Sequence[Measured | None]) -> int | None:
    """Return the index of the highest of several numbers as printed; None where two are highest or there is but one."""
    printed = [float(percent(cell.value)) if cell else float("-inf") for cell in cells]
    highest = max(printed)
    return printed.index(highest) if len(printed) > 1 and printed.count(highest) == 1 else None
