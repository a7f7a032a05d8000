"""Stated claims -> verdicts: each compares two views of one network on the same test examples, sentences paired."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bilm.errors import UserError
from bilm.files import write_text
from probing.config import Claim, ExperimentConfig
from probing.derived import selectivity
from probing.journal import Data
from probing.measures import hits_of
from probing.predictions import WHOLE, Cell, Predictions
from probing.results import read_csv
from probing.statistics import holm, paired_difference

SPLIT = "test"
Verdict = Literal["supported", "refuted", "undecided"]


class ClaimError(UserError):
    """A claim that the experiment's grid cannot answer; the message names it."""


class Judged(NamedTuple):
    """A claim's outcome: a row of claims.csv.

    Attributes
    ----------
    family, claim, task, corpus, encoder, probe, measure, subset, better, worse : str
    better_value, worse_value : float
        What is measured of the two views, fractions.
    difference, ci_low, ci_high : float
        `better` less `worse`, with the interval of resampling sentences for both at once.
    p : float
        Two-sided, of the paired bootstrap.
    p_holm : float
        `p` corrected for the number of claims in the family, as judged in one run.
    mcnemar_p : float
        Exact McNemar test over examples, beside it; NaN where several seeds or draws are averaged.
    n : int
        Examples.
    verdict : str
        "supported" where the whole interval is above 0 and `p_holm` is below 1 less the confidence, "refuted" where the
        interval is below 0 and `p_holm` as low, else "undecided".
    """

    family: str
    claim: str
    task: str
    corpus: str
    encoder: str
    probe: str
    measure: str
    subset: str
    better: str
    worse: str
    better_value: float
    worse_value: float
    difference: float
    ci_low: float
    ci_high: float
    p: float
    p_holm: float
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
    judged = [one for claim in config.claims for one in _judge(claim, config, data, finished)]
    corrected: list[Judged] = []
    for family in dict.fromkeys(one.family for one in judged):
        members = [one for one in judged if one.family == family]
        adjusted = holm([one.p for one in members])
        corrected += [_with_verdict(one, p, config) for one, p in zip(members, adjusted, strict=True)]
    return corrected


def probes_of(claim: Claim) -> tuple[str, ...]:
    """Return the probes whose answers a claim is about."""
    return (claim.probe, "control") if claim.measure == "selectivity" else (claim.probe,)


def check_claims(config: ExperimentConfig, data: Data) -> None:
    """See, before anything is fitted, that the data have what each claim is about.

    Raises
    ------
    ClaimError
        If a probe does not suit a claim's task, or its subset has no examples.
    """
    probes = {probe.probe: probe for probe in config.probes}
    for index, claim in enumerate(config.claims):
        for name in probes_of(claim):
            if not probes[name].suits(data[claim.task]["train"]):
                raise ClaimError(f"{config.name}: claims.{index}: the probe {name} does not suit the task {claim.task}")
        _members(claim, config, data)


def _members(claim: Claim, config: ExperimentConfig, data: Data) -> NDArray[np.bool_]:
    """Tell which test examples a claim is about."""
    task = next(task for task in config.tasks if task.name == claim.task)
    subsets = task.subsets(data[claim.task]["train"], data[claim.task][SPLIT])
    members = subsets.get(claim.subset)
    if members is None or not members.any():
        raise ClaimError(f"claim {claim.says!r}: {SPLIT} has no examples in subset {claim.subset!r} of {list(subsets)}")
    return members


def _with_verdict(one: Judged, p_holm: float, config: ExperimentConfig) -> Judged:
    verdict: Verdict = "undecided"
    if p_holm < 1 - config.bootstrap.confidence:
        verdict = "supported" if one.ci_low > 0 else "refuted" if one.ci_high < 0 else "undecided"
    return one._replace(p_holm=p_holm, verdict=verdict)


def _judge(
    claim: Claim, config: ExperimentConfig, data: Data, finished: Mapping[Cell, Predictions]
) -> Iterator[Judged]:
    task = next(task for task in config.tasks if task.name == claim.task)
    split = data[claim.task][SPLIT]
    members = _members(claim, config, data)
    asked = set(probes_of(claim))
    trained = {
        cell: found
        for cell, found in finished.items()
        if cell.task == claim.task
        and cell.probe.probe in asked
        and cell.encoder_seed is None
        and cell.train_percent == WHOLE
    }
    hits = hits_of(data[claim.task], trained)

    def right(probe: str, encoder: str, view: str) -> list[NDArray[np.bool_]]:
        return [
            hits[cell, SPLIT][members]
            for cell in trained
            if (cell.probe.probe, cell.encoder, cell.view) == (probe, encoder, view)
        ]

    def measured(encoder: str, view: str) -> NDArray[Any]:
        of_task = right(claim.probe, encoder, view)
        if not of_task:
            raise ClaimError(f"claim {claim.says!r}: probe {claim.probe} did not read view {view} of {encoder}")
        if claim.measure == "selectivity":
            control = right("control", encoder, view)
            if not control:
                raise ClaimError(f"claim {claim.says!r}: the probe control did not read view {view} of {encoder}")
            return selectivity(of_task, control)
        return of_task[0] if len(of_task) == 1 else np.mean(of_task, axis=0)

    encoders = dict.fromkeys(cell.encoder for cell in trained if cell.probe.probe == claim.probe)
    for encoder in encoders if claim.encoder is None else [claim.encoder]:
        better, worse = measured(encoder, claim.better), measured(encoder, claim.worse)
        settings = config.bootstrap
        difference = paired_difference(
            better, worse, split.sentence_index[members], settings.samples, settings.confidence, settings.seed
        )
        yield Judged(
            claim.family,
            claim.says,
            claim.task,
            task.corpus_name,
            encoder,
            claim.probe,
            claim.measure,
            claim.subset,
            claim.better,
            claim.worse,
            float(better.mean()),
            float(worse.mean()),
            difference.value,
            difference.low,
            difference.high,
            difference.p,
            float("nan"),
            difference.mcnemar_p,
            len(better),
            "undecided",
        )


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
        If it is not what `write_claims` writes; the message names file and line.
    """
    if not path.exists():
        return []
    return [_parsed(fields, f"{path}:{line}") for line, fields in read_csv(path, Judged._fields, "claims")]


def _parsed(fields: Sequence[str], place: str) -> Judged:
    values: list[Any] = []
    for name, text in zip(Judged._fields, fields, strict=True):
        kind = Judged.__annotations__[name]
        try:
            values.append(kind(text) if kind in (int, float) else text)
        except ValueError:
            raise UserError(f"{place}: {name} is {text!r}, which is no number") from None
    return Judged(*values)
