"""`probing compare`: two rows of results, paired."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bilm.errors import UserError
from probing.compare import compare
from probing.config import ExperimentConfig
from probing.experiment import run_experiment
from probing.features import FeatureStore
from probing.results import read_rows, select
from probing.tasks import Split
from probing.tasks.pos import PosTask
from tests.probing.toy import save_network, write_treebank


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("compare")
    network = save_network(root / "tiny", seed=3)
    document = {
        "name": "toy",
        "tasks": [{"task": "pos", "corpus": write_treebank(root / "treebank")}],
        "encoders": [{"bilm": network}, {"bilm": network, "untrained": [0, 1]}],
        "views": ["layers"],
        "probes": ["type-majority", {"probe": "linear", "penalties": [1e-3, 0.1]}],
        "bootstrap": {"samples": 200},
        "claims": [{"says": "x", "task": "pos-upos", "probe": "linear", "better": 1, "worse": 0}],
    }
    config = ExperimentConfig.model_validate(document)
    return run_experiment(config, root, store=FeatureStore(root / "cache")).folder


def test_rows_are_compared_as_a_claim_would_compare_them(folder: Path) -> None:
    found = compare(f"{folder}:probe=linear,encoder=tiny,view=1", ":view=0")
    rows = select(read_rows(folder / "results.csv"), probe="linear", encoder="tiny", split="test", subset="all")
    values = select(rows, metric="accuracy").set_index("view")["value"]
    assert found.first_value == pytest.approx(values["1"], abs=1e-6)
    assert found.difference.value == pytest.approx(values["1"] - values["0"], abs=2e-6)
    claim = (folder / "claims.csv").read_text(encoding="utf-8").splitlines()[1]
    assert f"{found.difference.low:.6f},{found.difference.high:.6f},{found.difference.p:.6f}" in claim


def test_a_layer_can_be_compared_with_a_baseline_and_on_a_subset(folder: Path) -> None:
    first = f"{folder}:probe=linear,encoder=tiny,view=1,subset=ambiguous"
    found = compare(first, f"{folder}:probe=type-majority,subset=ambiguous")
    assert 0 < found.n < 56
    assert np.isfinite(found.difference.mcnemar_p)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("{}:probe=linear,encoder=tiny", ":view=1", "say also one of each: view=0|1|2"),
        ("{}:probe=linear,encoder=tinny,view=1", ":view=2", "no row has encoder=tinny"),
        ("{}:probe=linear,enkoder=tiny", ":view=2", "encoder"),
        ("view=1", ":view=2", "is no row"),
        (":view=1", ":view=2", "names no folder"),
        ("{}:probe=linear,encoder=tiny,view=1", ":view=2,split=dev", "different examples"),
    ],
)
def test_rows_that_are_not_there_or_not_single_are_refused_in_words(
    folder: Path, first: str, second: str, message: str
) -> None:
    with pytest.raises(UserError) as error:
        compare(first.format(folder), second)
    assert message in str(error.value)


def test_two_subsets_that_happen_to_be_of_one_size_are_not_paired(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def halves(task: PosTask, train: Split, split: Split) -> dict[str, NDArray[np.bool_]]:
        first = np.arange(len(split.examples)) < 10
        return {"all": np.ones(len(first), dtype=bool), "ambiguous": first, "unseen": first[::-1]}

    monkeypatch.setattr(PosTask, "subsets", halves)
    monkeypatch.setattr("probing.compare._SAME_SCORE", 1.0)  # the rows are of the subsets that there are
    row = f"{folder}:probe=linear,encoder=tiny,view=1,subset=ambiguous"
    assert compare(row, ":view=0").n == 10
    with pytest.raises(UserError, match="different examples"):
        compare(row, ":subset=unseen")


def test_missing_predictions_are_named_with_the_remedy(folder: Path, tmp_path: Path) -> None:
    for name in ("results.csv", "config.yaml"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    with pytest.raises(UserError, match=r"predictions.*npz: not there or damaged; .*probing run"):
        compare(f"{tmp_path}:probe=linear,encoder=tiny,view=1", ":view=2")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("pos-upos", "pos-xpos", "results.csv has rows of pos-xpos, which config.yaml lacks"),
        ("(untrained),1,1,", "(untrained),x,1,", "results.csv: encoder_seed is 'x', which is no whole number"),
    ],
)
def test_rows_that_do_not_fit_the_config_beside_them_are_named(
    folder: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    (tmp_path / "config.yaml").write_bytes((folder / "config.yaml").read_bytes())
    rows = (folder / "results.csv").read_text(encoding="utf-8")
    assert old in rows
    (tmp_path / "results.csv").write_text(rows.replace(old, new), encoding="utf-8")
    seed = new.split(",")[1] if "," in new else "1"
    with pytest.raises(UserError, match=message):
        compare(f"{tmp_path}:probe=linear,encoder=tiny (untrained),encoder_seed={seed},view=1", ":view=2")


def test_a_subset_without_examples_is_not_compared(folder: Path) -> None:
    rows = select(read_rows(folder / "results.csv"), split="test", subset="unseen", view="1", encoder="tiny")
    assert set(rows["n"]) == {0}
    with pytest.raises(UserError, match=r"subset=unseen.*there are no such examples"):
        compare(f"{folder}:probe=linear,encoder=tiny,view=1,subset=unseen", ":view=2")
