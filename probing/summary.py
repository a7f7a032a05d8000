"""What a run says on the terminal when it is done: a line for each claim, and where the data cannot tell layers apart.

The lines are made from the files that a run leaves; printing them is the command line's.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from probing.claims import SPLIT, Judged, read_claims
from probing.predictions import WHOLE
from probing.results import SCORES, UNTRAINED, read_rows, scores, select

_SENSE_BASELINES = {"most-frequent-sense": "the most frequent sense", "first-sense": "the first sense"}
"""What a layer must beat to know anything of senses, the first that was run."""


def summary(folder: Path) -> list[str]:
    """Return the lines that end a run: verdicts, then what is at chance, then where the picture is.

    Parameters
    ----------
    folder : Path
        Of one experiment's results, as a run leaves it.
    """
    lines = [*verdicts(read_claims(folder / "claims.csv")), *at_chance(read_rows(folder / "results.csv"))]
    picture = main_picture(folder)
    return lines if picture is None else [*lines, f"picture: {picture}"]


def verdicts(claims: Sequence[Judged]) -> Iterator[str]:
    """Say each claim's verdict in a line; the network is named where there are several."""
    several = len({claim.encoder for claim in claims}) > 1
    for claim in claims:
        network = f" ({claim.encoder})" if several else ""
        change = f"{100 * claim.difference:+.2f} points [{100 * claim.ci_low:+.2f}, {100 * claim.ci_high:+.2f}]"
        p = "p_holm < 0.001" if claim.p_holm < 0.0005 else f"p_holm {claim.p_holm:.3f}"
        yield f"{claim.verdict}: {claim.claim}{network}, {change}, {p}"


def at_chance(rows: pd.DataFrame) -> Iterator[str]:
    """Say for which task and trained network no layer beats the sense that is right most often, whatever the probe.

    A layer beats it if its whole interval on test lies above. Tasks without such a baseline have no line.

    Parameters
    ----------
    rows : DataFrame with the columns `probing.results.COLUMNS`
    """
    rows = scores(select(rows, split=SPLIT, subset="all", train_percent=WHOLE))
    rows = rows[rows["value"].notna()]
    for (task, corpus), own in rows.groupby(["task", "corpus"], sort=False):
        baselines = [probe for probe in _SENSE_BASELINES if probe in set(own["probe"])]
        if not baselines:
            continue
        level = float(select(own, probe=baselines[0])["value"].iloc[0])
        layers = own[own["view"].str.isdecimal() & ~own["encoder"].str.endswith(UNTRAINED)]
        for encoder, read in layers.groupby("encoder", sort=False):
            if (read["ci_low"] > level).any():
                continue
            best = read.iloc[int(read["value"].argmax())]
            yield (
                f"{task} ({corpus}): no layer of {encoder} beats {_SENSE_BASELINES[baselines[0]]} "
                f"({100 * level:.2f} %): the best, layer {best['view']} read by {best['probe']}, has "
                f"{SCORES[best['metric']]} {100 * best['value']:.2f} % "
                f"[{100 * best['ci_low']:.2f}, {100 * best['ci_high']:.2f}]. "
                "This model is too weak to tell layers apart on this task"
            )


def main_picture(folder: Path) -> Path | None:
    """Return the picture of all tasks by layer or, of one task, its own; None where nothing was drawn."""
    figures = folder / "figures"
    together = figures / "layers.png"
    return together if together.exists() else next(iter(sorted(figures.glob("*-layers.png"))), None)
