"""A config -> the grid of its cells -> features, probes, predictions, rows, report. What is done is not done again.

A cell is one probe on one view of one encoder for one task. Cells that read the same matrix are fitted together.
"""

import hashlib
import json
import logging
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bilm.errors import UserError
from bilm.files import write_text
from bilm.version import __version__
from probing.claims import judge, write_claims
from probing.config import ExperimentConfig, ExperimentError, dump_experiment
from probing.encoders import Encoder, EncoderConfig
from probing.environment import LONG, describe_data, describe_encoder, describe_software
from probing.features import FeatureStore
from probing.measures import EVALUATED, Data, correct, measure
from probing.predictions import Cell, Predictions, read_predictions, write_predictions
from probing.report.page import write_report
from probing.results import write_rows
from probing.tasks import Split, TaskError

logger = logging.getLogger(__name__)

_LISTED = 10  # labels that a warning names; the report has more


@dataclass(frozen=True)
class Outcome:
    """What a run leaves.

    Attributes
    ----------
    folder : Path
        results.csv, report.md, figures/ and the rest.
    rows : DataFrame
        What results.csv holds.
    n_fitted, n_kept : int
        Cells that this run fitted, and cells that it found done.
    """

    folder: Path
    rows: pd.DataFrame
    n_fitted: int
    n_kept: int


def run_experiment(
    config: ExperimentConfig, out: Path, *, fresh: bool = False, store: FeatureStore | None = None
) -> Outcome:
    """Run what is not done yet, then write rows and report.

    Parameters
    ----------
    config : ExperimentConfig
    out : Path
        Results go to `out/<name>/`.
    fresh : bool
        Fit every cell anew. Features are kept: their store is content-addressed.
    store : FeatureStore, optional

    Raises
    ------
    UserError
        If data or a model is missing or cannot be used.
    """
    folder = out / config.name
    store = store or FeatureStore()
    check_inputs(config)
    data: Data = {task.name: task.load() for task in config.tasks}
    environment = describe_software() | {"data": {}, "encoders": {}}
    for task in config.tasks:
        environment["data"][task.name] = _checked_description(task.name, describe_data(task, data[task.name]))
    if fresh:
        shutil.rmtree(folder / "predictions", ignore_errors=True)

    for probe in config.probes:
        if not any(probe.suits(splits["train"]) for splits in data.values()):
            raise ExperimentError(f"{config.name}: the probe {probe.probe} suits none of {', '.join(data)}")
    journal = _Journal(folder / "predictions", data)
    for probe in config.probes:
        if probe.sees == "forms":
            for task in config.tasks:
                if probe.suits(data[task.name]["train"]):
                    journal.settle([Cell(task.name, probe)], "", partial(_forms, data[task.name]))
    for encoder_config in config.encoders:
        for seed in encoder_config.seeds:
            encoder = encoder_config.build(seed)
            environment["encoders"].setdefault(encoder_config.label, describe_encoder(encoder))
            _settle_encoder(config, encoder_config, seed, encoder, journal, store)

    rows = measure(config, data, journal.finished)
    write_text(folder / "config.yaml", dump_experiment(config))
    write_rows(rows, folder / "results.csv")
    write_claims(judge(config, data, journal.finished), folder / "claims.csv")
    write_text(folder / "environment.json", json.dumps(environment, indent=2, ensure_ascii=False) + "\n")
    write_report(folder)
    return Outcome(folder, rows, journal.n_fitted, len(journal.finished) - journal.n_fitted)


def check_inputs(config: ExperimentConfig) -> None:
    """Raise an error if a corpus, a model or a layer is not here, without reading any text or weights."""
    checks = {f"tasks.{index}": task.check for index, task in enumerate(config.tasks)}
    checks |= {f"encoders.{index}": encoder.check for index, encoder in enumerate(config.encoders)}
    for key, check in checks.items():
        try:
            check()
        except UserError as error:
            raise ExperimentError(f"{config.name}: {key}: {error}") from error
    for encoder in config.encoders:
        for view in config.views:
            if view.isdecimal() and int(view) >= encoder.n_layers:
                layers = f"{encoder.label} has the layers 0 to {encoder.n_layers - 1}"
                raise ExperimentError(f"{config.name}: views: there is no view {view}: {layers}")
        for index, claim in enumerate(config.claims):
            missing = {claim.better, claim.worse}.difference(_views(config, encoder.n_layers))
            if claim.encoder in (None, encoder.label) and encoder.seeds == (None,) and missing:
                raise ExperimentError(f"{config.name}: claims.{index}: {encoder.label} has no view {min(missing)} here")


