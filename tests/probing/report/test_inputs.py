from pathlib import Path

import pandas as pd
import pytest

from bilm.errors import UserError
from probing.report.inputs import read_inputs
from probing.results import write_rows


def test_a_probe_has_the_settings_of_the_config_and_one_that_is_not_there_has_none(folder: Path) -> None:
    settings = read_inputs(folder).settings
    assert settings.of_probe("linear") == {"probe": "linear", "penalties": [0.01, 0.1, 1.0], "max_iterations": 500}
    assert settings.of_probe("mlp") == {}


def test_keys_that_the_report_does_not_show_are_allowed(folder: Path) -> None:
    text = (folder / "environment.json").read_text(encoding="utf-8")
    (folder / "environment.json").write_text('{"more": [], ' + text[1:], encoding="utf-8")
    assert read_inputs(folder).environment.package == "0.1.0"


@pytest.mark.parametrize("name", ["results.csv", "config.yaml", "environment.json"])
def test_a_missing_file_is_named(name: str, folder: Path) -> None:
    (folder / name).unlink()
    with pytest.raises(UserError, match=f"{name}: cannot be read"):
        read_inputs(folder)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("environment.json", "{", "environment.json:1: not valid JSON"),
        ("environment.json", "{}", "environment.json: package: Field required"),
        ("config.yaml", "a: [", "config.yaml: not valid YAML"),
        ("environment.json", "[" * 100_000, "environment.json: not valid JSON"),
        ("config.yaml", "question: 2026-13-45", "config.yaml: not valid YAML"),
        ("config.yaml", "[" * 10_000, "config.yaml: not valid YAML"),
        ("config.yaml", "- a", "config.yaml: Input should be"),
        ("config.yaml", "bootstrap: {confidence: much}", "config.yaml: bootstrap.confidence: Input should be"),
    ],
)
def test_a_file_that_is_not_what_it_should_be_is_named(name: str, content: str, message: str, folder: Path) -> None:
    (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(UserError) as error:
        read_inputs(folder)
    assert message in str(error.value)


def test_results_without_rows_are_nothing_to_report(folder: Path, rows: pd.DataFrame) -> None:
    write_rows(rows[:0], folder / "results.csv")
    with pytest.raises(UserError, match="no rows"):
        read_inputs(folder)
