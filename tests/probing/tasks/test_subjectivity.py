"""Subjectivity: one example a sentence, the facts of the corpus, and the road to the results."""

from collections import Counter
from pathlib import Path

import pytest

from probing.config import ExperimentConfig
from probing.corpora import SPLITS, CorpusError
from probing.environment import describe_data
from probing.experiment import run_experiment
from probing.features import FeatureStore
from probing.tasks import SubjectivityTask
from tests.probing.corpora.test_subjectivity import write
from tests.probing.toy import save_network, write_treebank


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SubjectivityTask:
    """Return the task, on a toy corpus."""
    monkeypatch.setenv("PROBING_DATA", str(tmp_path))
    write(tmp_path / "nltk_data" / "corpora" / "subjectivity")
    return SubjectivityTask()


def test_every_sentence_is_one_example_over_all_its_tokens(task: SubjectivityTask) -> None:
    splits = task.load()
    assert [(e.sentence, e.start, e.stop, e.labels, e.form) for e in splits["dev"].examples[:2]] == [
        (0, 0, 4, ("subjective",), "good film 9 ."),
        (1, 0, 4, ("objective",), "a man 9 ."),
    ]
    assert {e.group for split in SPLITS for e in splits[split].examples} == {None}
    assert list(task.subsets(splits["train"], splits["test"])) == ["all"]


def test_a_corpus_that_is_not_here_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBING_DATA", str(tmp_path))
    where = tmp_path / "nltk_data" / "corpora" / "subjectivity"
    with pytest.raises(CorpusError, match=rf"fetch subjectivity; .* into {where}\."):
        SubjectivityTask().check()


def test_the_mean_of_a_sentence_is_read_and_baselines_of_word_forms_are_left_out(
    task: SubjectivityTask, tmp_path: Path
) -> None:
    values = {
        "name": "toy",
        # Of word forms is the second task alone.
        "tasks": [{"task": "subjectivity"}, {"task": "pos", "corpus": write_treebank(tmp_path / "treebank")}],
        "encoders": [{"bilm": save_network(tmp_path / "tiny")}],
        "probes": [
            "majority",
            "type-majority",
            {"probe": "linear", "penalties": [0.001]},
            {"probe": "control", "draws": 1},
            "mix",
        ],
        "bootstrap": {"samples": 20},
    }
    config = ExperimentConfig.model_validate(values)
    rows = run_experiment(config, tmp_path / "results", store=FeatureStore(tmp_path / "cache")).rows
    own = rows[rows["task"] == "subjectivity"]
    assert set(own["probe"]) == {"majority", "linear", "mix"}
    assert {"type-majority", "control"} < set(rows["probe"])
    assert set(own["subset"]) == {"all"}
    score = own[(own["split"] == "test") & (own["metric"] == "accuracy")].set_index(["probe", "view"])["value"]
    assert score["majority", ""] == 0.5
    assert score["linear", "0"] == 1  # other words in either class
    assert (tmp_path / "results/toy/report.html").is_file()


@pytest.mark.real_data
def test_half_of_ten_thousand_sentences_are_of_either_class_and_none_is_in_two_splits(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROBING_DATA", str(data_dir))
    task = SubjectivityTask()
    splits = task.load()
    about = {split: (len(splits[split].examples), Counter(splits[split].labels.tolist())) for split in SPLITS}
    assert about == {
        split: (size, {"subjective": size // 2, "objective": size // 2})
        for split, size in (("train", 8000), ("dev", 1000), ("test", 1000))
    }
    words = [sum(len(sentence.tokens) for sentence in splits[split].sentences) for split in SPLITS]
    assert words == [192_682, 23_716, 24_177]
    assert [len(sentence.tokens) for sentence in splits["train"].sentences[:4]] == [14, 20, 22, 42]
    lengths = [len(sentence.tokens) for split in SPLITS for sentence in splits[split].sentences]
    assert (min(lengths), max(lengths)) == (10, 120)
    assert describe_data(task, splits)["sentences_also_in_train"] == {"dev": 0, "test": 0}
