"""The YAML file of a training run."""

import json
from pathlib import Path

import pytest

from bilm.training_config import TrainingConfig, TrainingConfigError, changed_keys, read_training_config
from tests.bilm.toy_training import toy_values

EXPERIMENTS = Path(__file__).parents[2] / "experiments" / "bilm"


def read(folder: Path, *overrides: str, **sections: object) -> TrainingConfig:
    path = folder / "run.yaml"
    path.write_text(json.dumps(toy_values(folder, **sections)), encoding="utf-8")
    return read_training_config(path, overrides)


@pytest.mark.parametrize("path", sorted(EXPERIMENTS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_experiment_is_a_valid_configuration_and_its_header_is_its_command(path: Path) -> None:
    assert read_training_config(path).name == path.stem
    assert f"bilm train experiments/bilm/{path.name}" in path.read_text(encoding="utf-8")


def test_overrides_replace_single_keys(tmp_path: Path) -> None:
    config = read(tmp_path, "optimizer.rate=0.5", "stop.epochs=3", "text.valid=null", "network=elmo-small")
    assert (config.optimizer.rate, config.stop.epochs, config.text.valid) == (0.5, 3, None)
    assert config.bilm_config().lstm.dim == 1024


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("optimizer.rat=1", r"run\.yaml: optimizer\.rat: unknown key; did you mean rate\?"),
        ("report.valid_step=1", r"report\.valid_step: unknown key; did you mean valid_steps\?"),
        ("zzz=1", r"zzz: unknown key; known here: name, out, text"),
        ("network.lstm.dimm=1", r"network\.lstm\.dimm: unknown key; did you mean dim\?"),
        ("optimizer.rate=fast", r"optimizer\.rate: Input should be a valid number"),
        ("optimizer.rate=-1", r"optimizer\.rate: Input should be greater than 0"),
        ("network=huge", r"network: a network is a section with char_cnn and lstm, or one of elmo-small"),
        ("start=small-en", r"either network .* or start"),
        ("stop=null", r"stop: "),
        ("stop={}", r"say when to stop: epochs, words or minutes"),
        ("optimizer.rate", r"-o optimizer\.rate: expected key\.path=value"),
        ("seed.x=1", r"-o seed\.x=1: seed is a value, not a section"),
    ],
)
def test_a_wrong_key_or_value_is_named_with_what_is_allowed(tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises(TrainingConfigError, match=message):
        read(tmp_path, override)


def test_a_rate_that_falls_to_zero_needs_an_end_in_words(tmp_path: Path) -> None:
    with pytest.raises(TrainingConfigError, match=r"needs stop\.words or stop\.epochs"):
        read(tmp_path, "optimizer.schedule=cosine", "stop={minutes: 5}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", r":1: not valid YAML: "),
        ("a: 1\na: 2", r":2: not valid YAML: the key 'a' stands twice"),
        ("- a", r": expected keys such as name, out, text, stop; found a list"),
        ("", r": expected keys such as name, out, text, stop; found an empty file"),
    ],
)
def test_a_file_that_is_no_configuration_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TrainingConfigError, match=rf"bad\.yaml{message}"):
        read_training_config(path)
    with pytest.raises(TrainingConfigError, match=r"none\.yaml: cannot be read"):
        read_training_config(tmp_path / "none.yaml")


def test_changed_keys_names_each_difference() -> None:
    old = {"a": {"b": 1, "c": [2]}, "d": None}
    assert changed_keys(old, {"a": {"b": 1, "c": [3]}, "e": 4}) == ["a.c: [2] -> [3]", "e: None -> 4"]
    assert changed_keys(old, old) == []
