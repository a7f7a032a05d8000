"""The whole road: a config in, rows and a report out; the same bytes every time, whatever happened on the way."""

import json
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from bilm.errors import UserError
from probing.config import ExperimentConfig
from probing.experiment import run_experiment
from probing.features import FeatureStore
from probing.journal import sentences_drawn
from probing.results import read_rows
from tests.probing.toy import save_network, write_treebank


@pytest.fixture
def document(tmp_path: Path) -> dict[str, Any]:
    network = save_network(tmp_path / "tiny", seed=3)
    corpus = write_treebank(tmp_path / "treebank")
    return {
        "name": "toy",
        "tasks": [{"task": "pos", "corpus": corpus}, {"task": "pos", "corpus": corpus, "column": "xpos"}],
        "encoders": [{"bilm": network}, {"bilm": network, "untrained": [0, 1]}],
        "probes": ["majority", "type-majority", {"probe": "linear", "penalties": [0.0001, 0.01]}],
        "bootstrap": {"samples": 200},
    }


def run(document: dict[str, Any], folder: Path, **arguments: Any) -> Path:
    config = ExperimentConfig.model_validate(document)
    return run_experiment(config, folder / "results", store=FeatureStore(folder / "cache"), **arguments).folder


def test_every_cell_of_the_grid_has_a_row_for_each_split_and_subset(document: dict[str, Any], tmp_path: Path) -> None:
    rows = read_rows(run(document, tmp_path) / "results.csv")
    accuracy = rows[rows["metric"] == "accuracy"]
    # 2 tasks x (2 baselines + 3 networks x 5 views) x 2 splits x 3 subsets
    assert len(accuracy) == 2 * (2 + 3 * 5) * 2 * 3
    assert set(accuracy["view"]) == {"", "0", "1", "2", "mean", "concat"}
    untrained = accuracy[accuracy["encoder"] == "tiny (untrained)"]
    assert set(untrained["encoder_seed"]) == {"0", "1"}
    inside = accuracy.dropna(subset=["value"])
    assert ((inside["ci_low"] <= inside["value"]) & (inside["value"] <= inside["ci_high"])).all()


def test_every_probe_and_share_of_train_walks_the_whole_road(document: dict[str, Any], tmp_path: Path) -> None:
    document["probes"] += [
        "nearest",
        {"probe": "control", "draws": 2},
        {"probe": "mdl", "percents": [10, 50, 100]},
        "conditional",
        {"probe": "mix", "seeds": [0, 1]},
        {"probe": "mlp", "hidden": 4},
        {"probe": "bilstm", "elmo": ["none", "both"], "seeds": [0, 1], "hidden": 4, "learning_rate": 0.05},
    ]
    document |= {"views": ["layers", "mean"], "train_percent": [50, 100], "draws": 2}
    document |= {"tasks": document["tasks"][:1], "encoders": document["encoders"][:1]}
    rows = read_rows(run(document, tmp_path) / "results.csv")
    whole = rows[(rows["train_percent"] == "100") & (rows["encoder"] == "tiny") & (rows["task"] == "pos-upos")]
    test = whole[(whole["split"] == "test") & (whole["subset"] == "all")]
    by_probe = {name: test[(test["probe"] == name) & (test["metric"] == "accuracy")] for name in set(test["probe"])}
    assert {name: len(found) for name, found in by_probe.items()} == {
        "linear": 4,
        "nearest": 4,
        "control": 3 * 2,
        "conditional": 4,
        "mix": 3 * 2,
        "mlp": 4,
        "bilstm": 2 * 2,
    }
    # A selectivity is the accuracy of the task less the mean accuracy of the control's draws.
    for view in ("0", "1", "2"):
        means = {name: found[found["view"] == view]["value"].mean() for name, found in by_probe.items()}
        selectivity = test[(test["metric"] == "selectivity") & (test["view"] == view)]["value"].item()
        assert selectivity == pytest.approx(means["linear"] - means["control"], abs=2e-6)
    codes = whole[whole["probe"] == "mdl"].pivot_table(index="view", columns="metric", values="value")
    parts, ratio = codes["data_bits"] + codes["model_bits"], codes["uniform_codelength_bits"] / codes["codelength_bits"]
    assert codes["codelength_bits"].tolist() == pytest.approx(parts.tolist(), rel=1e-4)
    assert codes["compression"].tolist() == pytest.approx(ratio.tolist(), rel=1e-4)
    half = rows[(rows["train_percent"] == "50") & (rows["metric"] == "accuracy")]
    assert set(half["seed"]) == {"0", "1"}
    fitted = rows[(rows["split"] == "train") & (rows["probe"] == "linear")]
    train = ExperimentConfig.model_validate(document).tasks[0].load()["train"]
    for seed in (0, 1):
        drawn = sentences_drawn(len(train.sentences), 50, seed)
        n = sum(example.sentence in drawn for example in train.examples)
        assert set(fitted[(fitted["train_percent"] == "50") & (fitted["seed"] == str(seed))]["n"]) == {n}
    assert set(fitted[fitted["train_percent"] == "100"]["n"]) == {len(train.examples)}
    assert set(half["probe"]) == set(by_probe) | {"majority", "type-majority"}


