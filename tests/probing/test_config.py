"""The YAML of an experiment: what is allowed, what is filled in, and what a mistake is told."""

from pathlib import Path

import pytest
import yaml

from probing.config import ExperimentError, dump_experiment, load_experiment

GOOD = """
name: toy
tasks:
  - {task: pos, corpus: ud-english-ewt}
encoders:
  - {bilm: some/model}
  - {bilm: elmo-small, untrained: [0, 1]}
probes: [majority, linear]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "toy.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_are_filled_in_and_kept_with_the_results(tmp_path: Path) -> None:
    config = load_experiment(written(tmp_path, GOOD))
    resolved = yaml.safe_load(dump_experiment(config))
    assert resolved["tasks"] == [{"task": "pos", "corpus": "ud-english-ewt", "column": "upos", "label": None}]
    assert resolved["views"] == ["layers", "mean", "concat"]
    assert resolved["bootstrap"] == {"samples": 10_000, "confidence": 0.95, "seed": 0}
    assert resolved["probes"][1]["probe"] == "linear"
    assert len(resolved["probes"][1]["penalties"]) == 5


def test_the_resolved_config_is_a_config_that_means_the_same(tmp_path: Path) -> None:
    config = load_experiment(written(tmp_path, GOOD))
    assert load_experiment(written(tmp_path, dump_experiment(config))) == config


def test_an_override_reaches_into_lists_and_is_read_as_yaml(tmp_path: Path) -> None:
    overrides = ["tasks.0.column=xpos", "encoders.1.untrained=[5]", "bootstrap.samples=20", "name=other"]
    config = load_experiment(written(tmp_path, GOOD), overrides)
    assert config.name == "other"
    assert config.tasks[0].name == "pos-xpos"
    assert config.encoders[1].seeds == (5,)
    assert config.bootstrap.samples == 20


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("probes:", "probe:", "probe: unknown key; did you mean probes"),
        ("corpus:", "corpsu:", "corpsu: unknown key; did you mean corpus"),
        ("untrained:", "untraind:", "untraind: unknown key; did you mean untrained"),
        ("task: pos", "task: pso", "unknown task 'pso': did you mean pos?"),
        ("linear]", "linaer]", "unknown probe 'linaer': did you mean linear?"),
        ("bilm: some/model", "bert: some/model", "expected {KIND: MODEL, ...} with one of bilm"),
        ("untrained: [0, 1]", "untrained: [a]", "encoders.1.untrained.0"),
        ("untrained: [0, 1]", "untrained: []", "encoders.1.untrained"),
        ("untrained: [0, 1]", "untrained: [true]", "encoders.1.untrained.0"),
        ("untrained: [0, 1]", f"untrained: [{10**23}]", "encoders.1.untrained.0"),
        ("task: pos", "task: [pos]", "unknown task"),
        ("name: toy", "name: 2001-99-99", "not valid YAML"),
        ("name: toy", "name: toy\n? [a, b]\n: 1", "is no text"),
        ("name: toy", "name: toy\nviews: []", "views"),
        ("linear]", "control]", "probes: control builds on linear, which must be among the probes too"),
        ("linear]", "{probe: linear}, {probe: mlp, seeds: [1, 1]}]", "probes.2.seeds"),
        ("name: toy", "name: toy\ntrain_percent: [10, 10.0, 100]", "train_percent: '10' stands twice"),
        ("name: toy", "name: toy\ntrain_percent: [0]", "train_percent.0"),
        ("name: toy", "name: toy\ntrain_percent: [99.99999]", "train_percent.0: 99.99999 has more than six digits"),
        ("name: toy", "name: toy\ntrain_percent: [101]", "train_percent.0"),
        ("name: toy", "name: toy\npublished: table55", "did you mean table5-wsd?"),
        ("name: toy", "name: toy\nviews: ['٠']", "unknown view"),
        ("name: toy", "name: toy\nbootstrap: {samples: 1000000000000}", "bootstrap.samples"),
        ("name: toy", 'name: toy\nquestion: "\\ud800"', "lone surrogate"),
        ("majority, linear", "majority, {probe: linear, penalties: [.inf]}", "probes.1.penalties.0"),
        ("bilm: some/model", 'bilm: some/model, name: "a|b"', "encoders.0.name"),
        ("untrained: [0, 1]", "untrained: [3, 3]", "the same seed is the same network"),
        ("name: toy", "name: ../toy", "name"),
        ("ud-english-ewt}", "ud-english-ewt, column: form}", "tasks.0.column"),
        ("majority, linear", "linear, linear", "probes: 'linear' stands twice"),
        ("name: toy", "name: toy\nviews: [top]", "unknown view 'top'"),
        ("name: toy", "name: toy\nname: toy", "the key 'name' stands twice"),
        ("name: toy", "name: [toy", "not valid YAML"),
        ("name: toy", "name: !!python/name:os.system", "not valid YAML"),
    ],
)
def test_a_mistake_is_one_line_that_names_file_and_key(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in GOOD
    with pytest.raises(ExperimentError) as caught:
        load_experiment(written(tmp_path, GOOD.replace(old, new, 1)))
    assert str(tmp_path / "toy.yaml") in str(caught.value)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_merge_key_works_as_in_any_yaml(tmp_path: Path) -> None:
    merged = GOOD.replace(
        "{task: pos, corpus: ud-english-ewt}", "{<<: {task: pos, column: xpos}, corpus: ud-english-ewt}"
    )
    assert load_experiment(written(tmp_path, merged)).tasks[0].name == "pos-xpos"


def test_a_probe_that_reads_vectors_needs_an_encoder(tmp_path: Path) -> None:
    start, end = GOOD.index("encoders:"), GOOD.index("probes:")
    with pytest.raises(ExperimentError, match="needs at least one encoder"):
        load_experiment(written(tmp_path, GOOD[:start] + GOOD[end:]))


@pytest.mark.parametrize(
    "override", ["name", "=x", "tasks.7.column=xpos", "name.first=x", "tasks.x=1", "name=[unclosed"]
)
def test_an_override_that_fits_nowhere_is_named(tmp_path: Path, override: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        load_experiment(written(tmp_path, GOOD), [override])
    assert f"-o {override}" in str(caught.value) or "toy.yaml" in str(caught.value)


def test_a_missing_file_and_a_file_that_is_no_mapping_are_named(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"none\.yaml: cannot be read"):
        load_experiment(tmp_path / "none.yaml")
    with pytest.raises(ExperimentError, match="expected keys such as name"):
        load_experiment(written(tmp_path, "- just\n- a list\n"))
    with pytest.raises(ExperimentError, match="expected keys such as name"):
        load_experiment(written(tmp_path, ""))


def test_every_shipped_experiment_is_a_valid_config() -> None:
    paths = sorted((Path(__file__).parents[2] / "experiments").glob("*.yaml"))
    assert {path.name for path in paths} >= {"pos-ewt.yaml", "pos-wsj.yaml"}
    for path in paths:
        assert load_experiment(path).name == path.stem
