"""The `probing` command, as a user runs it."""

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from probing.cli import app
from probing.results import read_rows
from tests.command_line import run_here
from tests.probing.toy import save_network, write_treebank


def probing(*arguments: object, **environment: str) -> CompletedProcess[str]:
    return run_here(app, *arguments, **environment)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    document: dict[str, Any] = {
        "name": "toy",
        "tasks": [{"task": "pos", "corpus": write_treebank(tmp_path / "treebank")}],
        "encoders": [{"bilm": save_network(tmp_path / "tiny")}],
        "views": ["layers"],
        "probes": ["majority", {"probe": "linear", "penalties": [0.001]}],
        "bootstrap": {"samples": 50},
    }
    path = tmp_path / "toy.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def test_run_writes_everything_and_prints_where(config: Path, tmp_path: Path) -> None:
    run = probing(
        "run", config, "--out", tmp_path / "results", "-o", "tasks.0.column=xpos", PROBING_CACHE=str(tmp_path / "cache")
    )
    assert run.returncode == 0, run.stderr
    folder = tmp_path / "results" / "toy"
    assert run.stdout.strip() == str(folder / "report.html")
    files = {"config.yaml", "results.csv", "report.md", "report.html", "claims.csv", "environment.json"}
    assert files | {"figures", "tables", "predictions"} == {path.name for path in folder.iterdir()}
    assert set(read_rows(folder / "results.csv")["task"]) == {"pos-xpos"}
    figures = sorted(path.suffix for path in (folder / "figures").iterdir())
    assert ".svg" in figures and ".png" in figures
    resolved = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    assert resolved["tasks"][0]["column"] == "xpos"


def test_run_ends_with_the_verdict_on_each_claim_then_the_picture_then_the_report(config: Path, tmp_path: Path) -> None:
    claim = "[{says: 'one [beats] two', task: pos-upos, probe: linear, better: 1, worse: 2}]"
    run = probing(
        "run", config, "--out", tmp_path / "results", "-o", f"claims={claim}", PROBING_CACHE=str(tmp_path / "cache")
    )
    *_, verdict, picture = run.stderr.strip().splitlines()
    assert verdict.split(":")[0] in ("supported", "refuted", "undecided")
    assert ": one [beats] two, " in verdict and "points [" in verdict and "p_holm " in verdict
    assert picture.startswith(f"picture: {tmp_path / 'results' / 'toy' / 'figures'}") and picture.endswith(".png")
    assert run.stdout.strip() == str(tmp_path / "results" / "toy" / "report.html")


def test_the_quickstart_needs_no_data_folder() -> None:
    ready = probing("validate", Path(__file__).parents[2] / "experiments" / "quickstart.yaml", PROBING_DATA="/nowhere")
    assert (ready.returncode, "ready" in ready.stdout) == (0, True), ready.stderr


def test_validate_says_that_a_config_is_ready_or_what_is_missing(config: Path, tmp_path: Path) -> None:
    ready = probing("validate", config)
    assert (ready.returncode, "ready" in ready.stdout) == (0, True), ready.stderr
    missing = probing("validate", config, "-o", "encoders.0.bilm=nowhere")
    assert missing.returncode == 1
    assert "no model 'nowhere'" in missing.stderr
    absent = probing("validate", config, "-o", "tasks.0.corpus=ud-english-ewt", PROBING_DATA=str(tmp_path))
    assert absent.returncode == 1
    assert "UD_English-EWT" in absent.stderr and "PROBING_DATA" in absent.stderr
    near = probing("validate", config, "-o", "tasks.0.corpus=ud-english-ewd")
    assert "did you mean ud-english-ewt" in near.stderr


def test_ls_lists_what_a_config_can_name() -> None:
    listing = probing("ls")
    assert listing.returncode == 0, listing.stderr
    for name in ("ud-english-ewt", "wsj-sample", "elmo-small", "pos", "majority", "type-majority", "linear"):
        assert name in listing.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["run", "nothing.yaml"], 1, "nothing.yaml: cannot be read"),
        (["run"], 2, "Missing argument"),
        (["run", "CONFIG", "-o", "probes=[linaer]"], 1, "did you mean linear?"),
        (["run", "CONFIG", "--jobs", "0"], 2, "--jobs"),
        (["rnu", "CONFIG"], 2, "No such command"),
    ],
)
def test_a_mistake_gives_its_exit_code_and_no_traceback(
    config: Path, arguments: list[str], code: int, told: str
) -> None:
    run = probing(*[str(config) if argument == "CONFIG" else argument for argument in arguments])
    assert run.returncode == code
    assert told in run.stderr
    assert "Traceback" not in run.stderr


def test_help_teaches() -> None:
    assert "Example: probing run" in probing("run", "--help").stdout
    assert "PROBING_DATA" in probing("run", "--help").stdout


def test_score_prints_what_the_official_scorer_prints(tmp_path: Path) -> None:
    gold, answers = tmp_path / "gold.key.txt", tmp_path / "answers.key.txt"
    gold.write_text("a x y\nb z\nc w\n", encoding="utf-8")
    answers.write_text("b q\na y\n", encoding="utf-8")
    assert probing("score", gold, answers).stdout == "P=\t50.0%\nR=\t33.3%\nF1=\t40.0%\n"
    assert json.loads(probing("score", gold, answers, "--json").stdout)["precision"] == 0.5
    absent = probing("score", gold, tmp_path / "none.key.txt")
    assert absent.returncode == 1 and "none.key.txt: cannot be read" in absent.stderr


def test_more_processor_cores_than_a_number_can_hold_are_wrong_usage(config: Path) -> None:
    assert probing("run", config, "--jobs", 10**11).returncode == 2
