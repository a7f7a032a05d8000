"""The reference results in results/: each is what the config beside it says, and its page tells what its files tell."""

import html
import shutil
import subprocess
from pathlib import Path

import pytest

from probing.claims import read_claims
from probing.config import dump_experiment, load_experiment
from probing.results import read_rows

ROOT = Path(__file__).parents[1]
CONFIGS = {path.stem: path for path in (ROOT / "experiments").rglob("*.yaml") if path.parent.name != "bilm"}
RESULTS = sorted(path.parent for path in (ROOT / "results").glob("*/results.csv"))
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)


@pytest.mark.parametrize("folder", RESULTS, ids=lambda folder: folder.name)
def test_results_are_of_the_config_in_experiments(folder: Path) -> None:
    config = load_experiment(CONFIGS[folder.name])
    assert (folder / "config.yaml").read_text(encoding="utf-8") == dump_experiment(config)
    assert set(read_rows(folder / "results.csv")["experiment"]) == {folder.name}


@pytest.mark.parametrize("folder", RESULTS, ids=lambda folder: folder.name)
def test_every_file_that_readme_and_report_promise_is_there(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()}
    assert names >= {"claims.csv", "config.yaml", "environment.json", "figures", "report.html", "report.md", "tables"}


@pytest.mark.skipif(CHROMIUM is None, reason="no headless Chromium on this machine")
@pytest.mark.parametrize("folder", RESULTS, ids=lambda folder: folder.name)
def test_a_browser_shows_the_verdict_of_each_claim(folder: Path) -> None:
    assert CHROMIUM is not None
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", (folder / "report.html").as_uri()]
    page = html.unescape(subprocess.run(command, check=True, capture_output=True, timeout=120).stdout.decode())
    start = page.index("<main")
    for claim in read_claims(folder / "claims.csv"):
        start = page.index(claim.verdict, start)  # in the order of the file
        assert claim.claim in page[start : start + 2000]
