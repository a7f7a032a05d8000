"""Synthetic results: one trained network, the same untrained with three seeds, the two baselines; known numbers.

`rich_folder` has every other measure too, claims with verdicts of each kind, and published numbers to stand beside.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from probing.claims import Judged, write_claims
from probing.report.page import write_report
from probing.results import COLUMNS, UNTRAINED, write_rows

LAYERS = ("token encoder", "LSTM 1", "LSTM 2")
SIZES = {"all": 2000, "ambiguous": 1000, "unseen": 200}


def network_rows(encoder: str, seed: str, accuracy: dict[str, float], task: str = "pos-upos") -> list[dict[str, Any]]:
    """Return the rows of one network: `accuracy` by view on test; dev is 0.01 higher, the subsets 0.1 and 0.3 lower."""
    common = {"experiment": "toy", "task": task, "corpus": "toy-corpus", "encoder": encoder, "encoder_seed": seed}
    common["train_percent"] = "100"
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
    texts = {"experiment": "toy", "task": task, "corpus": "toy-corpus", "probe": probe, "train_percent": "100"}
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
    return plain_rows()


def plain_rows() -> pd.DataFrame:
    """Return scores of all networks and baselines."""
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
    return filled(rows, tmp_path)


def filled(rows: pd.DataFrame, tmp_path: Path) -> Path:
    """Write what an experiment leaves in a folder."""
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


def one_row(view: str, probe: str, metric: str, value: float, **more: Any) -> dict[str, Any]:
    """Return a row of the network "net"; half-widths of intervals are given as `half`."""
    half = more.pop("half", np.nan)
    named = {"experiment": "toy", "task": "pos-upos", "corpus": "toy-corpus", "encoder": "net", "encoder_seed": ""}
    place = {"split": "test", "subset": "all", "view": view, "probe": probe, "seed": "", "train_percent": "100"}
    numbers = {"metric": metric, "value": value, "n": 2000, "ci_low": value - half, "ci_high": value + half}
    return named | place | numbers | more


def measure_rows(encoder: str = "net", encoder_seed: str = "", worse: float = 0.0) -> list[dict[str, Any]]:
    """Return rows of every measure besides the score, of layers 0 to 2 and of the mix; accuracy falls by `worse`."""
    who = {"encoder": encoder, "encoder_seed": encoder_seed}
    rows = []
    for layer, (control, kbit, conditional) in enumerate(((0.75, 200, 0.0), (0.70, 90, 0.5), (0.60, 110, 0.4))):
        view = str(layer)
        for draw in range(3):
            more = {"seed": str(draw)} | who
            rows.append(one_row(view, "control", "accuracy", control + 0.01 * draw, **more))
        score = (0.88, 0.95, 0.94)[layer] - worse
        rows.append(one_row(view, "control", "selectivity", score - control - 0.01, half=0.01, **who))
        rows.append(one_row(view, "linear", "v_information_bits", 3.0 + 0.1 * layer - worse, half=0.02, **who))
        for seed in range(2):
            train = {"split": "train", "n": 9000, "seed": str(seed)} | who
            bits = 1024 * (kbit + seed) * (1 + worse)
            for metric, value in (
                ("codelength_bits", bits),
                ("uniform_codelength_bits", 1024 * 800.0),
                ("compression", 1024 * 800.0 / bits),
                ("data_bits", 0.75 * bits),
                ("model_bits", 0.25 * bits),
            ):
                rows.append(one_row(view, "mdl", metric, value, **train))
        if layer:
            value = conditional - worse
            rows.append(one_row(view, "conditional", "conditional_information_bits", value, half=0.02, **who))
    for seed in range(5):
        more = {"seed": str(seed)} | who
        for view, value in (("mix-0", 0.87), ("mix-1", 0.95), ("mix", 0.955)):
            rows.append(one_row(view, "mix", "accuracy", value - worse + 0.001 * seed, **more))
        weights = (0.2, 0.5 + 0.01 * seed, 0.3 - 0.01 * seed)
        facts = {f"mix_weight_{layer}": weight for layer, weight in enumerate(weights)}
        facts |= {"mix_gamma": 1.5, "centre_of_gravity": weights[1] + 2 * weights[2], "kl_from_uniform_bits": 0.1}
        rows += [one_row("mix", "mix", name, v, **(more | {"split": "train"})) for name, v in facts.items()]
        value = float("nan") if worse else 1.06
        rows.append(one_row("mix", "mix", "expected_layer", value, **more))
    for percent, share in (("0.1", 0.7), ("1", 0.8), ("10", 0.95)):
        for draw in range(3):
            for layer, best in enumerate((0.88, 0.95, 0.94)):
                value = (best - worse) * share + 0.01 * draw
                about = {"train_percent": percent, "seed": str(draw)} | who
                rows.append(one_row(str(layer), "linear", "accuracy", value, half=0.004, **about))
    return rows


@pytest.fixture
def rich_rows() -> pd.DataFrame:
    """The rows of `rows`, and of every other measure."""
    return all_rows()


def all_rows() -> pd.DataFrame:
    """Return `plain_rows`, and rows of every other measure."""
    more = measure_rows()
    for seed in range(3):
        more += measure_rows(f"net{UNTRAINED}", str(seed), 0.07 + 0.005 * seed)
    more.append(one_row("", "control", "control_ceiling", 0.92, encoder=""))
    return pd.concat([plain_rows(), pd.DataFrame(more, columns=list(COLUMNS))], ignore_index=True)


@pytest.fixture(scope="session")
def rich_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every measure, three claims, published numbers to stand beside, and the report; not to be changed.

    One is made for all tests: its figures take seconds.
    """
    folder = filled(all_rows(), tmp_path_factory.mktemp("rich"))
    with (folder / "config.yaml").open("a", encoding="utf-8") as file:
        file.write("published: table6-pos\n")
    told = (
        ("layer 1 reads better than layer 2", 0.01, 0.004, 0.016, 0.0002, "supported"),
        ("layer 2 reads <script>alert(1)</script> & better than layer 1", -0.01, -0.016, -0.004, 0.0002, "refuted"),
        ("layer 1 differs from the mean of all layers", 0.001, -0.003, 0.005, 0.4, "undecided"),
    )
    place = ("pos-upos", "toy-corpus", "net", "linear", "score", "all", "1", "2", 0.95, 0.94)
    judged = [
        Judged("", says, *place, value, low, high, p, min(1.0, 3 * p), 0.001, 2000, verdict)  # type: ignore[arg-type]
        for says, value, low, high, p, verdict in told
    ]
    write_claims(judged, folder / "claims.csv")
    write_report(folder)
    return folder
