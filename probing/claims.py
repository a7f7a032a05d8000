"""Stated claims -> verdicts: each compares two views of one network on the same test examples, sentences paired."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from bilm.errors import UserError
from bilm.files import write_text
from probing.config import Claim, ExperimentConfig
from probing.measures import Data, correct
from probing.predictions import Cell, Predictions
from probing.statistics import paired_difference

SPLIT = "test"
Verdict = Literal["supported", "refuted", "undecided"]


class ClaimError(UserError):
    """A claim that the experiment's grid cannot answer; the message names it."""


class Judged(NamedTuple):
    """A claim's outcome: a row of claims.csv.

    Attributes
    ----------
    claim, task, corpus, encoder, probe, subset, better, worse : str
    better_value, worse_value : float
        Scores of the two views, fractions.
    difference, ci_low, ci_high : float
        `better` less `worse`, with the interval of resampling sentences for both at once.
    p : float
        Two-sided, of the paired bootstrap.
    mcnemar_p : float
        Exact McNemar test over examples, beside it.
    n : int
        Examples.
    verdict : str
        "supported" where the whole interval is above 0, "refuted" where it is below, else "undecided".
    """

    claim: str
    task: str
    corpus: str
    encoder: str
    probe: str
    subset: str
    better: str
    worse: str
    better_value: float
    worse_value: float
    difference: float
    ci_low: float
    ci_high: float
    p: float
    mcnemar_p: float
    n: int
    verdict: Verdict


def judge(config: ExperimentConfig, data: Data, finished: Mapping[Cell, Predictions]) -> list[Judged]:
    """Return the outcome of each claim for each trained network that it speaks of.

    Raises
    ------
    ClaimError
        If the grid lacks a cell, or the data a subset, that a claim names.
    """
    return [judged for claim in config.claims for judged in _judge(claim, config, data, finished)]


def _judge(
    claim: Claim, config: ExperimentConfig, data: Data, finished: Mapping[Cell, Predictions]
) -> Iterator[Judged]:
    task = next(task for task in config.tasks if task.name == claim.task)
    split = data[claim.task][SPLIT]
    subsets = task.subsets(data[claim.task]["train"], split)
    members = subsets.get(claim.subset)
    if members is None or not members.any():
        raise ClaimError(f"claim {claim.says!r}: {SPLIT} has no examples in subset {claim.subset!r} of {list(subsets)}")
    right = {
        (cell.encoder, cell.view): correct(split, found.answers[SPLIT].labels)[members]
        for cell, found in finished.items()
        if (cell.task, cell.probe.probe, cell.encoder_seed) == (claim.task, claim.probe, None)
    }
    for encoder in dict.fromkeys(encoder for encoder, _ in right) if claim.encoder is None else [claim.encoder]:
        missing = [view for view in (claim.better, claim.worse) if (encoder, view) not in right]
        if missing:
            raise ClaimError(f"claim {claim.says!r}: probe {claim.probe} did not read view {missing[0]} of {encoder}")
        better, worse = right[encoder, claim.better], right[encoder, claim.worse]
        settings = config.bootstrap
        difference = paired_difference(
            better, worse, split.sentence_index[members], settings.samples, settings.confidence, settings.seed
        )
        verdict: Verdict = "supported" if difference.low > 0 else "refuted" if difference.high < 0 else "undecided"
        named = (claim.says, claim.task, task.corpus_name, encoder, claim.probe, claim.subset)
        values = (float(better.mean()), float(worse.mean()))
        yield Judged(*named, claim.better, claim.worse, *values, *difference, len(better), verdict)


def write_claims(rows: Sequence[Judged], path: Path) -> None:
    """Write claims.csv, atomically; fractions have six decimals."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(Judged._fields)
    writer.writerows([f"{value:.6f}" if isinstance(value, float) else value for value in row] for row in rows)
    write_text(path, table.getvalue())


def read_claims(path: Path) -> list[Judged]:
    """Read claims.csv; no claims where there is no such file.

    Raises
    ------
    UserError
        If it is not what `write_claims` writes.
    """
    if not path.exists():
        return []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = list(csv.reader(file, strict=True)) or [[]]
        if tuple(header) != Judged._fields:
            raise ValueError("other columns")
        kinds = Judged.__annotations__
        return [Judged(*(_parsed(kinds[name], text) for name, text in zip(header, row, strict=True))) for row in rows]
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f"{path}: not a claims file ({error})") from error


def _parsed(kind: Any, text: str) -> Any:
    return kind(text) if kind in (int, float) else text
