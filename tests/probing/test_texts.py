"""The texts of an experiment: a file for each task and split, whatever the encoders."""

from pathlib import Path

import pytest
import yaml

from probing.cli import app
from tests.command_line import run_here
from tests.probing.toy import write_treebank


@pytest.fixture
def config(tmp_path: Path) -> Path:
    corpus = write_treebank(tmp_path / "treebank", {"train": 2, "dev": 1, "test": 3})
    document = {
        "name": "toy",
        "tasks": [{"task": "pos", "corpus": corpus, "column": column} for column in ("upos", "xpos")],
        "encoders": [{"hdf5": str(tmp_path / "not-made-yet")}],
        "probes": ["linear"],
    }
    path = tmp_path / "toy.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def test_each_task_and_split_gets_a_file_before_any_vectors_are_made_P33(config: Path, tmp_path: Path) -> None:
    found = run_here(app, "text", config, "--out", tmp_path / "vectors")
    assert (found.returncode, found.stdout.strip()) == (0, str(tmp_path / "vectors"))
    texts = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "vectors").iterdir()}
    assert set(texts) == {
        f"pos-{column}.{split}.txt" for column in ("upos", "xpos") for split in ("train", "dev", "test")
    }
    assert texts["pos-upos.test.txt"] == texts["pos-xpos.test.txt"]
    assert [len(line.split(" ")) for line in texts["pos-upos.test.txt"].splitlines()] == [4, 7, 2]
    assert "pos-xpos.test.txt: 3 sentences" in found.stderr


def test_a_missing_corpus_is_one_line_and_nothing_is_written(config: Path, tmp_path: Path) -> None:
    found = run_here(app, "text", config, "--out", tmp_path / "vectors", "-o", "tasks.1.corpus.dev=nowhere.conllu")
    assert found.returncode == 1
    assert "nowhere.conllu" in found.stderr and len(found.stderr.splitlines()) <= 2
    assert not (tmp_path / "vectors").exists()
