"""What is here is verified file by file."""

import json
import shutil
from pathlib import Path

import pytest

from bilm.checkpoint import load_model
from bilm.official import save_official
from probing import data_cli
from probing.data.catalogue import CATALOGUE
from probing.data.check import check, counts_are_right, presence
from tests.command_line import run_here
from tests.probing.corpora.test_subjectivity import pack, write
from tests.probing.toy import save_network

CORPORA_HERE = [name for name, entry in CATALOGUE.items() if not entry.unverifiable and entry.files]


@pytest.mark.real_data
@pytest.mark.parametrize("name", CORPORA_HERE)
def test_the_data_that_the_numbers_were_measured_on_passes(name: str, data_dir: Path) -> None:
    assert {finding.state for finding in check(CATALOGUE[name], data_dir)} == {"ok"}


@pytest.mark.real_data
@pytest.mark.parametrize("name", [name for name in CORPORA_HERE if CATALOGUE[name].counts])
def test_the_counts_are_those_of_the_data(name: str, data_dir: Path) -> None:
    assert counts_are_right(CATALOGUE[name], data_dir)


@pytest.mark.real_data
def test_a_damaged_file_and_a_missing_one_are_named(data_dir: Path, tmp_path: Path) -> None:
    folder = tmp_path / "coarsewsd-20"
    shutil.copytree(data_dir / "coarsewsd-20", folder, copy_function=shutil.copyfile)
    damaged = folder / "apple" / "test.gold.txt"
    damaged.parent.chmod(0o755)
    damaged.write_bytes(b"1" + damaged.read_bytes()[1:])
    longer = folder / "apple" / "train.gold.txt"
    longer.write_bytes(longer.read_bytes() + b"0\n")
    (folder / "apple" / "train.data.txt").unlink()
    found = run_here(data_cli.app, "check", "coarsewsd-20", PROBING_DATA=str(tmp_path))
    assert found.returncode == 1
    lines = found.stdout.splitlines()
    assert lines[0].startswith("coarsewsd-20: 3 of 100 files wrong")
    assert [line.split(" (")[0] for line in lines[1:]] == [
        "  differs: apple/test.gold.txt",
        "  missing: apple/train.data.txt",
        "  differs: apple/train.gold.txt",
    ]
    rows = json.loads(run_here(data_cli.app, "check", "--json", PROBING_DATA=str(tmp_path)).stdout)
    assert len(rows) == 100 and sum(row["state"] == "ok" for row in rows) == 97
    assert not counts_are_right(CATALOGUE["coarsewsd-20"], tmp_path)


def test_without_names_what_is_not_here_is_no_fault_but_with_its_name_it_is(tmp_path: Path) -> None:
    nothing = run_here(data_cli.app, "check", PROBING_DATA=str(tmp_path))
    assert (nothing.returncode, "nothing is here" in nothing.stdout) == (0, True)
    named = run_here(data_cli.app, "check", "wordnet-3.0", PROBING_DATA=str(tmp_path))
    assert (named.returncode, "missing" in named.stdout) == (1, True)


def test_a_model_without_a_checksum_is_verified_by_its_shape(tmp_path: Path) -> None:
    save_official(load_model(str(save_network(tmp_path / "tiny"))), tmp_path / "models" / "elmo-small")
    assert [finding.state for finding in check(CATALOGUE["elmo-small"], tmp_path)] == ["ok", "ok"]
    weights = tmp_path / "models" / "elmo-small" / "weights.hdf5"
    weights.write_bytes(weights.read_bytes()[:-1000])
    cut = check(CATALOGUE["elmo-small"], tmp_path)[1]
    assert cut.state == "differs" and cut.detail


def test_nltks_zip_is_as_good_as_the_folder_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "nltk_data" / "corpora" / "subjectivity")
    entry = CATALOGUE["subjectivity"]
    packed = pack(folder)
    sizes = {f"{file.stat().st_size} bytes" for file in folder.iterdir()}
    shutil.rmtree(folder)
    assert presence(entry, tmp_path) == "here"
    found = run_here(data_cli.app, "fetch", "subjectivity", PROBING_DATA=str(tmp_path))
    assert found.stdout.strip() == str(packed)
    assert {finding.detail.partition(" instead of")[0] for finding in check(entry, tmp_path)} == sizes
    packed.write_bytes(packed.read_bytes()[:-30])
    assert presence(entry, tmp_path) == "incomplete"
    assert {finding.state for finding in check(entry, tmp_path)} == {"differs"}
    assert "damaged, or no zip" in check(entry, tmp_path)[0].detail


def test_ls_shows_terms_and_whether_it_is_here(tmp_path: Path) -> None:
    shown = run_here(data_cli.app, "ls", PROBING_DATA=str(tmp_path))
    assert shown.returncode == 0, shown.stderr
    assert "CC BY-SA 4.0" in shown.stdout and "https://github.com/UniversalDependencies" in shown.stdout
    (tmp_path / "wordnet-3.0").mkdir()
    (tmp_path / "wordnet-3.0" / "index.sense").write_text("", encoding="utf-8")
    rows = json.loads(run_here(data_cli.app, "ls", "--json", PROBING_DATA=str(tmp_path)).stdout)
    here = {row["name"]: row["here"] for row in rows}
    assert (here["wordnet-3.0"], here["semcor3.0"], here["penn-treebank-wsj"]) == (
        "here",
        "not here",
        "needs a licence",
    )
