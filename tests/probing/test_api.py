"""An experiment from Python: what the command does, with rows, claims and pictures in hand."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from matplotlib.figure import Figure

import probing
from bilm import UserError
from probing.claims import Judged
from probing.config import ExperimentConfig
from probing.results import COLUMNS, read_rows
from tests.probing.toy import save_network, write_treebank


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    corpus = write_treebank(tmp_path / "treebank")
    claim = {"says": "layer 1 over 2", "task": "pos-upos", "probe": "nearest", "better": 1, "worse": 2}
    return {
        "name": "toy",
        "tasks": [{"task": "pos", "corpus": corpus}, {"task": "pos", "corpus": corpus, "column": "xpos"}],
        "encoders": [{"bilm": save_network(tmp_path / "tiny")}],
        "views": ["layers"],
        "probes": ["majority", "nearest"],
        "claims": [claim],
        "bootstrap": {"samples": 50},
    }


def test_importing_the_package_loads_no_pytorch_until_a_name_is_asked_for() -> None:
    code = "import sys, probing; print('torch' in sys.modules); probing.run; print('torch' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True).stdout
    assert told.split() == ["False", "True"]


def test_a_name_that_the_package_lacks_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'rum'"):
        probing.rum  # noqa: B018


def test_a_run_returns_the_rows_and_claims_that_lie_in_its_folder(document: dict[str, Any], tmp_path: Path) -> None:
    result = probing.run(document, out=tmp_path / "results")
    assert result.folder == tmp_path / "results" / "toy"
    assert tuple(result.rows.columns) == COLUMNS
    written = read_rows(result.folder / "results.csv")
    pd.testing.assert_frame_equal(result.rows.reset_index(drop=True), written, atol=1e-6, check_dtype=False)
    assert tuple(result.claims.columns) == Judged._fields
    assert result.claims["claim"].tolist() == ["layer 1 over 2"]


def test_a_path_a_mapping_and_a_checked_config_are_the_same_run(document: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "toy.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    configs: list[Path | str | dict[str, Any] | ExperimentConfig] = [
        path,
        str(path),
        document,
        ExperimentConfig.model_validate(document),
    ]
    texts = []
    for index, config in enumerate(configs):
        folder = probing.run(config, tmp_path / str(index), ["name=other", "probes.0=type-majority"], fresh=True).folder
        assert folder.name == "other"
        texts.append((folder / "results.csv").read_bytes())
    assert len(set(texts)) == 1 and b",type-majority," in texts[0]
    assert (document["name"], document["probes"]) == ("toy", ["majority", "nearest"]), (
        "the caller's mapping is left as it was"
    )


def test_a_mistake_is_an_error_that_names_the_key(document: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^config: .*probes.*did you mean linear\?"):
        probing.run(document | {"probes": ["linaer"]}, out=tmp_path)
    with pytest.raises(UserError, match=r"^-o name: expected key\.path=value"):
        probing.run(document, out=tmp_path, overrides=["name"])


def test_without_claims_the_table_of_claims_has_columns_and_no_rows(document: dict[str, Any], tmp_path: Path) -> None:
    claims = probing.run(document | {"claims": []}, out=tmp_path).claims
    assert (len(claims), tuple(claims.columns)) == (0, Judged._fields)


def test_a_plot_shows_all_tasks_side_by_side_or_the_one_asked_for(document: dict[str, Any], tmp_path: Path) -> None:
    result = probing.run(document, out=tmp_path)
    both, one = result.plot(), result.plot("pos-xpos")
    assert isinstance(both, Figure) and isinstance(one, Figure)
    assert (len(both.axes), len(one.axes)) == (2, 1)


def test_a_plot_of_what_was_not_run_is_an_error_that_says_what_was(document: dict[str, Any], tmp_path: Path) -> None:
    result = probing.run(document, out=tmp_path)
    with pytest.raises(UserError, match=r"no task 'pos-xops': did you mean pos-xpos\?"):
        result.plot("pos-xops")
    with pytest.raises(UserError, match="no probe 'linear' read the layers for pos-upos: did you mean nearest"):
        result.plot("pos-upos", probe="linear")
    bare = document | {"name": "bare", "probes": ["majority"], "claims": []}
    with pytest.raises(UserError, match="no probe read the layers for pos-upos: there is nothing to draw"):
        probing.run(bare, out=tmp_path).plot("pos-upos")


def test_senses_are_drawn_as_the_nearest_mean_reads_them(document: dict[str, Any], tmp_path: Path) -> None:
    names = {"name": "senses", "tasks": [{"task": "homographs"}], "claims": []}
    probes = {"probes": ["most-frequent-sense", {"probe": "linear", "penalties": [0.01]}, "nearest"]}
    result = probing.run(document | names | probes, out=tmp_path)
    texts = [text.get_text() for text in result.plot().texts] + [str(result.plot().get_suptitle())]
    assert any("nearest probe" in text for text in texts), texts


@pytest.mark.parametrize("config", [3, None, [], b"x", {1: 2}])
def test_a_config_of_another_type_is_an_error_that_says_what_is_expected(config: Any) -> None:
    with pytest.raises(UserError, match="config: expected a path, a mapping of keys or an ExperimentConfig, not"):
        probing.run(config)


@pytest.mark.parametrize(
    ("argument", "value"),
    [("fresh", "no"), ("fresh", 1), ("overrides", "name=x"), ("overrides", None), ("overrides", [1])],
)
def test_an_argument_of_another_type_is_named_and_results_are_kept(
    argument: str, value: Any, document: dict[str, Any], tmp_path: Path
) -> None:
    kept = tmp_path / document["name"] / "predictions" / "kept.npz"
    kept.parent.mkdir(parents=True)
    kept.touch()
    with pytest.raises(UserError, match=f"{argument}: expected"):
        probing.run(document, out=tmp_path, **{argument: value})
    assert kept.exists()


def test_a_folder_for_results_that_is_no_path_is_an_error_that_names_the_argument(document: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="out: expected a path, not 3"):
        probing.run(document, out=3)  # type: ignore[arg-type]
