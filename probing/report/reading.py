"""What a task's numbers say, in words."""

from collections.abc import Mapping, Sequence

import pandas as pd

from probing.report.series import BASELINES, Series, task_name
from probing.report.tables import ends, percent
from probing.results import UNTRAINED, Measured, measured, scores, select


def what_was_read(
    task: str,
    probe: str,
    series: Sequence[Series],
    baselines: Mapping[str, Measured],
    layers: Mapping[str, Sequence[str]],
) -> str:
    """Say in plain words which single layer has the highest test score, beside the lower bounds."""
    sentences = [f"A {probe} probe read {task_name(task)} from each view of each frozen network."]
    untrained = {one.encoder: one for one in series if not one.trained}
    trained = [one for one in series if one.trained]
    for one in trained or untrained.values():
        best = _best_layers(one)
        if not best:
            continue
        names = [_layer(view, layers.get(one.encoder, ())) for view in best]
        verb = "has" if len(best) == 1 else "have equally"
        cell = one.cells[best[0]]
        text = f"Of the single layers of {one.encoder}, {' and '.join(names)} {verb} the highest test score: "
        text += _said(cell)
        beside = []
        if "0" in one.cells and "0" not in best:
            beside.append(f"layer 0 has {_said(one.cells['0'])}")
        lower = untrained.get(one.encoder + UNTRAINED)
        if lower and (views := _best_layers(lower)):
            beside.append(f"the same network untrained has at most {_said(lower.cells[views[0]])}, at layer {views[0]}")
        sentences.append(f"{text}; {', and '.join(beside)}." if beside else f"{text}.")
    if not trained:
        sentences.append("There is no trained network in this experiment.")
    if baselines:
        sentences.append(
            "Without any vectors, "
            + " and ".join(f"{name} has {_said(cell)}" for name, cell in reversed(list(baselines.items())))
            + "."
        )
    sentences.append("Whether two layers differ by more than chance is what a claim's paired difference tells.")
    return " ".join(sentences)


def _best_layers(one: Series) -> list[str]:
    """Return the single layer with the highest value, or all that share it."""
    values = {view: cell.value for view, cell in one.cells.items() if view.isdecimal()}
    return [view for view, value in values.items() if value == max(values.values())]


def _layer(view: str, names: Sequence[str]) -> str:
    return f"layer {view} ({names[int(view)]})" if int(view) < len(names) else f"layer {view}"


def _said(cell: Measured) -> str:
    seeds = f" as the mean of {cell.seeds} seeds" if cell.seeds > 1 else ""
    return f"{percent(cell.value)} %{seeds} {ends(cell)}".rstrip()


def baselines(rows: pd.DataFrame) -> dict[str, Measured]:
    """Return the test score of each baseline that has one, by the name that readers see."""
    tested = scores(select(rows, split="test", subset="all"))
    cells = {name: measured(select(tested, probe=probe)) for probe, name in BASELINES.items()}
    return {name: cell for name, cell in cells.items() if cell}
