"""Predictions -> tidy rows: each cell's score with its interval, on each split and subset. Nothing is fitted here."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from probing.config import ExperimentConfig
from probing.derived import Hits, derived_rows
from probing.journal import EVALUATED, Data, correct, sentences_drawn
from probing.predictions import WHOLE, Cell, Predictions
from probing.results import COLUMNS, POOLED
from probing.scoring import f1
from probing.statistics import bootstrap_intervals, macro_intervals, mean_intervals
from probing.tasks import Split, Task


def measure(config: ExperimentConfig, data: Data, finished: Mapping[Cell, Predictions]) -> pd.DataFrame:
    """Turn predictions into tidy rows, in the order of the config: tasks, then word-form baselines, then encoders.

    What is measured of several cells together (selectivity, information) follows after a task's cells.
    """
    rows: list[dict[str, Any]] = []
    for task in config.tasks:
        own = {cell: predictions for cell, predictions in finished.items() if cell.task == task.name}
        if own:
            splits = data[task.name]
            common = {"experiment": config.name, "task": task.name, "corpus": task.corpus_name}
            hits = hits_of(splits, own)
            rows += [common | row for row in _cell_rows(config, task, splits, own, hits)]
            rows += [common | row for row in derived_rows(config, splits, own, hits)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def hits_of(splits: Mapping[str, Split], finished: Mapping[Cell, Predictions]) -> Hits:
    """Return, for each cell and split, which of its answers are right; a control is asked for its own labels."""
    golds: dict[tuple[Any, int | None], Mapping[str, Split]] = {}
    hits: dict[tuple[Cell, str], NDArray[np.bool_]] = {}
    for cell, predictions in finished.items():
        labelled = (cell.probe, cell.seed)
        if labelled not in golds:
            golds[labelled] = cell.probe.relabel(splits, cell.seed)
        for split, answers in predictions.answers.items():
            hits[cell, split] = correct(golds[labelled][split], answers.labels)
    return hits


def names(cell: Cell) -> dict[str, str]:
    """Return the columns that name a cell, besides experiment, task and corpus."""
    return {
        "encoder": cell.encoder,
        "encoder_seed": "" if cell.encoder_seed is None else str(cell.encoder_seed),
        "view": cell.view,
        "probe": cell.probe.probe,
        "seed": "" if cell.seed is None else str(cell.seed),
        "train_percent": cell.train_percent,
    }


def _cell_rows(
    config: ExperimentConfig,
    task: Task,
    splits: Mapping[str, Split],
    finished: Mapping[Cell, Predictions],
    hits: Hits,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of each cell by itself: its facts, then its scores."""
    values: dict[Cell, list[dict[str, Any]]] = {cell: [] for cell in finished}
    answering = [cell for cell in finished if cell.probe.answers]
    # Kinds of example are told apart by the task's own labels, which mean nothing to a control.
    own_labels = [cell for cell in answering if not cell.probe.relabels]
    for name in EVALUATED:
        split = splits[name]
        for subset, members in task.subsets(splits["train"], split).items():
            cells = answering if subset == "all" else [cell for cell in own_labels if cell.train_percent == WHOLE]
            right = [hits[cell, name][members] for cell in cells]
            _add(values, config, cells, right, split.sentence_index[members], name, subset, task.metric)
        _add_bits(values, config, finished, split, name)
        if split.has_groups:
            for cell in answering:
                values[cell] += _answered(name, hits[cell, name], finished[cell].answers[name].answered)
        if task.macro and answering:
            groups = np.array([str(example.group) for example in split.examples])
            right_of_all = np.stack([hits[cell, name] for cell in answering])
            settings = config.bootstrap
            means = [[own[groups == group].mean() for group in np.unique(groups)] for own in right_of_all]
            intervals = macro_intervals(
                right_of_all, split.sentence_index, groups, settings.samples, settings.confidence, settings.seed
            )
            for cell, mean, (low, high) in zip(answering, np.mean(means, axis=1), intervals, strict=True):
                about = {"split": name, "subset": "all", "metric": f"{task.metric}_macro", "n": len(groups)}
                values[cell].append(about | {"value": mean, "ci_low": low, "ci_high": high})
    if task.pooled:
        right = [np.concatenate([hits[cell, name] for name in EVALUATED]) for cell in answering]
        dev, test = (splits[name] for name in EVALUATED)
        # Sentences of different splits are different ones.
        sentence = np.concatenate([dev.sentence_index, test.sentence_index + len(dev.sentences)])
        _add(values, config, answering, right, sentence, POOLED, "all", task.metric)
    sentence = splits["train"].sentence_index
    for cell, own_values in values.items():
        about = names(cell) | {"split": "train", "subset": "all", "n": _n_fitted(cell, splits["train"], sentence)}
        for metric, value in finished[cell].facts.items():
            yield about | {"metric": metric, "value": value}
        for row in own_values:
            yield names(cell) | row


