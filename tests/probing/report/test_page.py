import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from probing.report import page
from probing.report.page import write_report
from probing.results import UNTRAINED, write_rows

Report = Callable[[Path], str]
FIGURES = [f"pos-upos-toy-corpus-linear-{what}.{ending}" for what in ("layers", "subsets") for ending in ("png", "svg")]


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> Report:
    """Return the report's text; figures are drawn but, to be quick, not written."""
    monkeypatch.setattr(page, "save", lambda figure, folder, stem: '<svg viewBox="0 0 1 1"></svg>')

    def written(folder: Path) -> str:
        write_report(folder)
        return (folder / "report.md").read_text(encoding="utf-8")

    return written


def section(text: str, title: str) -> str:
    return text.split(f"## {title}\n\n")[1].split("\n\n## ")[0].strip()


def change(folder: Path, **keys: Any) -> None:
    path = folder / "environment.json"
    environment = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(environment | keys), encoding="utf-8")


def test_the_reading_names_the_best_single_layer_beside_its_lower_bounds(report: Report, folder: Path) -> None:
    reading = section(report(folder), "pos-upos on toy-corpus").split("\n\n")[0]
    assert reading == (
        "A linear probe read universal parts of speech from each view of each frozen network. "
        "Of the single layers of net, layer 1 (LSTM 1) has the highest test score: 95.00 % [94.60, 95.50]; "
        "layer 0 has 88.00 % [87.60, 88.50], and the same network untrained has at most 88.50 % as the mean of 3 seeds "
        "(88.00–89.00), at layer 1. "
        "Without any vectors, type majority has 86.00 % [85.60, 86.50] and majority class has 40.00 % [39.60, 40.50]. "
        "Whether two layers differ by more than chance is what a claim's paired difference tells."
    )


def test_layers_that_share_the_highest_accuracy_are_both_named(
    report: Report, folder: Path, rows: pd.DataFrame
) -> None:
    tied = (rows["encoder"] == "net") & (rows["view"] == "2") & (rows["metric"] == "accuracy")
    best = (rows["encoder"] == "net") & (rows["view"] == "1") & (rows["metric"] == "accuracy")
    rows.loc[tied, "value"] = rows.loc[best, "value"].to_numpy()
    write_rows(rows, folder / "results.csv")
    assert "layer 1 (LSTM 1) and layer 2 (LSTM 2) have equally the highest test score" in report(folder)


def test_an_experiment_without_trained_networks_says_so(report: Report, folder: Path, rows: pd.DataFrame) -> None:
    write_rows(rows[rows["encoder"] != "net"], folder / "results.csv")
    text = report(folder)
    assert f"Of the single layers of net{UNTRAINED}, layer 1 (LSTM 1) has the highest test score" in text
    assert "There is no trained network in this experiment." in text


def test_baselines_alone_have_a_table_and_no_figures(report: Report, folder: Path, rows: pd.DataFrame) -> None:
    write_rows(rows[rows["encoder"] == ""], folder / "results.csv")
    change(folder, encoders={})
    text = report(folder)
    assert "| type majority | – | 87.00 [86.60, 87.50] | 86.00 [85.60, 86.50] |" in text
    assert "Linear probe" not in text
    assert "figures/" not in text


def test_the_report_shows_the_figures_that_it_draws(folder: Path) -> None:
    write_report(folder)
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert sorted(path.name for path in (folder / "figures").iterdir()) == FIGURES
    assert all(f"(figures/{name})" in text for name in FIGURES)


def test_two_tasks_have_a_section_and_figures_each(report: Report, folder: Path, rows: pd.DataFrame) -> None:
    both = pd.concat([rows, rows.assign(task="pos-xpos")])
    write_rows(both, folder / "results.csv")
    text = report(folder)
    assert text.index("## pos-upos on toy-corpus") < text.index("## pos-xpos on toy-corpus")
    assert text.count("](figures/") == 4 + 4 + 2  # and the two side by side
    assert text.index("figures/layers.png") < text.index("## pos-upos on toy-corpus")
    assert "(figures/pos-xpos-toy-corpus-linear-layers.png)" in text


def test_the_data_are_told_with_labels_that_train_lacks_and_sentences_that_train_has_P34_P43(
    report: Report, folder: Path
) -> None:
    data = section(report(folder), "Data")
    assert "| pos-upos | toy-corpus | train | 100 | 9,000 | `0123456789ab` |" in data
    assert (
        "test: 4 examples have a label that train lacks; they are counted, and a probe that can only answer what it "
        "has seen reaches at most 99.80 %: SYM (3), X (1)." in data
    )
    assert "dev: no example has a label that train lacks." in data
    assert "test: 2 of 100 sentences also stand in train." in data


def test_nothing_to_warn_of_is_said_to_be_nothing(report: Report, folder: Path, rows: pd.DataFrame) -> None:
    rows.loc[rows["metric"] == "l2_penalty", "value"] = 0.1
    write_rows(rows, folder / "results.csv")
    assert section(report(folder), "Warnings") == "None."


def test_a_penalty_at_the_end_of_the_grid_and_a_fit_out_of_iterations_are_warned_of(
    report: Report, folder: Path, rows: pd.DataFrame
) -> None:
    chosen, used = rows["metric"] == "l2_penalty", rows["metric"] == "iterations"
    rows.loc[chosen, "value"] = 0.1
    rows.loc[chosen & (rows["encoder"] == "net") & rows["view"].isin(["0", "mean"]), "value"] = 1.0
    rows.loc[chosen & (rows["encoder_seed"] == "2") & (rows["view"] == "1"), "value"] = 0.01
    rows.loc[used & (rows["encoder"] == "net") & (rows["view"] == "concat"), "value"] = 500.0
    write_rows(rows, folder / "results.csv")
    assert section(report(folder), "Warnings").split("\n") == [
        "- pos-upos on toy-corpus, net: the penalty chosen, 1, is the largest of those tried; "
        "a better one may lie beyond (views 0, mean).",
        "- pos-upos on toy-corpus, net (untrained), seed 2: the penalty chosen, 0.01, is the smallest of those tried; "
        "a better one may lie beyond (view 1).",
        "- pos-upos on toy-corpus, net: the fit used all of its 500 iterations and may have stopped short of the "
        "optimum (view concat).",
    ]


