"""Two rows of results -> how much better the one is than the other, from the predictions behind them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bilm.errors import UserError
from bilm.settings import nearest
from probing.config import ExperimentConfig, load_experiment
from probing.journal import EVALUATED, correct
from probing.predictions import Cell, read_predictions
from probing.results import TEXT_COLUMNS, read_rows, scores
from probing.statistics import Difference, paired_difference
from probing.tasks import Split

_KEYS = tuple(column for column in TEXT_COLUMNS if column not in ("experiment", "corpus"))
_SAME_SCORE = 1e-6  # results.csv has six decimals


class CompareError(UserError):
    """Rows that cannot be found or compared; the message says what would do."""


class Comparison(NamedTuple):
    """Two systems on the same examples.

    Attributes
    ----------
    first, second : str
        The rows, in words.
    first_value, second_value : float
        Their scores.
    n : int
        Examples.
    difference : Difference
        First less second.
    """

    first: str
    second: str
    first_value: float
    second_value: float
    n: int
    difference: Difference


class _Row(NamedTuple):
    folder: Path
    keys: Mapping[str, str]


def compare(first: str, second: str) -> Comparison:
    """Compare two rows of results, sentences being drawn for both at once.

    Parameters
    ----------
    first : str
        `FOLDER:key=value,key=value`, such as `results/layers:task=wsd,probe=nearest,encoder=small-en,view=1`: a folder
        of results and as many columns of results.csv as single out a row. The split is test and the subset all, unless
        they are named.
    second : str
        The same; without a folder, what it leaves out is the first one's, as in `:view=2`.

    Raises
    ------
    CompareError
        If no row or several rows are meant, predictions are not there, or the rows are of different examples.
    """
    one = _parsed(first, None)
    other = _parsed(second, one)
    (title_a, split_a, members, right_a, config), (title_b, split_b, others, right_b, _) = _right(one), _right(other)
    if split_a.annotated_content != split_b.annotated_content or not np.array_equal(members, others):
        raise CompareError(f"{title_a} and {title_b} are of different examples: only rows of the same can be paired")
    settings = config.bootstrap
    difference = paired_difference(
        right_a, right_b, split_a.sentence_index[members], settings.samples, settings.confidence, settings.seed
    )
    return Comparison(title_a, title_b, float(right_a.mean()), float(right_b.mean()), len(right_a), difference)


def _parsed(text: str, default: _Row | None) -> _Row:
    folder, colon, rest = text.rpartition(":")
    if not colon:
        raise CompareError(f"{text!r} is no row: expected FOLDER:key=value,..., such as results/layers:task=wsd,view=1")
    keys = {"split": "test", "subset": "all", "train_percent": "100"}
    if default and not folder:
        keys = dict(default.keys)
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals or key not in _KEYS:
            raise CompareError(f"{text!r}: {part!r} is no key=value: {nearest(key, _KEYS)}")
        keys[key] = value
    if not folder and default is None:
        raise CompareError(f"{text!r} names no folder of results")
    return _Row(Path(folder) if folder else default.folder if default else Path(), keys)


def _right(row: _Row) -> tuple[str, Split, NDArray[np.bool_], NDArray[np.bool_], ExperimentConfig]:
    """Return a row in words, its split, the subset's members, which of them are right, and the experiment's config."""
    config = load_experiment(row.folder / "config.yaml")
    found = _only_row(read_rows(row.folder / "results.csv"), row)
    title = f"{row.folder}: " + ", ".join(f"{key}={found[key]}" for key in _KEYS if found[key])
    for key in ("encoder_seed", "seed"):
        if found[key] and not found[key].isdecimal():
            raise CompareError(f"{row.folder / 'results.csv'}: {key} is {found[key]!r}, which is no whole number")
    task = _named(row, config.tasks, found["task"], "name")
    cell = Cell(
        found["task"],
        _named(row, config.probes, found["probe"], "probe"),
        found["encoder"],
        int(found["encoder_seed"]) if found["encoder_seed"] else None,
        found["view"],
        int(found["seed"]) if found["seed"] else None,
        found["train_percent"],
    )
    path = row.folder / "predictions" / cell.file_name
    predictions = read_predictions(path)
    name = found["split"]
    if predictions is None:
        raise CompareError(f"{path}: not there or damaged; predictions are made by: probing run CONFIG")
    if name not in EVALUATED:
        raise CompareError(f"{title}: only rows of {' and '.join(EVALUATED)} can be paired")
    splits = cell.probe.relabel(task.load(), cell.seed)
    split = splits[name]
    labels = predictions.answers[name].labels
    if len(labels) != len(split.examples):
        raise CompareError(f"{path}: {len(labels)} predictions, {name} has {len(split.examples)} examples now")
    members = task.subsets(splits["train"], split)[found["subset"]]
    if not members.any():
        raise CompareError(f"{title}: there are no such examples")
    right = correct(split, labels)[members]
    if abs(right.mean() - found["value"]) > _SAME_SCORE:
        raise CompareError(f"{path}: these predictions do not give the score in results.csv: run the experiment again")
    return title, split, members, right, config


def _only_row(rows: pd.DataFrame, row: _Row) -> Any:
    rows = scores(rows)
    for key, value in row.keys.items():
        known = rows[rows[key] == value]
        if known.empty:
            here = [text for text in dict.fromkeys(rows[key]) if text] or ["nothing"]
            raise CompareError(f"{row.folder}: no row has {key}={value} there; {key} is one of {', '.join(here)}")
        rows = known
    if len(rows) > 1:
        several = {key: list(dict.fromkeys(rows[key])) for key in _KEYS}
        open_keys = "; ".join(f"{k}={'|'.join(v)}" for k, v in several.items() if len(v) > 1)
        raise CompareError(f"{row.folder}: {len(rows)} rows are meant; say also one of each: {open_keys}")
    return rows.iloc[0]


def _named(row: _Row, parts: Any, name: str, attribute: str) -> Any:
    for part in parts:
        if getattr(part, attribute) == name:
            return part
    raise CompareError(
        f"{row.folder}: results.csv has rows of {name}, which config.yaml lacks: run the experiment again"
    )