def test_baselines_have_the_values_that_a_hand_can_count(document: dict[str, Any], tmp_path: Path) -> None:
    document["encoders"], document["probes"] = [], ["majority", "type-majority"]
    document["tasks"] = document["tasks"][:1]
    texts = {
        "train": [("saw", "NOUN"), ("saw", "VERB"), ("saw", "VERB"), ("goose", "NOUN"), ("lamp", "NOUN")],
        "dev": [("lamp", "NOUN")],
        "test": [("saw", "VERB"), ("saw", "NOUN"), ("boat", "NOUN"), ("boat", "VERB")],
    }
    for split, words in texts.items():
        lines = [f"{i}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\t_" for i, (word, tag) in enumerate(words, start=1)]
        Path(document["tasks"][0]["corpus"][split]).write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    rows = read_rows(run(document, tmp_path) / "results.csv")
    test = rows[(rows["split"] == "test") & (rows["metric"] == "accuracy")].set_index(["probe", "subset"])["value"]
    assert test["majority", "all"] == 0.5  # NOUN, 2 of 4
    assert test["type-majority", "all"] == 0.5  # saw -> VERB, boat -> NOUN
    assert test["type-majority", "ambiguous"] == 0.5  # the two saws
    assert test["type-majority", "unseen"] == 0.5  # the two boats


def test_a_label_that_train_lacks_counts_as_wrong_and_is_listed_P34(document: dict[str, Any], tmp_path: Path) -> None:
    document["tasks"], document["encoders"] = document["tasks"][:1], document["encoders"][:1]
    path = Path(document["tasks"][0]["corpus"]["test"])
    text = path.read_text(encoding="utf-8")
    n_tokens = sum(line[:1].isdigit() for line in text.splitlines())
    path.write_text(text.replace("\tPUNCT\t", "\tSYM\t"), encoding="utf-8")
    n_symbols = text.count("\tPUNCT\t")
    folder = run(document, tmp_path)
    rows = read_rows(folder / "results.csv")
    test = rows[(rows["split"] == "test") & (rows["subset"] == "all") & (rows["metric"] == "accuracy")]
    assert (test["n"] == n_tokens).all(), "nothing leaves the denominator"
    assert (test["value"] <= 1 - n_symbols / n_tokens + 1e-6).all()
    assert "SYM" in (folder / "report.md").read_text(encoding="utf-8")


def test_the_same_config_gives_the_same_bytes_under_any_hash_seed_P41(document: dict[str, Any], tmp_path: Path) -> None:
    config = tmp_path / "toy.yaml"
    config.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    outputs = []
    for hash_seed in ("0", "4242"):
        folder = tmp_path / hash_seed
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PROBING_CACHE": str(folder / "cache")}
        command = [sys.executable, "-m", "probing", "run", str(config), "--out", str(folder)]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        outputs.append(
            {
                path.name: path.read_bytes()
                for path in sorted((folder / "toy").rglob("*.*"))
                if "predictions" not in str(path)
            }
        )
    assert outputs[0].keys() >= {"results.csv", "report.md", "environment.json", "config.yaml"}
    for name, content in outputs[0].items():
        assert content == outputs[1][name], f"{name} differs"


def test_what_is_done_is_not_done_again_and_fresh_does_it(document: dict[str, Any], tmp_path: Path) -> None:
    config = ExperimentConfig.model_validate(document)
    store = FeatureStore(tmp_path / "cache")
    first = run_experiment(config, tmp_path, store=store)
    second = run_experiment(config, tmp_path, store=store)
    third = run_experiment(config, tmp_path, store=store, fresh=True)
    n_cells = 2 * (2 + 3 * 5)
    assert (first.n_fitted, first.n_kept) == (n_cells, 0)
    assert (second.n_fitted, second.n_kept) == (0, n_cells)
    assert (third.n_fitted, third.n_kept) == (n_cells, 0)
    pd.testing.assert_frame_equal(first.rows, second.rows)


