"""Synthetic results: one trained network, the same untrained with three seeds, the two baselines; known numbers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from probing.results import COLUMNS, UNTRAINED, write_rows

LAYERS = ("token encoder", "LSTM 1", "LSTM 2")
SIZES = {"all": 2000, "ambiguous": 1000, "unseen": 200}


def network_rows(encoder: str, seed: str, accuracy: dict[str, float], task: str = "pos-upos") -> list[dict[str, Any]]:
    """Return the rows of one network: `accuracy` by view on test; dev is 0.01 higher, the subsets 0.1 and 0.3 lower."""
    common = {"experiment": "toy", "task": task, "corpus": "toy-corpus", "encoder": encoder, "encoder_seed": seed}
    rows = []
    for view, value in accuracy.items():
        cell = common | {"view": view, "probe": "linear", "seed": ""}
        nan = {"ci_low": np.nan, "ci_high": np.nan}
        for metric, number in (("l2_penalty", 0.01), ("iterations", 40.0)):
            rows.append(cell | nan | {"split": "train", "subset": "all", "metric": metric, "value": number, "n": 9000})
        rows += _accuracies(cell, value)
    return rows


def baseline_rows(probe: str, value: float, task: str = "pos-upos") -> list[dict[str, Any]]:
    """Return the rows of a baseline: `value` on all examples of test."""
    texts = {"experiment": "toy", "task": task, "corpus": "toy-corpus", "probe": probe}
    return _accuracies(dict.fromkeys(("encoder", "encoder_seed", "view", "seed"), "") | texts, value)


def _accuracies(cell: dict[str, str], value: float) -> list[dict[str, Any]]:
    rows = []
    for split, higher in (("dev", 0.01), ("test", 0.0)):
        for subset, lower in (("all", 0.0), ("ambiguous", 0.1), ("unseen", 0.3)):
            number = value + higher - lower
            interval = {"ci_low": number - 0.004, "ci_high": number + 0.005}
            place = {"split": split, "subset": subset, "metric": "accuracy", "n": SIZES[subset]}
            rows.append(cell | place | interval | {"value": number})
    return rows


@pytest.fixture
def rows() -> pd.DataFrame:
    found = baseline_rows("majority", 0.4) + baseline_rows("type-majority", 0.86)
    found += network_rows("net", "", {"0": 0.88, "1": 0.95, "2": 0.94, "mean": 0.951, "concat": 0.953})
    for seed, more in enumerate((0.0, 0.01, 0.005)):
        accuracy = {"0": 0.85, "1": 0.88, "2": 0.87, "mean": 0.885, "concat": 0.89}
        accuracy = {view: value + more for view, value in accuracy.items()}
        found += network_rows(f"net{UNTRAINED}", str(seed), accuracy)
    return pd.DataFrame(found, columns=list(COLUMNS))


@pytest.fixture
def folder(rows: pd.DataFrame, tmp_path: Path) -> Path:
    """A results folder as an experiment leaves it, without the report."""
    write_rows(rows, tmp_path / "results.csv")
    config = """\
name: toy
question: What does each layer of a toy know?
bootstrap: {samples: 2000, confidence: 0.9, seed: 0}
probes:
- {probe: majority}
- {probe: linear, penalties: [0.01, 0.1, 1.0], max_iterations: 500}
"""
    (tmp_path / "config.yaml").write_text(config, encoding="utf-8")
    split = {"sentences": 100, "examples": 2000, "sha256": "0123456789abcdef" * 4}
    network = {"fingerprint": "fedcba9876543210" * 4, "n_layers": 3, "dim": 8, "layers": list(LAYERS)}
    environment = {
        "package": "0.1.0",
        "python": "3.11.2",
        "platform": "Linux x86_64",
        "libraries": {"torch": "2.13.0", "numpy": "2.4.6"},
        "data": {
            "pos-upos": {
                "corpus": "toy-corpus",
                "n_labels": 2,
                "labels": ["NOUN", "VERB"],
                "splits": {"train": split | {"examples": 9000}, "dev": split, "test": split},
                "labels_not_in_train": {"dev": {}, "test": {"SYM": 3, "X": 1}},
                "sentences_also_in_train": {"dev": 0, "test": 2},
            }
        },
        "encoders": {
            "net": network | {"description": "trained weights of net"},
            f"net{UNTRAINED}": network | {"description": "the shape of net with random weights"},
        },
    }
    (tmp_path / "environment.json").write_text(json.dumps(environment), encoding="utf-8")
    return tmp_path
