"""Result rows as Markdown tables, and how a measured number is written wherever the report shows one."""

import math
from collections.abc import Iterable, Sequence

import pandas as pd

from probing.report.series import BASELINES, SUBSETS
from probing.results import POOLED, UNTRAINED, Measured, measured, ordered_views, scores, select

_COLUMNS = (("dev", "all"), *(("test", subset) for subset in SUBSETS), (POOLED, "all"))
_NOTHING = "–"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 1) -> str:
    """Return a Markdown table; the first `text_columns` columns are set left, the others, which are numbers, right."""
    rules = [":--" if column < text_columns else "--:" for column in range(len(header))]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in (header, rules, *rows)
    )


def percent(value: float) -> str:
    """Write a fraction in percent, with the two decimals that test sets of some ten thousand examples allow."""
    return f"{100 * value:.2f}"


def ends(cell: Measured) -> str:
    """Write an interval as [low, high], the range of several seeds as (lowest–highest)."""
    if cell.seeds > 1:
        return f"({percent(cell.low)}–{percent(cell.high)})"
    return f"[{percent(cell.low)}, {percent(cell.high)}]" if not math.isnan(cell.low) else ""


def accuracy_table(rows: pd.DataFrame, task: str, corpus: str, *, probe: str = "linear") -> str:
    """Return the main table of one task: the baselines, then each network's views.

    Parameters
    ----------
    rows : DataFrame with the columns `probing.results.COLUMNS`
    task, corpus, probe : str
        Which rows are shown.

    Returns
    -------
    str
        Accuracies in percent on dev, on test and on the subsets of test, each with its interval (or, of several seeds,
        mean and range: the network's name says how many), and the penalty that was chosen. The highest number of a
        trained network in a column is bold if no other view reaches it; columns without any value are left out.
    """
    rows = select(rows, task=task, corpus=corpus)
    accuracy = scores(rows)
    probed = select(accuracy, probe=probe)
    columns = [column for column in _COLUMNS if _size(accuracy, *column)]
    lines = []
    for baseline, name in BASELINES.items():
        cells = [measured(select(accuracy, probe=baseline, split=s, subset=subset)) for s, subset in columns]
        if any(cells):
            lines.append([name, _NOTHING, *(_written(cell) for cell in cells), _NOTHING])
    for encoder in dict.fromkeys(probed["encoder"]):
        here = select(probed, encoder=encoder)
        views = ordered_views(here["view"])
        by_column = [[measured(select(here, split=s, subset=u, view=v)) for v in views] for s, u in columns]
        best = [_only_highest(cells) if not encoder.endswith(UNTRAINED) else None for cells in by_column]
        penalties = select(rows, probe=probe, encoder=encoder, metric="l2_penalty")
        for index, view in enumerate(views):
            written = [_written(cells[index], bold=index == top) for cells, top in zip(by_column, best, strict=True)]
            seeds = max((cell.seeds for cells in by_column if (cell := cells[index])), default=1)
            name = f"{encoder}, {seeds} seeds" if seeds > 1 else encoder
            chosen = sorted(set(select(penalties, view=view)["value"]))
            lines.append([name, view, *written, ", ".join(f"{value:g}" for value in chosen) or _NOTHING])
    header = ["network", "view", *(_heading(accuracy, *column) for column in columns), "L2 penalty"]
    return markdown_table(header, lines, text_columns=2)


def subset_table(rows: pd.DataFrame, task: str, corpus: str, *, probe: str = "linear") -> str:
    """Return the table of the subsets of test that the main table has no room for; "" where there are none.

    A line for each subset; columns are the baselines and each view of each trained network. Numbers as in
    `accuracy_table`, without intervals.
    """
    rows = scores(select(rows, task=task, corpus=corpus, split="test"))
    subsets = [subset for subset in dict.fromkeys(rows["subset"]) if subset not in SUBSETS]
    columns = {BASELINES[name]: select(rows, probe=name) for name in BASELINES if name in set(rows["probe"])}
    probed = select(rows, probe=probe)
    for encoder in dict.fromkeys(probed["encoder"]):
        if not encoder.endswith(UNTRAINED):
            here = select(probed, encoder=encoder)
            columns |= {f"{encoder}, {view}": select(here, view=view) for view in ordered_views(here["view"])}
    lines = []
    for subset in subsets:
        cells = [measured(select(column, subset=subset)) for column in columns.values()]
        sizes = [cell.n for cell in cells if cell]
        if sizes:
            lines.append([subset, f"{max(sizes):,}", *(percent(cell.value) if cell else _NOTHING for cell in cells)])
    return markdown_table(["subset of test", "n", *columns], lines) if lines else ""


def fallback_table(rows: pd.DataFrame, task: str, corpus: str, *, probe: str) -> str:
    """Return the share of test that a probe answers by itself, and its F1 without falling back; "" without groups."""
    rows = select(rows, task=task, corpus=corpus, split="test", subset="all")
    lines = []
    answered = select(rows, metric="answered")
    for baseline, name in BASELINES.items():
        lines += _fallback_lines(select(rows, probe=baseline), name)
    for encoder in dict.fromkeys(select(answered, probe=probe)["encoder"]):
        lines += _fallback_lines(select(rows, probe=probe, encoder=encoder), encoder)
    return (
        markdown_table(["network", "view", "answered", "F1 without fallback"], lines, text_columns=2) if lines else ""
    )


def _fallback_lines(rows: pd.DataFrame, name: str) -> list[list[str]]:
    lines = []
    for view in ordered_views(rows["view"]) or [""]:
        here = select(rows, view=view)
        cells = [measured(select(here, metric=metric)) for metric in ("answered", "f1_without_fallback")]
        if all(cells):
            lines.append([name, view or _NOTHING, *(percent(cell.value) for cell in cells if cell)])
    return lines


def _size(accuracy: pd.DataFrame, split: str, subset: str) -> int:
    return max(select(accuracy, split=split, subset=subset)["n"], default=0)


def _heading(accuracy: pd.DataFrame, split: str, subset: str) -> str:
    name = split.replace("+", " + ") if subset == "all" else f"{split}, {SUBSETS[subset]}"
    return f"{name} (n = {_size(accuracy, split, subset):,})"


def _written(cell: Measured | None, bold: bool = False) -> str:
    if cell is None:
        return _NOTHING
    value = f"**{percent(cell.value)}**" if bold else percent(cell.value)
    return f"{value} {ends(cell)}".rstrip()


def _only_highest(cells: Sequence[Measured | None]) -> int | None:
    """Return the index of the highest of several numbers as printed; None where two are highest or there is but one."""
    printed = [float(percent(cell.value)) if cell else float("-inf") for cell in cells]
    highest = max(printed)
    return printed.index(highest) if len(printed) > 1 and printed.count(highest) == 1 else None
