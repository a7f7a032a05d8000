"""What a machine can do to a run: another locale, a full disk, a folder that cannot be written, Ctrl-C."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from probing.cli import app
from tests.command_line import run_apart, run_here
from tests.probing.toy import save_network, write_treebank

LOCALES = {
    "ASCII": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"},
    "Latin-1": {"LC_ALL": "en_US.ISO-8859-1", "PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"},
}


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a config whose words are not ASCII, in the folder `experiments` of the working folder."""
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    monkeypatch.chdir(tmp_path)
    document = {
        "name": "toy",
        "question": "Was weiß jede Schicht — “über” Wörter?",
        "tasks": [{"task": "pos", "corpus": write_treebank(tmp_path / "treebank")}],
        "encoders": [{"bilm": save_network(tmp_path / "tiny")}],
        "probes": ["majority", "nearest"],
        "claims": [{"says": "la première — mieux", "task": "pos-upos", "probe": "nearest", "better": 1, "worse": 2}],
        "bootstrap": {"samples": 20},
    }
    path = tmp_path / "experiments" / "toy.yaml"
    path.parent.mkdir()
    path.write_text(yaml.safe_dump(document, allow_unicode=True), encoding="utf-8")
    return path


@pytest.mark.parametrize("locale", LOCALES)
def test_in_a_locale_that_is_not_utf_8_commands_work_and_files_are_utf_8(config: Path, locale: str) -> None:
    sentences = config.parent / "sentences.txt"
    sentences.write_text("Der Fluß „Ötz“\n", encoding="utf-8")
    for module, words in (
        ("probing", ["run", config]),
        ("probing", ["ls"]),
        ("probing", ["data", "ls"]),
        ("bilm", ["score", "small-en", sentences]),
    ):
        command = [sys.executable, "-m", module, *map(str, words)]
        done = subprocess.run(command, capture_output=True, env=os.environ | LOCALES[locale], check=False)
        assert done.returncode == 0, done.stderr
        if module == "bilm":
            assert "Fluß" in done.stdout.decode("utf-8"), "a result is data, and UTF-8 wherever it is made"
    report = Path("results/toy/report.md").read_text(encoding="utf-8")
    assert "Was weiß jede Schicht — “über” Wörter?" in report and "la première — mieux" in report


def test_an_error_about_a_name_that_the_locale_lacks_is_still_one_line(config: Path) -> None:
    done = run_apart("probing", "run", "nicht-da-ö.yaml", **LOCALES["ASCII"])
    assert done.returncode == 1
    assert done.stderr.startswith("error: nicht-da-") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS], ids=["full disk", "read-only"])
def test_results_that_cannot_be_written_are_one_line_and_the_rest_is_done_by_the_same_command(
    config: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = [0]
    real = os.replace

    def replace(source: Any, target: Any, **arguments: Any) -> None:
        written[0] += "predictions" in str(target)
        if written[0] == 3:
            raise OSError(number, os.strerror(number), str(source))
        real(source, target, **arguments)

    with monkeypatch.context() as changed:
        changed.setattr("pathlib.Path.replace", lambda source, target: replace(source, target))
        failed = run_here(app, "run", config)
    assert failed.returncode == 1
    last = failed.stderr.splitlines()[-1]
    assert last.startswith("error: ") and "results/toy/predictions" in last
    assert last.endswith(f"cannot be written ({os.strerror(number)})")
    assert not list(Path("results").rglob(".*"))
    assert "4 cells fitted, 2 kept from before" in run_here(app, "run", config).stderr


@pytest.mark.parametrize("out", ["file/results", "/proc/results"])
def test_a_folder_that_cannot_be_made_is_one_line(config: Path, out: str) -> None:
    if out.startswith("/proc") and not Path("/proc/self").exists():
        pytest.skip("there is no /proc here")
    Path("file").write_text("", encoding="utf-8")
    failed = run_here(app, "run", config, "--out", out)
    assert failed.returncode == 1
    assert failed.stderr.splitlines()[-1].startswith("error: ") and out in failed.stderr.splitlines()[-1]


def test_ctrl_c_says_that_what_is_done_is_kept_and_the_same_command_goes_on(config: Path) -> None:
    many = ["-o", "views=[0]", "-o", "claims=[]", "-o"]
    many += ["probes=[majority, {probe: mlp, hidden: 4, seeds: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}]"]
    command = [sys.executable, "-m", "probing", "run", str(config), *many]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        while process.poll() is None and len(list(Path("results").rglob("[!.]*.npz"))) < 3:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate()
    assert process.returncode == 130, stderr
    assert stderr.splitlines()[-1] == "stopped; what is done is kept: the same command goes on from there"
    kept = len(list(Path("results").rglob("*.npz")))
    assert kept >= 3
    assert f"{11 - kept} cells fitted, {kept} kept from before" in run_here(app, "run", config, *many).stderr