def _n_fitted(cell: Cell, train: Split, sentence: NDArray[np.int64]) -> int:
    """Return how many training examples a cell was fitted to; `sentence` is the sentence of each example."""
    if cell.train_percent == WHOLE:
        return len(sentence)
    assert cell.seed is not None
    drawn = sentences_drawn(len(train.sentences), float(cell.train_percent), cell.seed)
    return int(np.isin(sentence, drawn).sum())


def _add(
    values: Mapping[Cell, list[dict[str, Any]]],
    config: ExperimentConfig,
    cells: Sequence[Cell],
    right: Sequence[NDArray[np.bool_]],
    sentence: NDArray[np.int64],
    split: str,
    subset: str,
    metric: str,
) -> None:
    """Add every cell's share of right answers on one subset, intervals from the same draws."""
    if not cells:
        return
    settings = config.bootstrap
    stacked = np.stack(right)
    n = stacked.shape[1]
    intervals = bootstrap_intervals(stacked, sentence, settings.samples, settings.confidence, settings.seed)
    scores = stacked.mean(axis=1) if n else np.full(len(stacked), np.nan)
    for cell, score, (low, high) in zip(cells, scores, intervals, strict=True):
        about = {"split": split, "subset": subset, "metric": metric, "n": n}
        values[cell].append(about | {"value": score, "ci_low": low, "ci_high": high})


def _add_bits(
    values: Mapping[Cell, list[dict[str, Any]]],
    config: ExperimentConfig,
    finished: Mapping[Cell, Predictions],
    split: Split,
    name: str,
) -> None:
    """Add the mean of -log2 p(gold), for the probes that have probabilities."""
    settings = config.bootstrap
    bits = {
        cell: found.answers[name].bits
        for cell, found in finished.items()
        if name in found.answers and found.answers[name].bits is not None
    }
    if bits:
        stacked = np.stack([np.asarray(own, dtype=np.float64) for own in bits.values()])
        intervals = mean_intervals(stacked, split.sentence_index, settings.samples, settings.confidence, settings.seed)
        for cell, value, (low, high) in zip(bits, stacked.mean(axis=1), intervals, strict=True):
            about = {"split": name, "subset": "all", "metric": "cross_entropy_bits", "n": stacked.shape[1]}
            values[cell].append(about | {"value": value, "ci_low": low, "ci_high": high})


def _answered(split: str, right: NDArray[np.bool_], answered: NDArray[np.bool_]) -> Iterator[dict[str, Any]]:
    """Yield the share of examples that a probe answers by itself, and its F1 without falling back."""
    about = {"split": split, "subset": "all", "n": len(right)}
    n_right, n_answered = int((right & answered).sum()), int(answered.sum())
    yield about | {"metric": "answered", "value": n_answered / len(right)}
    yield about | {"metric": "f1_without_fallback", "value": f1(n_right, n_answered, len(right)).f1}