def test_changed_data_are_fitted_anew(document: dict[str, Any], tmp_path: Path) -> None:
    document["tasks"], document["encoders"] = document["tasks"][:1], document["encoders"][:1]
    run(document, tmp_path)
    config = ExperimentConfig.model_validate(document)
    path = Path(document["tasks"][0]["corpus"]["train"])
    path.write_text(path.read_text(encoding="utf-8").replace("\tNOUN\t", "\tPROPN\t", 1), encoding="utf-8")
    outcome = run_experiment(config, tmp_path / "results", store=FeatureStore(tmp_path / "cache"))
    assert (outcome.n_fitted, outcome.n_kept) == (7, 0)


def test_results_of_another_config_are_not_overwritten_unless_told_to(document: dict[str, Any], tmp_path: Path) -> None:
    document["tasks"], document["encoders"] = document["tasks"][:1], document["encoders"][:1]
    before = (run(document, tmp_path) / "results.csv").read_bytes()
    changed = {**document, "probes": [*document["probes"][:2], {"probe": "linear", "penalties": [0.5, 0.01]}]}
    with pytest.raises(UserError, match=r"toy has the results of another config: probes has .*0\.0001.*--fresh"):
        run(changed, tmp_path)
    with pytest.raises(UserError, match="bootstrap"):
        run({**document, "bootstrap": {"samples": 100}}, tmp_path)
    assert (tmp_path / "results" / "toy" / "results.csv").read_bytes() == before
    run(changed, tmp_path, fresh=True)
    assert (tmp_path / "results" / "toy" / "results.csv").read_bytes() != before


def test_what_is_added_to_a_config_is_done_beside_what_is_there(document: dict[str, Any], tmp_path: Path) -> None:
    document["tasks"], document["encoders"] = document["tasks"][:1], document["encoders"][:1]
    run(document, tmp_path)
    config = ExperimentConfig.model_validate({**document, "probes": [*document["probes"], "nearest"]})
    outcome = run_experiment(config, tmp_path / "results", store=FeatureStore(tmp_path / "cache"))
    assert (outcome.n_fitted, outcome.n_kept) == (5, 7)


def test_another_seed_another_condition_and_another_untrained_network_leave_done_cells_done(
    document: dict[str, Any], tmp_path: Path
) -> None:
    small = {"probe": "bilstm", "word_dim": 4, "hidden": 4}
    document["tasks"], document["encoders"] = document["tasks"][:1], document["encoders"][1:]
    document |= {"probes": [small | {"elmo": ["none"], "seeds": [1]}]}
    document["encoders"][0]["untrained"] = [1]
    run(document, tmp_path)
    document["probes"] = [small | {"elmo": ["input", "none"], "seeds": [0, 1]}]
    document["encoders"][0]["untrained"] = [0, 1]
    config = ExperimentConfig.model_validate(document)
    outcome = run_experiment(config, tmp_path / "results", store=FeatureStore(tmp_path / "cache"))
    assert (outcome.n_fitted, outcome.n_kept) == (2 * 2 * 2 - 1, 1)
    with pytest.raises(UserError, match="toy has the results of another config: probes has"):
        run(document | {"probes": [small | {"elmo": ["input"], "seeds": [0, 1]}]}, tmp_path)


def _run_in_child(document: dict[str, Any], folder: Path) -> None:
    config = ExperimentConfig.model_validate(document)
    run_experiment(config, folder / "results", store=FeatureStore(folder / "cache"))


def test_a_run_killed_at_twenty_random_moments_ends_with_the_same_bytes(
    document: dict[str, Any], tmp_path: Path
) -> None:
    document |= {"tasks": document["tasks"][:1], "views": ["layers"]}
    document["probes"] += [{"probe": "control", "draws": 2}, {"probe": "mdl", "percents": [10, 50, 100]}, "mix"]
    document["claims"] = [{"says": "x", "task": "pos-upos", "probe": "linear", "better": 1, "worse": 2}]
    started = time.monotonic()
    undisturbed = run(document, tmp_path / "undisturbed")
    longest = (time.monotonic() - started) / 4
    # Children of a server that has imported everything start at once, so that kills fall into the run, not the imports.
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["probing.experiment"])
    rng = np.random.default_rng(0)
    for _ in range(20):
        child = server.Process(target=_run_in_child, args=(document, tmp_path / "killed"))
        child.start()
        child.join(rng.uniform(0, longest))
        child.kill()
        child.join()
    _run_in_child(document, tmp_path / "killed")
    names = [path.relative_to(undisturbed) for path in undisturbed.rglob("*") if path.is_file()]
    assert len(names) > 30
    for name in names:
        if name.parts[0] != "predictions":  # their archives have dates
            assert (tmp_path / "killed/results/toy" / name).read_bytes() == (undisturbed / name).read_bytes(), name
    left = {path.name for path in (tmp_path / "killed/results/toy/predictions").iterdir()}
    assert {path.name for path in (undisturbed / "predictions").iterdir()} <= left