def test_nothing_is_warned_of_where_a_part_of_train_alone_wants_a_penalty_at_the_end(
    report: Report, folder: Path, rows: pd.DataFrame
) -> None:
    rows.loc[rows["metric"] == "l2_penalty", "value"] = 0.1
    part = rows[rows["metric"] == "l2_penalty"].assign(value=1.0, train_percent="1", seed="0")
    write_rows(pd.concat([rows, part]), folder / "results.csv")
    assert section(report(folder), "Warnings") == "None."


def test_penalties_are_missed_where_the_config_does_not_tell_them(report: Report, folder: Path) -> None:
    (folder / "config.yaml").write_text("name: toy\n", encoding="utf-8")
    assert "the penalties tried are not told" in section(report(folder), "Warnings")


def test_the_interval_is_described_as_the_config_made_it(report: Report, folder: Path) -> None:
    text = report(folder)
    assert "90 % percentile bootstrap over sentences" in text
    assert "2,000 times" in text
    assert "[90 % interval]" in text


def test_the_report_has_the_question_the_config_the_networks_and_the_versions(report: Report, folder: Path) -> None:
    text = report(folder)
    assert text.startswith("# toy\n\nWhat does each layer of a toy know?\n\n")
    assert (folder / "config.yaml").read_text(encoding="utf-8") in text
    assert "| net | trained weights of net | token encoder, LSTM 1, LSTM 2 | 3 | 8 | `fedcba987654` |" in text
    assert text.endswith("layer-probing 0.1.0, Python 3.11.2, torch 2.13.0, numpy 2.4.6; Linux x86_64.\n")


def test_what_a_network_is_stands_before_the_first_picture_so_that_none_is_read_without_it(
    report: Report, folder: Path, rows: pd.DataFrame
) -> None:
    environment = json.loads((folder / "environment.json").read_text(encoding="utf-8"))
    names = ["embeddings", *(f"block {number}" for number in range(1, 13))]
    told = {"n_layers": 13, "layers": names, "description": "gpt2, left to right: sees only the left context of a word"}
    change(folder, encoders=environment["encoders"] | {"net": environment["encoders"]["net"] | told})
    write_rows(pd.concat([rows, rows.assign(task="wsd")]), folder / "results.csv")
    text = report(folder)
    line = f"| net | {told['description']} | embeddings, block 1, …, block 12 | 13 | 8 |"
    assert line in section(text, "Networks")
    assert text.index("## Networks") < text.index("## Pictures") < text.index("](figures/")


def test_a_config_that_holds_a_code_fence_does_not_end_the_block(report: Report, folder: Path) -> None:
    with (folder / "config.yaml").open("a", encoding="utf-8") as file:
        file.write("# ```\n")
    assert "````yaml\nname: toy" in report(folder)


def test_the_same_results_give_the_same_bytes_under_every_hash_seed_P41(folder: Path) -> None:
    contents = []
    for seed in ("1", "2"):
        code = (
            "import sys; from pathlib import Path; from probing.report.page import *; write_report(Path(sys.argv[1]))"
        )
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[3])}
        subprocess.run([sys.executable, "-c", code, str(folder)], check=True, env=environment)
        contents.append({path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()})
    assert contents[0] == contents[1]
    tables = {f"pos-upos-toy-corpus-linear.{ending}" for ending in ("md", "tex")}
    read = {"config.yaml", "environment.json", "results.csv"}
    assert set(contents[0]) == {"report.md", "report.html", *read, *tables, *FIGURES}


def test_a_subset_without_examples_is_left_out(report: Report, folder: Path, rows: pd.DataFrame) -> None:
    rows.loc[rows["subset"] != "all", ["value", "ci_low", "ci_high", "n"]] = [np.nan, np.nan, np.nan, 0]
    write_rows(rows, folder / "results.csv")
    text = report(folder)
    assert "word forms (n" not in text
    assert "subsets.png" not in text


def test_figures_and_tables_that_a_report_shows_no_more_are_removed_and_other_files_are_kept(
    folder: Path, rows: pd.DataFrame
) -> None:
    two = pd.concat([rows, rows.assign(task="pos-xpos")], ignore_index=True)
    write_rows(two, folder / "results.csv")
    write_report(folder)
    write_rows(rows, folder / "results.csv")
    mine = [folder / place / name for place in ("figures", "tables") for name in ("mine.svg", "mine.png", "mine.tex")]
    for path in [*mine, folder / "tables" / "mine.md"]:
        path.write_text("mine", encoding="utf-8")
    shown = {path.name for path in folder.rglob("*xpos*")}
    assert {"pos-xpos-toy-corpus-linear-layers.svg", "pos-xpos-toy-corpus-linear.tex"} <= shown
    write_report(folder)
    assert list(folder.rglob("*xpos*")) == []
    assert all(path.exists() for path in mine)
    assert {path.name for path in (folder / "figures").iterdir()} >= set(FIGURES)
    assert {path.stem for path in (folder / "tables").iterdir()} == {"mine", "pos-upos-toy-corpus-linear"}