class _Journal:
    """The cells done so far: in memory, and a file each."""

    def __init__(self, folder: Path, data: Data) -> None:
        self.folder = folder
        self.data = data
        self.finished: dict[Cell, Predictions] = {}
        self.n_fitted = 0

    def settle(self, cells: Sequence[Cell], fingerprint: str, matrix: Callable[[str], NDArray[Any]]) -> None:
        """Fit those cells that no file settles yet.

        Parameters
        ----------
        cells : sequence of Cell
            Of one probe and one matrix; they differ by task, and their tasks have the same examples.
        fingerprint : str
            The encoder's.
        matrix : function of a split's name
            What the probe sees. Only called where there is something to fit.
        """
        keys = {cell: self._key(cell, fingerprint) for cell in cells}
        kept = {cell: self._read(cell, key) for cell, key in keys.items()}
        if all(kept.values()):
            self.finished |= {cell: predictions for cell, predictions in kept.items() if predictions}
            return
        # One missing cell has all of them fitted: what is solved together rounds together, so that a run that was
        # interrupted between two of them still ends with the same bytes.
        started = time.monotonic()
        X = {split: matrix(split) for split in ("train", *EVALUATED)}
        splits = {split: [self.data[cell.task][split] for cell in cells] for split in X}
        probe = cells[0].probe
        fitted = probe.fit(X["train"], splits["train"], X["dev"], splits["dev"])
        for cell, estimator in zip(cells, fitted, strict=True):
            data = self.data[cell.task]
            answers = {split: probe.answer(estimator, X[split], data[split]) for split in EVALUATED}
            self.finished[cell] = Predictions(answers, probe.facts(estimator))
            write_predictions(self.folder / cell.file_name, keys[cell], self.finished[cell])
            self.n_fitted += 1
            accuracy = np.mean(correct(data["dev"], answers["dev"].labels))
            logger.info("%s: dev accuracy %.2f %%", cell.title, 100 * accuracy)
        logger.info("%s cell%s in %.1f s", len(cells), "s" * (len(cells) > 1), time.monotonic() - started)

    def _read(self, cell: Cell, key: str) -> Predictions | None:
        """Return what a cell's file settles, or None where it has another key, is damaged or missing."""
        predictions = read_predictions(self.folder / cell.file_name, key)
        sizes = {split: len(self.data[cell.task][split].examples) for split in EVALUATED}
        if predictions and {split: len(found.labels) for split, found in predictions.answers.items()} == sizes:
            return predictions
        return None

    def _key(self, cell: Cell, fingerprint: str) -> str:
        """Hash everything that a cell's predictions depend on."""
        contents = [self.data[cell.task][split].annotated_content for split in ("train", *EVALUATED)]
        parts = [__version__, contents, fingerprint, cell.view, cell.probe.model_dump(mode="json")]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _settle_encoder(
    config: ExperimentConfig,
    encoder_config: EncoderConfig,
    seed: int | None,
    encoder: Encoder,
    journal: _Journal,
    store: FeatureStore,
) -> None:
    """Settle every cell of one network. Tasks on the same words and spans share features and are fitted together."""

    def contents(task: str) -> list[str]:
        return [split.content for split in journal.data[task].values()]

    names = sorted((task.name for task in config.tasks), key=contents)
    label = encoder_config.label + ("" if seed is None else f" seed {seed}")
    for _, same in groupby(names, key=contents):
        tasks = list(same)
        splits = journal.data[tasks[0]]

        def matrix(view: str, splits: Mapping[str, Split], split: str) -> NDArray[np.float32]:
            return store.get(encoder, splits[split], f"{label}, {split}").view(view)

        for view in _views(config, len(encoder.layer_names)):
            for probe in config.probes:
                if probe.sees == "vectors" and probe.suits(splits["train"]):
                    cells = [Cell(task, probe, encoder_config.label, seed, view) for task in tasks]
                    journal.settle(cells, encoder.fingerprint, partial(matrix, view, splits))


def _forms(splits: Mapping[str, Split], split: str) -> NDArray[np.object_]:
    return splits[split].forms


def _views(config: ExperimentConfig, n_layers: int) -> list[str]:
    """Return the views by name, "layers" being each layer alone."""
    layers = [str(layer) for layer in range(n_layers)]
    views = [name for view in config.views for name in (layers if view == "layers" else [view])]
    return list(dict.fromkeys(views))


def _checked_description(task: str, description: dict[str, Any]) -> dict[str, Any]:
    """Refuse data on which nothing can be learned, and say aloud what weakens a result."""
    for split, sizes in description["splits"].items():
        if not sizes["examples"]:
            raise TaskError(f"{task}: {split} of {description['corpus']} has no examples")
    if description["n_labels"] < 2:
        raise TaskError(f"{task}: the training data have one label only ({description['labels'][0]}): nothing to learn")
    for split, labels in description["labels_not_in_train"].items():
        if labels:
            listed = ", ".join(f"{label} ({count})" for label, count in list(labels.items())[:_LISTED])
            listed += f" and {len(labels) - _LISTED} more" if len(labels) > _LISTED else ""
            logger.warning("%s: %s has labels that train lacks; they count as wrong: %s", task, split, listed)
    for split, count in description["sentences_also_in_train"].items():
        if count:
            long = description[f"sentences_of_{LONG}_tokens_also_in_train"][split]
            logger.warning(
                "%s: %d of %d %s sentences also stand in train (%d of them with at least %d tokens)",
                task, count, description["splits"][split]["sentences"], split, long, LONG,
            )  # fmt: skip
    return description
