"""Selectivity, information in bits and the like: by hand, on four words."""

from typing import Any

import numpy as np
import pytest

from probing.config import BootstrapConfig, ExperimentConfig
from probing.derived import derived_rows
from probing.measures import hits_of
from probing.predictions import Cell, Predictions
from probing.probes import PROBES, Answers
from probing.tasks import Example, Split
from tests.probing.toy import write_treebank

FORMS = ("saw", "goose", "saw", "lamp")
LABELS = ("VERB", "NOUN", "NOUN", "NOUN")
SPLIT = Split([], [Example(i // 2, 0, 1, (y,), form) for i, (form, y) in enumerate(zip(FORMS, LABELS, strict=True))])
SPLITS = {"train": SPLIT, "dev": SPLIT, "test": SPLIT}


def probe(name: str, **settings: Any) -> Any:
    return PROBES[name].model_validate({"probe": name, **settings})


@pytest.fixture
def config(tmp_path: Any) -> ExperimentConfig:
    task = {"task": "pos", "corpus": write_treebank(tmp_path)}
    return ExperimentConfig.model_validate(
        {"name": "toy", "tasks": [task], "probes": ["majority"], "bootstrap": BootstrapConfig(samples=100)}
    )


def rows(config: ExperimentConfig, finished: dict[Cell, Predictions]) -> dict[tuple[str, str], float]:
    """Return the derived values on test, by metric and view."""
    found = derived_rows(config, SPLITS, finished, hits_of(SPLITS, finished))
    return {(row["metric"], row["view"]): row["value"] for row in found if row["split"] == "test"}


def predictions(labels: Any, bits: Any = None) -> Predictions:
    answers = Answers(np.array(labels, dtype=np.str_), np.ones(4, dtype=bool), None if bits is None else np.array(bits))
    return Predictions({"dev": answers, "test": answers}, {})


def test_selectivity_is_accuracy_less_the_mean_accuracy_on_the_control_draws(config: ExperimentConfig) -> None:
    linear, control = probe("linear"), probe("control", draws=2)
    finished = {Cell("t", linear, "net", view="1"): predictions(["VERB", "NOUN", "VERB", "NOUN"])}  # 3 of 4 right
    for seed, n_right in ((0, 4), (1, 1)):
        gold = [one.labels[0] for one in control.relabel(SPLITS, seed)["test"].examples]
        finished[Cell("t", control, "net", view="1", seed=seed)] = predictions(gold[:n_right] + ["?"] * (4 - n_right))
    found = rows(config, finished)
    assert found["selectivity", "1"] == pytest.approx(0.75 - (1.0 + 0.25) / 2)
    # Every form of test is in train, so that all of the control's labels can be learned by heart.
    assert found["control_ceiling", ""] == 1.0


def test_information_is_the_bits_that_the_vectors_save(config: ExperimentConfig) -> None:
    conditional = probe("conditional")
    finished = {
        Cell("t", probe("majority")): predictions(LABELS, [2.0, 0.4, 0.4, 0.4]),
        Cell("t", probe("linear"), "net", view="1"): predictions(LABELS, [0.1, 0.1, 0.1, 0.1]),
        Cell("t", conditional, "net", view="0"): predictions(LABELS, [1.0, 0.0, 1.0, 0.0]),
        Cell("t", conditional, "net", view="1"): predictions(LABELS, [0.2, 0.0, 0.2, 0.0]),
    }
    found = rows(config, finished)
    assert found["v_information_bits", "1"] == pytest.approx((2.0 + 3 * 0.4) / 4 - 0.1)
    assert found["conditional_information_bits", "1"] == pytest.approx(0.5 - 0.1)
    assert ("conditional_information_bits", "0") not in found


def test_the_expected_layer_is_read_off_the_mixes_of_ever_more_layers(config: ExperimentConfig) -> None:
    mix = probe("mix")
    right = {"mix-0": 1, "mix-1": 3, "mix": 4}  # gains 1/2 at layer 1, 1/4 at layer 2
    finished = {
        Cell("t", mix, "net", view=view, seed=0): predictions(list(LABELS[:n]) + ["?"] * (4 - n))
        for view, n in right.items()
    }
    assert rows(config, finished)["expected_layer", "mix"] == pytest.approx((1 * 0.5 + 2 * 0.25) / 0.75)


def test_networks_and_shares_of_train_are_kept_apart(config: ExperimentConfig) -> None:
    finished = {
        Cell("t", probe("majority")): predictions(LABELS, [1.0] * 4),
        Cell("t", probe("linear"), "net", view="1"): predictions(LABELS, [0.25] * 4),
        Cell("t", probe("linear"), "net", 0, view="1"): predictions(LABELS, [0.5] * 4),
        Cell("t", probe("linear"), "net", view="1", seed=0, train_percent="10"): predictions(LABELS, [0.9] * 4),
    }
    found = list(derived_rows(config, SPLITS, finished, hits_of(SPLITS, finished)))
    values = {(row["encoder_seed"], row["train_percent"]): row["value"] for row in found if row["split"] == "test"}
    assert values == {("", "100"): 0.75, ("0", "100"): 0.5}, "without a majority on 10 %, nothing is said of 10 %"
