"""The guide says what the code does: keys, metrics, columns, examples, links."""

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from probing.claims import Judged
from probing.config import ExperimentConfig
from probing.encoders import ENCODERS
from probing.experiment import run_experiment
from probing.features import FeatureStore
from probing.probes import PROBES
from probing.results import COLUMNS
from probing.tasks import TASKS
from tests.docs.blocks import PAGES, ROOT
from tests.probing.toy import save_network, write_treebank

DOCS = ROOT / "docs"
QUICK: dict[str, dict[str, Any]] = {
    "linear": {"penalties": [0.001]},
    "control": {"draws": 1},
    "mdl": {"percents": [20, 100], "penalties": [0.001]},
    "conditional": {"penalties": [0.001]},
    "mlp": {"hidden": 4},
    "bilstm": {"elmo": ["both"], "seeds": [0], "hidden": 4, "learning_rate": 0.05},
}
TARGETS = {
    "train": ["bank.money", "bank.side", "bank.money", "hot.day", "hot.meal"],
    "dev": ["bank.side", "hot.meal"],
    "test": ["bank.money", "hot.day"],
}


@pytest.fixture
def registries() -> Iterator[None]:
    """Forget afterwards what a test has registered."""
    before = [(registry, dict(registry)) for registry in (TASKS, ENCODERS, PROBES)]
    yield
    for registry, kept in before:
        registry.clear()
        registry.update(kept)  # type: ignore[arg-type]


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"docs_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(document: dict[str, Any], folder: Path) -> Any:
    config = ExperimentConfig.model_validate({"name": "toy", "bootstrap": {"samples": 20}} | document)
    return run_experiment(config, folder / "results", store=FeatureStore(folder / "cache")).rows


def write_homographs(folder: Path) -> dict[str, str]:
    """Write a sentence for each target: CoNLL-U with its sense in MISC."""
    folder.mkdir()
    for split, senses in TARGETS.items():
        sentences = []
        for number, sense in enumerate(senses):
            lemma = sense.partition(".")[0]
            target = f"2\t{lemma}\t{lemma}\tNOUN\t_\t_\t0\troot\t_\tSense={sense}"
            sentences.append(f"1\tthe{number}\tthe\tDET\t_\t_\t2\tdet\t_\t_\n{target}\n\n")
        (folder / f"{split}.conllu").write_text("".join(sentences), encoding="utf-8")
    return {split: str(folder / f"{split}.conllu") for split in TARGETS}


def test_the_pages_that_are_made_are_what_the_code_makes() -> None:
    made = load(DOCS / "generate.py").pages()
    assert {path.name for path in made} == {"config.md", "elmo.md", "extending.md"}
    stale = [path.name for path, text in made.items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run: python docs/generate.py"


def test_every_key_of_a_config_is_explained() -> None:
    rows = [line for line in load(DOCS / "generate.py").config_page().splitlines() if line.startswith("| `")]
    assert len(rows) > 80
    assert [row for row in rows if row.endswith("|  |")] == []


def test_every_metric_of_every_probe_is_in_the_page_of_probes(tmp_path: Path) -> None:
    document = {
        "tasks": [
            {"task": "pos", "corpus": write_treebank(tmp_path / "treebank")},
            {"task": "homographs", "corpus": write_homographs(tmp_path / "homographs")},
        ],
        "encoders": [{"bilm": save_network(tmp_path / "tiny")}],
        "views": ["layers"],
        "probes": [{"probe": name} | QUICK.get(name, {}) for name in PROBES],
    }
    rows = run(document, tmp_path)
    assert set(rows["probe"]) == set(PROBES)
    page = (DOCS / "probes.md").read_text(encoding="utf-8")
    metrics = {re.sub(r"weight_\d+$", "weight_0", metric) for metric in rows["metric"]}
    assert {metric for metric in metrics if f"`{metric}`" not in page} == set()
    headings = {name for line in re.findall(r"^## (.*)$", page, re.MULTILINE) for name in line.split(", ")}
    assert set(PROBES) <= headings


def test_every_column_of_results_and_claims_is_in_the_page_of_figures() -> None:
    page = (DOCS / "figures.md").read_text(encoding="utf-8")
    assert {column for column in (*COLUMNS, *Judged._fields) if f"`{column}`" not in page} == set()


@pytest.mark.usefixtures("registries")
def test_a_task_an_encoder_and_a_probe_of_the_guide_make_an_experiment(tmp_path: Path) -> None:
    for name in ("add_task", "add_encoder", "add_probe"):
        load(DOCS / "examples" / f"{name}.py")
    document = {
        "tasks": [{"task": "previous-pos", "corpus": write_treebank(tmp_path / "treebank")}],
        "encoders": [{"window": 2}],
        "probes": ["majority", {"probe": "neighbours", "neighbours": [1, 3]}],
    }
    rows = run(document, tmp_path).set_index(["probe", "view", "split", "subset", "metric"])["value"].sort_index()
    score = {view: rows["neighbours", view, "test", "all", "accuracy"] for view in ("0", "1")}
    majority = rows["majority", "", "test", "all", "accuracy"]
    assert min(score.values()) > majority
    assert rows["neighbours", "1", "train", "all", "neighbours"] in (1, 3)
    assert (tmp_path / "results/toy/report.html").is_file()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = page.parent / path if path else page
        assert file.exists(), f"{page.name}: {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in anchors, f"{page.name}: {target}"
