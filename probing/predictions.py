"""One file a cell: what a probe predicted, and the key of all that it depends on, which tells whether it is done."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bilm.files import atomic_path
from probing.probes import Answers, ProbeConfig

WHOLE = "100"
"""The percentage of the training sentences unless an experiment asks for less."""


@dataclass(frozen=True)
class Cell:
    """One probe on one view of one encoder for one task; encoder and view are empty where a probe sees no vectors.

    Attributes
    ----------
    task : str
    probe : ProbeConfig
    encoder : str
        The encoder's label.
    encoder_seed : int or None
        Of an untrained network's weights.
    view : str
    seed : int or None
        Of the probe, of the control's labels or of the sentences drawn; None where nothing is random.
    train_percent : str
        The share of the training sentences that it is fitted to: "100", "0.1".
    """

    task: str
    probe: ProbeConfig
    encoder: str = ""
    encoder_seed: int | None = None
    view: str = ""
    seed: int | None = None
    train_percent: str = WHOLE

    @property
    def title(self) -> str:
        """How messages name it."""
        encoder = self.encoder if self.encoder_seed is None else f"{self.encoder}, seed {self.encoder_seed}"
        share = "" if self.train_percent == WHOLE else f"{self.train_percent} % of train"
        seed = "" if self.seed is None else f"seed {self.seed}"
        return " / ".join(part for part in (self.task, encoder, self.view, self.probe.probe, share, seed) if part)

    @property
    def file_name(self) -> str:
        """A readable name that no other cell has: what file systems refuse is replaced, a hash keeps cells apart."""
        readable = "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in self.title)
        return f"{readable}.{hashlib.sha256(self.title.encode()).hexdigest()[:8]}.npz"


@dataclass(frozen=True)
class Predictions:
    """The outcome of one cell of the grid.

    Attributes
    ----------
    answers : mapping of str to Answers
        What was predicted for each example, by split ("dev", "test"); empty for a probe that only has facts.
    facts : mapping of str to float
        Numbers of the fitted probe, such as its L2 penalty.
    """

    answers: Mapping[str, Answers]
    facts: Mapping[str, float]


def write_predictions(path: Path, key: str, predictions: Predictions) -> None:
    """Write a cell's file, atomically."""
    header = json.dumps({"key": key, "facts": dict(predictions.facts)})
    arrays: dict[str, Any] = {"header": np.array(header)}
    for split, answers in predictions.answers.items():
        arrays |= {f"{split}.{name}": array for name, array in answers._asdict().items() if array is not None}
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)


def read_predictions(path: Path, key: str | None = None) -> Predictions | None:
    """Return a cell's predictions, or None where there is no file, a damaged one, or one of another `key`."""
    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(str(file["header"]))
            if key is not None and header["key"] != key:
                return None
            splits = dict.fromkeys(name.partition(".")[0] for name in file.files if name != "header")
            fields = {s: [f for f in Answers._fields if f"{s}.{f}" in file.files] for s in splits}
            answers = {s: Answers(**{field: file[f"{s}.{field}"] for field in fields[s]}) for s in splits}
            return Predictions(answers, header["facts"])
    except Exception:  # a damaged file can raise almost anything; it is made again
        return None
