"""Tidy result rows: one measured number a row, the only thing that tables, figures and reports read.

The columns, the CSV file that keeps them, and the few ways in which a report looks rows up live here. Measuring does
not.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from bilm.errors import UserError
from bilm.files import write_text

TEXT_COLUMNS = (
    "experiment",
    "task",
    "corpus",
    "split",
    "subset",
    "encoder",
    "encoder_seed",
    "view",
    "probe",
    "seed",
    "train_percent",
)
FLOAT_COLUMNS = ("value", "ci_low", "ci_high")
COLUMNS = (*TEXT_COLUMNS, "metric", "value", "n", "ci_low", "ci_high")
"""The columns of a results file, in order. Numbers are `value` and its interval (fractions) and `n` (examples)."""

SCORES = {"accuracy": "accuracy", "f1": "F1"}
"""The metrics that are the share of right answers, and what readers see them called; a task has one of them."""
POOLED = "dev+test"
"""The split of rows about dev and test together."""
UNTRAINED = " (untrained)"
"""What follows an encoder's label where its weights are the untrained ones."""


def write_rows(frame: pd.DataFrame, path: Path) -> None:
    """Write rows to a CSV file, so that the same rows always give the same bytes.

    Parameters
    ----------
    frame : DataFrame with exactly the columns `COLUMNS`
        Rows are written in the order given, which is that of the experiment's grid; they are not sorted.
    path : Path
        Written atomically: UTF-8, LF line ends, a field quoted only where it must be. `value`, `ci_low` and `ci_high`
        have six decimals, but six significant digits where they are smaller than 0.001, so that a penalty of 1e-07
        does not become 0. NaN is an empty field.

    Raises
    ------
    ValueError
        If the columns are not `COLUMNS` or a text is missing (None or NaN instead of "").
    """
    if tuple(frame.columns) != COLUMNS:
        raise ValueError(f"rows have the columns {list(frame.columns)}, not {list(COLUMNS)}")
    for column in (*TEXT_COLUMNS, "metric"):
        if not all(isinstance(text, str) for text in frame[column]):
            raise ValueError(f"column {column!r} has values that are not text; what does not apply is ''")
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(COLUMNS)
    numbers = {column: [_number_text(value) for value in frame[column]] for column in FLOAT_COLUMNS}
    counts = [str(int(n)) for n in frame["n"]]
    columns = [counts if c == "n" else numbers[c] if c in numbers else list(frame[c]) for c in COLUMNS]
    writer.writerows(zip(*columns, strict=True))
    write_text(path, table.getvalue())


def read_rows(path: Path) -> pd.DataFrame:
    """Read a results file; text such as "NA", "null" or "None" stays the text it is.

    Returns
    -------
    DataFrame with the columns `COLUMNS`
        `value`, `ci_low`, `ci_high` are float64 (NaN where the field is empty), `n` is int64, all else is text.

    Raises
    ------
    UserError
        If the file is missing, is no results file, or has a field that is no number; the message names file and line.
    """
    rows = [_parsed(fields, path, line) for line, fields in read_csv(path, COLUMNS, "results")]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype({**dict.fromkeys(FLOAT_COLUMNS, "float64"), "n": "int64"})


def read_csv(path: Path, columns: Sequence[str], kind: str) -> list[tuple[int, list[str]]]:
    """Read a CSV file that must have certain columns.

    Parameters
    ----------
    path : Path
    columns : sequence of str
        All of them, in order.
    kind : str
        What the file is called in messages: "results".

    Returns
    -------
    list of (line, fields)
        The number of the line that a row ends in, and its fields, as many as columns.

    Raises
    ------
    UserError
        If the file is missing, has other columns, or a row that is cut off; the message names file and line.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not a {kind} file ({error})") from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows = []
    try:
        header = next(reader, [])
        if header != list(columns):
            missing = [column for column in columns if column not in header]
            what = f"column {missing[0]!r} is missing" if missing else f"its columns are {', '.join(header)}"
            raise UserError(f"{path}: not a {kind} file: {what}; a {kind} file has {','.join(columns)}")
        for fields in reader:
            if len(fields) != len(columns):
                raise UserError(
                    f"{path}:{reader.line_num}: {len(fields)} fields where a {kind} file has {len(columns)}"
                )
            rows.append((reader.line_num, fields))
    except csv.Error as error:
        raise UserError(f"{path}:{reader.line_num}: not a {kind} file ({error})") from error
    if not text.endswith("\n"):  # the last number may lack digits, and nothing else would tell
        raise UserError(f"{path}:{reader.line_num}: the file is cut off in this line; `probing run` writes it anew")
    return rows


def _number_text(value: float) -> str:
    if np.isnan(value):
        return ""
    return f"{value:.6f}" if value == 0 or abs(value) >= 1e-3 else f"{value:.6g}"


def _parsed(fields: list[str], path: Path, line: int) -> list[str | float]:
    parsed: list[str | float] = []
    for column, text in zip(COLUMNS, fields, strict=True):
        try:
            if column == "n":
                parsed.append(int(text))
            elif column in FLOAT_COLUMNS:
                parsed.append(float(text) if text else float("nan"))
            else:
                parsed.append(text)
        except ValueError:
            raise UserError(f"{path}:{line}: {column} is {text!r}, which is no number") from None
    return parsed


@dataclass(frozen=True, slots=True)
class Measured:
    """One number to show: a single row with its interval, or the mean of several seeds with their range.

    Attributes
    ----------
    value : float
        The row's value, or the mean over the rows.
    low, high : float
        The row's confidence interval, or the lowest and highest value of the rows. The two are different things:
        whoever shows them says which it is, by `seeds`.
    n : int
        Examples behind each row.
    seeds : int
        How many rows. 1 means that `low` and `high` are a confidence interval.
    """

    value: float
    low: float
    high: float
    n: int
    seeds: int


def select(rows: pd.DataFrame, **wanted: str) -> pd.DataFrame:
    """Return the rows whose columns equal what is wanted, as in `select(rows, task="pos", split="test")`."""
    keep = np.ones(len(rows), dtype=bool)
    for column, text in wanted.items():
        keep &= (rows[column] == text).to_numpy(dtype=bool)
    return rows[keep]


def scores(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows about the share of right answers, whatever the task calls it."""
    return rows[rows["metric"].isin(list(SCORES))]


def measured(rows: pd.DataFrame) -> Measured | None:
    """Sum up the rows of one cell that differ at most by seed; None where there is no row or no value."""
    rows = rows[rows["value"].notna()]
    if rows.empty:
        return None
    value = rows["value"].to_numpy(dtype=float)
    n = int(rows["n"].iloc[0])
    if len(value) == 1:
        return Measured(float(value[0]), float(rows["ci_low"].iloc[0]), float(rows["ci_high"].iloc[0]), n, 1)
    return Measured(float(value.mean()), float(value.min()), float(value.max()), n, len(value))


def ordered_views(views: Iterable[str]) -> list[str]:
    """Return each view once: the single layers by number, then the others as they first appear; "" is no view."""
    distinct = [view for view in dict.fromkeys(views) if view]
    return sorted((v for v in distinct if v.isdecimal()), key=int) + [v for v in distinct if not v.isdecimal()]


def trained_label(encoder: str) -> str:
    """Return the label that a network has when trained: "small-en" for "small-en (untrained)" and for itself."""
    return encoder.removesuffix(UNTRAINED)
