"""A config -> the grid of its cells -> features, probes, predictions, rows, report. What is done is not done again.

A cell is one probe on one view of one encoder for one task. Cells that read the same matrix are fitted together.
"""

import json
import logging
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray

from bilm.errors import UserError
from bilm.files import write_text
from bilm.settings import YAML_ERRORS
from probing.claims import check_claims, judge, write_claims
from probing.config import ExperimentConfig, ExperimentError, dump_experiment
from probing.encoders import Encoder, EncoderConfig
from probing.environment import LONG, describe_data, describe_encoder, describe_software
from probing.features import FeatureStore
from probing.journal import Data, Journal
from probing.measures import measure
from probing.predictions import WHOLE, Cell
from probing.probes import ProbeConfig
from probing.report.page import write_report
from probing.results import write_rows
from probing.tasks import Split, TaskError

logger = logging.getLogger(__name__)

_LISTED = 10  # labels that a warning names; the report has more
_SHOWN = 120  # characters of a setting that a message shows


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
        If data or a model is missing or cannot be used, or the folder has results of another config, which would be
        lost; `fresh` replaces them.
    """
    folder = out / config.name
    check_inputs(config)
    if not fresh:
        _refuse_to_lose(folder, config)
    store = store or FeatureStore()
    data: Data = {task.name: task.load() for task in config.tasks}
    environment = describe_software() | {"data": {}, "encoders": {}}
    for task in config.tasks:
        environment["data"][task.name] = _checked_description(task.name, describe_data(task, data[task.name]))
    check_claims(config, data)
    for probe in config.probes:
        if not any(probe.suits(splits["train"]) for splits in data.values()):
            raise ExperimentError(f"{config.name}: the probe {probe.probe} suits none of {', '.join(data)}")
    if fresh:
        with suppress(FileNotFoundError):
            shutil.rmtree(folder / "predictions")
    journal = Journal(folder / "predictions", data)
    for probe in config.probes:
        for task in config.tasks:
            if probe.sees == "forms" and probe.suits(data[task.name]["train"]):
                for together in _fitted_together(config, probe):
                    cells = [Cell(task.name, probe, seed=seed, train_percent=share) for seed, share in together]
                    journal.settle(cells, "", partial(_forms, data[task.name]))
    for encoder_config in config.encoders:
        for seed in encoder_config.seeds:
            encoder = encoder_config.build(seed)
            described = environment["encoders"].setdefault(encoder_config.label, describe_encoder(encoder))
            if seed is not None:  # each seed is a network of its own
                described.setdefault("fingerprint_by_seed", {})[str(seed)] = encoder.fingerprint
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
        n_layers = encoder.n_layers  # read from a file, or from the hub: once is enough
        for view in config.views:
            if view.isdecimal() and int(view) >= n_layers:
                layers = f"{encoder.label} has the layers 0 to {n_layers - 1}"
                raise ExperimentError(f"{config.name}: views: there is no view {view}: {layers}")
        for probe in config.probes:
            if probe.sees == "vectors" and not _views(config, probe, n_layers):
                raise ExperimentError(
                    f"{config.name}: probes: {probe.probe} reads single layers, of which views has none: nothing of it "
                    "would be measured"
                )
        probes = {probe.probe: probe for probe in config.probes}
        for index, claim in enumerate(config.claims):
            probe = probes["control" if claim.measure == "selectivity" else claim.probe]  # reads no other views
            missing = {claim.better, claim.worse}.difference(_views(config, probe, n_layers))
            if claim.encoder in (None, encoder.label) and encoder.seeds == (None,) and missing:
                raise ExperimentError(f"{config.name}: claims.{index}: {encoder.label} has no view {min(missing)} here")


def _refuse_to_lose(folder: Path, config: ExperimentConfig) -> None:
    """Raise an error if the folder has results that this config would not make: what is added is no loss."""
    path = folder / "config.yaml"
    try:
        before = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    except YAML_ERRORS:
        before = None
    if not isinstance(before, dict):
        raise ExperimentError(
            f"{path}: damaged, so that it cannot be told whether the results beside it are of this config; "
            "give this one another name (-o name=...), or replace what is there by --fresh"
        )
    now = yaml.safe_load(dump_experiment(config))
    growing = {"untrained", *(key for probe in config.probes for key in probe.lists)}
    for key in ("tasks", "encoders", "views", "probes", "train_percent", "draws", "bootstrap"):
        there, here = before.get(key), now[key]
        lost = [part for part in there if not _found(part, here, growing)] if isinstance(there, list) else [there]
        if there != here and lost:
            raise ExperimentError(
                f"{folder} has the results of another config: {key} has {_short(lost[0])} there, {_short(here)} here; "
                "give this one another name (-o name=...), or replace what is there by --fresh"
            )


def _found(part: Any, parts: Sequence[Any], growing: Collection[str]) -> bool:
    """Tell whether `part` is among `parts`, where lists under the keys `growing` may have become longer."""

    def same(key: str, before: Any, now: Any) -> bool:
        if key in growing and isinstance(before, list) and isinstance(now, list):
            return all(one in now for one in before)
        return bool(before == now)

    if not isinstance(part, dict):
        return part in parts
    same_keys = [other for other in parts if isinstance(other, dict) and other.keys() == part.keys()]
    return any(all(same(key, part[key], other[key]) for key in part) for other in same_keys)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _settle_encoder(
    config: ExperimentConfig,
    encoder_config: EncoderConfig,
    seed: int | None,
    encoder: Encoder,
    journal: Journal,
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

        def matrix(probe: ProbeConfig, view: str, splits: Mapping[str, Split], name: str) -> Any:
            split = splits[name]
            read = split.by_token() if probe.by_token else split
            return probe.matrix(store.get(encoder, read, f"{label}, {name}"), view, split)

        for probe in _in_order(config.probes):
            if probe.sees != "vectors" or not probe.suits(splits["train"]):
                continue
            for view in _views(config, probe, len(encoder.layer_names)):
                X = partial(matrix, probe, view, splits)
                for together in _fitted_together(config, probe):
                    cells = [
                        Cell(task, probe, encoder_config.label, seed, view, own, percent)
                        for task in tasks
                        for own, percent in together
                    ]
                    journal.settle(cells, encoder.fingerprint, X)


def _fitted_together(config: ExperimentConfig, probe: ProbeConfig) -> Iterator[list[tuple[int | None, str]]]:
    """Yield lists of (seed, percentage of train) whose cells read the same rows of one matrix in the same passes."""
    for percent in config.train_percent:
        share = f"{percent:g}"
        if share == WHOLE:
            seeds = [(seed, share) for seed in probe.all_seeds]
            yield from [seeds] if probe.one_pass else [[one] for one in seeds]
        elif probe.answers:
            for draw in range(config.draws):
                yield [(draw, share)]


def _in_order(probes: Sequence[ProbeConfig]) -> list[ProbeConfig]:
    """Put the probes that build on another one after all others."""
    return sorted(probes, key=lambda probe: bool(probe.after))


def _forms(splits: Mapping[str, Split], split: str) -> NDArray[np.object_]:
    return splits[split].forms


def _views(config: ExperimentConfig, probe: ProbeConfig, n_layers: int) -> list[str]:
    """Return the views that a probe reads by name, "layers" being each layer alone."""
    layers = [str(layer) for layer in range(n_layers)]
    views = [name for view in config.views for name in (layers if view == "layers" else [view])]
    return list(probe.all_views(list(dict.fromkeys(views)), n_layers))


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
