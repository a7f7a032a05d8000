"""One file a cell: what a probe predicted, and the key of all that it depends on, which tells whether it is done."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilm.files import atomic_path


@dataclass(frozen=True)
class Predictions:
    """The outcome of one cell of the grid.

    Attributes
    ----------
    labels : str array
        The predicted label of each example, by split ("dev", "test").
    facts : mapping of str to float
        Numbers of the fitted probe, such as its L2 penalty.
    """

    labels: Mapping[str, NDArray[np.str_]]
    facts: Mapping[str, float]


def write_predictions(path: Path, key: str, predictions: Predictions) -> None:
    """Write a cell's file, atomically."""
    header = json.dumps({"key": key, "facts": dict(predictions.facts)})
    arrays: dict[str, Any] = {"header": np.array(header), **predictions.labels}
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)


def read_predictions(path: Path, key: str) -> Predictions | None:
    """Return a cell's predictions, or None where there is no file, a damaged one, or one with another key."""
    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(str(file["header"]))
            if header["key"] != key:
                return None
            labels = {split: file[split] for split in file.files if split != "header"}
            return Predictions(labels, header["facts"])
    except Exception:  # a damaged file can raise almost anything; it is made again
        return None
