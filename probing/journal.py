"""The cells of a run: fitted, or found done. One file a cell, written as soon as it is known."""

import hashlib
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilm.version import __version__
from probing.config import ExperimentError
from probing.predictions import WHOLE, Cell, Predictions, read_predictions, write_predictions
from probing.probes import Problem
from probing.probes.majority import MajorityConfig, MajorityProbe
from probing.tasks import Split

logger = logging.getLogger(__name__)

EVALUATED = ("dev", "test")
ONE_LABEL = "one_label"
"""The fact of a cell that could learn nothing, as the sentences drawn for it have one label only."""

Data = Mapping[str, Mapping[str, Split]]
"""Splits by name, by task."""


class Journal:
    """What is done so far: in memory, and a file each.

    Parameters
    ----------
    folder : Path
        Where the files are.
    data : Data

    Attributes
    ----------
    finished : dict of Cell to Predictions
    n_fitted : int
        Cells that were fitted, not found done.
    """

    def __init__(self, folder: Path, data: Data) -> None:
        self.folder = folder
        self.data = data
        self.finished: dict[Cell, Predictions] = {}
        self.n_fitted = 0

    def settle(self, cells: Sequence[Cell], fingerprint: str, matrix: Callable[[str], Any]) -> None:
        """Fit those cells that no file settles yet.

        Parameters
        ----------
        cells : sequence of Cell
            Of one probe, one matrix and one share of the training sentences. They differ by task, and their tasks have
            the same examples; or by seed, where all of the training sentences are used.
        fingerprint : str
            The encoder's.
        matrix : function of a split's name
            What the probe sees. Only called where there is something to fit.

        Raises
        ------
        ExperimentError
            If a probe cannot be fitted to these data; the message names the cell.
        """
        given = {cell: self._given(cell) for cell in cells}
        keys = {cell: self._key(cell, fingerprint, given[cell]) for cell in cells}
        kept = {cell: self._read(cell, key) for cell, key in keys.items()}
        if all(kept.values()):
            self.finished |= {cell: predictions for cell, predictions in kept.items() if predictions}
            return
        # One missing cell has all of them fitted: what is solved together rounds together, so that a run that was
        # interrupted between two of them still ends with the same bytes.
        started = time.monotonic()
        probe = cells[0].probe
        splits = [probe.relabel(self.data[cell.task], cell.seed) for cell in cells]
        X = {split: matrix(split) for split in ("train", *EVALUATED)}
        parts, X_train = _drawn(cells[0], [own["train"] for own in splits], X["train"])
        problems = [
            Problem(part, own["dev"], cell.seed, given[cell])
            for cell, own, part in zip(cells, splits, parts, strict=True)
        ]
        learnable = [problem for cell, problem in zip(cells, problems, strict=True) if _learnable(cell, problem)]
        try:
            fitted = iter(probe.fit(learnable, X_train, X["dev"]) if learnable else ())
        except ValueError as error:
            raise ExperimentError(f"{cells[0].title}: {error}") from error
        for cell, problem, own in zip(cells, problems, splits, strict=True):
            if _learnable(cell, problem):
                estimator = next(fitted)
                evaluated = EVALUATED if probe.answers else ()
                answers = {split: probe.answer(estimator, X[split], own[split]) for split in evaluated}
                self.finished[cell] = Predictions(answers, probe.facts(estimator))
            else:
                logger.warning("%s: the sentences drawn have one label only: that one is answered always", cell.title)
                self.finished[cell] = _constant(problem.train, own)
            write_predictions(self.folder / cell.file_name, keys[cell], self.finished[cell])
            self.n_fitted += 1
            logger.info("%s: %s", cell.title, _summary(self.finished[cell], own))
        logger.info("%s cell%s in %.1f s", len(cells), "s" * (len(cells) > 1), time.monotonic() - started)

    def _given(self, cell: Cell) -> Mapping[str, float]:
        """Return the facts of the probe that this cell's builds on, on the same task, view and network."""
        if not cell.probe.after:
            return {}
        for other, predictions in self.finished.items():
            same = replace(other, probe=cell.probe, seed=cell.seed) == cell
            if same and other.probe.probe == cell.probe.after and other.seed in (None, cell.seed):
                return predictions.facts
        raise ExperimentError(f"{cell.title}: needs the probe {cell.probe.after} on the same view, which is not done")

    def _read(self, cell: Cell, key: str) -> Predictions | None:
        """Return what a cell's file settles, or None where it has another key, is damaged or missing."""
        predictions = read_predictions(self.folder / cell.file_name, key)
        if predictions is None:
            return None
        evaluated = EVALUATED if cell.probe.answers else ()
        sizes = {split: len(self.data[cell.task][split].examples) for split in evaluated}
        found = {split: len(answers.labels) for split, answers in predictions.answers.items()}
        return predictions if found == sizes else None

    def _key(self, cell: Cell, fingerprint: str, given: Mapping[str, float]) -> str:
        """Hash everything that a cell's predictions depend on."""
        contents = [self.data[cell.task][split].annotated_content for split in ("train", *EVALUATED)]
        fitted = [cell.view, cell.seed, cell.train_percent, dict(given)]
        settings = cell.probe.model_dump(mode="json", exclude=set(cell.probe.lists))
        parts = [__version__, contents, fingerprint, *fitted, settings]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def correct(split: Split, predicted: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Tell which predictions are right: equal to any of an example's gold labels. A label that train lacks never is."""
    return np.array([label in example.labels for label, example in zip(predicted, split.examples, strict=True)])


def sentences_drawn(n_sentences: int, percent: float, seed: int) -> list[int]:
    """Draw sentences without replacement; of one seed, a larger percentage has all sentences of a smaller one.

    Returns
    -------
    list of int
        Rising indices: `percent` of `n_sentences`, rounded, and at least one.
    """
    order = np.random.default_rng(seed).permutation(n_sentences)
    return sorted(order[: max(1, round(n_sentences * percent / 100))].tolist())


def _drawn(cell: Cell, trains: Sequence[Split], X: Any) -> tuple[Sequence[Split], Any]:
    """Return that part of the training examples, and of X, that the cell is fitted to."""
    if cell.train_percent == WHOLE:
        return trains, X
    assert cell.seed is not None
    chosen = sentences_drawn(len(trains[0].sentences), float(cell.train_percent), cell.seed)
    parts = [train.of_sentences(chosen) for train in trains]
    rows = parts[0][1]
    if not len(rows):
        raise ExperimentError(f"{cell.title}: the {len(chosen)} sentences drawn have no example")
    return [part for part, _ in parts], cell.probe.part(X, parts[0][0], chosen, rows)


def _learnable(cell: Cell, problem: Problem) -> bool:
    """Tell whether there is something to learn: a small share of the sentences may have examples of one label only.

    What builds on a probe that could learn nothing has no settings to be fitted with.
    """
    if cell.train_percent == WHOLE or cell.probe.one_label or problem.train.has_groups:
        return True
    return len(set(problem.train.labels.tolist())) > 1 and ONE_LABEL not in problem.given


def _constant(train: Split, splits: Mapping[str, Split]) -> Predictions:
    """Answer as the majority baseline does: a draw that teaches nothing is an outcome, not the end of a run."""
    majority, estimator = MajorityConfig(), MajorityProbe().fit(train.forms, train.labels)
    answers = {split: majority.answer(estimator, splits[split].forms, splits[split]) for split in EVALUATED}
    return Predictions(answers, {ONE_LABEL: 1.0})


def _summary(predictions: Predictions, splits: Mapping[str, Split]) -> str:
    """Say in a few words how a cell came out."""
    if "dev" in predictions.answers:
        accuracy = np.mean(correct(splits["dev"], predictions.answers["dev"].labels))
        return f"dev accuracy {100 * accuracy:.2f} %"
    return ", ".join(f"{name} {value:.6g}" for name, value in predictions.facts.items())