def test_a_damaged_prediction_file_is_made_again(document: dict[str, Any], tmp_path: Path) -> None:
    folder = run(document, tmp_path)
    before = (folder / "results.csv").read_bytes()
    contents = [b"", b"no archive", None, b"[]"]
    for path, content in zip(sorted((folder / "predictions").iterdir()), contents, strict=False):
        path.write_bytes(path.read_bytes()[:100] if content is None else content)
    with np.load(sorted((folder / "predictions").iterdir())[5]) as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays["test.labels"] = arrays["test.labels"][:-1]
    np.savez(sorted((folder / "predictions").iterdir())[5], **arrays)
    run(document, tmp_path)
    assert (folder / "results.csv").read_bytes() == before


def test_a_run_that_cannot_start_leaves_the_old_results_as_they_are(document: dict[str, Any], tmp_path: Path) -> None:
    folder = run(document, tmp_path)
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    with pytest.raises(UserError, match="toy: views: there is no view 7: tiny has the layers 0 to 2"):
        run(document | {"views": [0, 7]}, tmp_path)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_training_data_of_one_class_are_refused_P35(document: dict[str, Any], tmp_path: Path) -> None:
    path = Path(document["tasks"][0]["corpus"]["train"])
    path.write_text("1\tgoose\t_\tNOUN\tNN\t_\t_\t_\t_\t_\n\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"pos-upos: the training data have one label only \(NOUN\)"):
        run(document, tmp_path)


def test_a_sentence_of_test_that_stands_in_train_is_warned_of_with_a_count_P43(
    document: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = document["tasks"][0]["corpus"]
    train, test = Path(files["train"]), Path(files["test"])
    long = "".join(f"{i}\tunique{i}\t_\tNOUN\tNN\t_\t_\t_\t_\t_\n" for i in range(1, 7)) + "\n"
    train.write_text(train.read_text(encoding="utf-8") + long, encoding="utf-8")
    test.write_text(long, encoding="utf-8")
    folder = run(document, tmp_path)
    assert "pos-upos: 1 of 1 test sentences also stand in train (1 of them with at least 5 tokens)" in caplog.text
    assert "also" in (folder / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("content", [b"", b"[1]", b"a: [", b"3", b"\xff", b"question: 2026-13-45"])
def test_results_whose_config_is_damaged_are_kept_until_fresh_replaces_them(
    document: dict[str, Any], tmp_path: Path, content: bytes
) -> None:
    folder = tmp_path / "results" / "toy"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_bytes(content)
    document |= {"tasks": document["tasks"][:1], "encoders": [], "probes": ["majority"]}
    with pytest.raises(UserError, match=r"toy/config\.yaml: damaged.*--fresh"):
        run(document, tmp_path)
    run(document, tmp_path, fresh=True)
    assert (folder / "results.csv").exists()


def test_a_probe_of_single_layers_without_any_is_refused_instead_of_left_out(
    document: dict[str, Any], tmp_path: Path
) -> None:
    document |= {"views": ["mean"], "probes": [*document["probes"], "control"]}
    with pytest.raises(UserError, match="toy: probes: control reads single layers, of which views has none"):
        run(document, tmp_path)


def test_fresh_removes_nothing_where_the_run_cannot_start(document: dict[str, Any], tmp_path: Path) -> None:
    document |= {"tasks": document["tasks"][:1], "encoders": []}
    folder = run(document | {"probes": ["majority"]}, tmp_path)
    with pytest.raises(UserError, match="the probe first-sense suits none"):
        run(document | {"probes": ["first-sense"]}, tmp_path, fresh=True)
    assert list((folder / "predictions").iterdir())


def test_every_seed_of_an_untrained_network_is_identified(document: dict[str, Any], tmp_path: Path) -> None:
    document |= {"tasks": document["tasks"][:1], "views": [0], "probes": ["nearest"]}
    told = json.loads((run(document, tmp_path) / "environment.json").read_text(encoding="utf-8"))["encoders"]
    assert "fingerprint_by_seed" not in told["tiny"]
    by_seed = told["tiny (untrained)"]["fingerprint_by_seed"]
    assert list(by_seed) == ["0", "1"] and by_seed["0"] == told["tiny (untrained)"]["fingerprint"] != by_seed["1"]
