"""Predictions -> tidy rows: each cell's score with its interval, on each split and subset. Nothing is fitted here."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from probing.config import ExperimentConfig
from probing.predictions import Cell, Predictions
from probing.results import COLUMNS, POOLED
from probing.scoring import f1
from probing.statistics import bootstrap_intervals, macro_intervals
from probing.tasks import Split, Task

EVALUATED = ("dev", "test")

Data = Mapping[str, Mapping[str, Split]]
"""Splits by name, by task."""


def correct(split: Split, predicted: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Tell which predictions are right: equal to any of an example's gold labels. A label that train lacks never is."""
    return np.array([label in example.labels for label, example in zip(predicted, split.examples, strict=True)])


def measure(config: ExperimentConfig, data: Data, finished: Mapping[Cell, Predictions]) -> pd.DataFrame:
    """Turn predictions into tidy rows, in the order of the config: tasks, then word-form baselines, then encoders."""
    rows: list[dict[str, Any]] = []
    for task in config.tasks:
        cells = [cell for cell in finished if cell.task == task.name]
        if not cells:
            continue
        measured = _measures(config, task, data[task.name], [finished[cell] for cell in cells])
        for cell, values in zip(cells, measured, strict=True):
            common = {
                "experiment": config.name,
                "task": task.name,
                "corpus": task.corpus_name,
                "encoder": cell.encoder,
                "encoder_seed": "" if cell.encoder_seed is None else str(cell.encoder_seed),
                "view": cell.view,
                "probe": cell.probe.probe,
                "seed": "",
            }
            n_train = len(data[task.name]["train"].examples)
            about = {"split": "train", "subset": "all", "n": n_train}
            rows += [common | about | {"metric": m, "value": v} for m, v in finished[cell].facts.items()]
            rows += [common | value for value in values]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _measures(
    config: ExperimentConfig, task: Task, splits: Mapping[str, Split], finished: Sequence[Predictions]
) -> list[list[dict[str, Any]]]:
    """Return, for each cell, what was measured of it: rows without the columns that name the cell."""
    values: list[list[dict[str, Any]]] = [[] for _ in finished]
    for name in EVALUATED:
        split = splits[name]
        right = np.stack([correct(split, found.answers[name].labels) for found in finished])
        for subset, members in task.subsets(splits["train"], split).items():
            _add(values, config, right[:, members], split.sentence_index[members], name, subset, task.metric)
        if split.has_groups:
            for cell, own, found in zip(values, right, finished, strict=True):
                cell += _answered(name, own, found.answers[name].answered)
        if task.macro:
            groups = np.array([str(example.group) for example in split.examples])
            bootstrap = config.bootstrap
            means = [[own[groups == group].mean() for group in np.unique(groups)] for own in right]
            intervals = macro_intervals(
                right, split.sentence_index, groups, bootstrap.samples, bootstrap.confidence, bootstrap.seed
            )
            for cell, mean, (low, high) in zip(values, np.mean(means, axis=1), intervals, strict=True):
                about = {"split": name, "subset": "all", "metric": f"{task.metric}_macro", "n": len(groups)}
                cell.append(about | {"value": mean, "ci_low": low, "ci_high": high})
    if task.pooled:
        both = [(splits[name], [correct(splits[name], f.answers[name].labels) for f in finished]) for name in EVALUATED]
        right = np.concatenate([np.stack(own) for _, own in both], axis=1)
        offset = len(both[0][0].sentences)  # sentences of different splits are different ones
        sentence = np.concatenate([both[0][0].sentence_index, both[1][0].sentence_index + offset])
        _add(values, config, right, sentence, POOLED, "all", task.metric)
    return values


def _add(
    values: Sequence[list[dict[str, Any]]],
    config: ExperimentConfig,
    right: NDArray[np.bool_],
    sentence: NDArray[np.int64],
    split: str,
    subset: str,
    metric: str,
) -> None:
    """Add every cell's share of right answers on one subset, intervals from the same draws."""
    bootstrap = config.bootstrap
    intervals = bootstrap_intervals(right, sentence, bootstrap.samples, bootstrap.confidence, bootstrap.seed)
    n = right.shape[1]
    scores = right.mean(axis=1) if n else np.full(len(right), np.nan)
    for cell, score, (low, high) in zip(values, scores, intervals, strict=True):
        about = {"split": split, "subset": subset, "metric": metric, "n": n}
        cell.append(about | {"value": score, "ci_low": low, "ci_high": high})


def _answered(split: str, right: NDArray[np.bool_], answered: NDArray[np.bool_]) -> Iterator[dict[str, Any]]:
    """Yield the share of examples that a probe answers by itself, and its F1 without falling back."""
    about = {"split": split, "subset": "all", "n": len(right)}
    n_right, n_answered = int((right & answered).sum()), int(answered.sum())
    yield about | {"metric": "answered", "value": n_answered / len(right)}
    yield about | {"metric": "f1_without_fallback", "value": f1(n_right, n_answered, len(right)).f1}
