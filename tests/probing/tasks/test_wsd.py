"""Word senses and supersenses: which targets are examples, what competes, and the published baselines."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from probing.corpora import CorpusError
from probing.journal import correct
from probing.probes import ProbeConfig, Problem
from probing.probes.first_sense import FirstSenseConfig, MostFrequentSenseConfig
from probing.tasks import CoarseWsdTask, Split, SupersenseTask, TaskError, WsdTask
from tests.probing import toy_senses as toy


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("PROBING_DATA", str(tmp_path))
    return toy.write_senses(tmp_path)


def test_a_target_competes_with_the_senses_of_its_lemma_and_part_of_speech(files: dict[str, str]) -> None:
    test = WsdTask.model_validate(files).load()["test"]
    assert [(e.group, e.candidates) for e in test.examples] == [
        ("bank.NOUN", (toy.SIDE, toy.MONEY)),  # in the order of WordNet's sense numbers
        ("goose.NOUN", (toy.GOOSE,)),
        ("bank.VERB", (toy.DEPOSIT,)),
        ("take_part.VERB", (toy.JOIN,)),
        ("quark.NOUN", ()),
    ]


def test_a_target_of_several_words_spans_all_of_them_and_sentences_without_targets_shift_nothing_P54(
    files: dict[str, str],
) -> None:
    examples = WsdTask.model_validate(files).load()["test"].examples
    assert [(e.sentence, e.start, e.stop) for e in examples] == [(1, 1, 2), (1, 4, 5), (2, 1, 2), (3, 1, 3), (4, 1, 2)]
    assert examples[3].form == "take part"


def test_satellites_are_adjectives_and_every_gold_key_is_kept(files: dict[str, str]) -> None:
    example = WsdTask.model_validate(files).load()["train"].examples[-1]
    assert (example.group, example.candidates) == ("hot.ADJ", (toy.HOT, toy.EAGER))
    assert example.labels == (toy.EAGER, toy.HOT)


def test_a_training_target_without_a_sense_of_the_dictionary_is_left_out_and_counted(
    files: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    text: list[list[toy.Word]] = [*toy.TRAIN, ["an", ("old", "old", "ADJ", "old%3:00:07::"), "key"]]
    toy.write_framework(Path(files["train"]), text)
    train = WsdTask.model_validate(files).load()["train"]
    assert "old.ADJ" not in {example.group for example in train.examples}
    assert "1 of 10 training targets have no sense of the inventory" in caplog.text


def test_a_gold_sense_that_the_dictionary_lacks_is_listed_and_stays_in_the_denominator_P58(
    files: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    assert len(WsdTask.model_validate(files).load()["test"].examples) == 5
    assert "test: 1 gold senses are not in the inventory, so unreachable: quark%1:09:00::" in caplog.text


def test_another_version_of_the_dictionary_is_refused_P49(files: dict[str, str]) -> None:
    index = Path(files["train"]).with_name("wordnet-3.0") / "index.sense"
    index.write_text("bank%1:99:00:: 00000001 1 20\n", encoding="utf-8")
    with pytest.raises(TaskError, match="another version of WordNet"):
        WsdTask.model_validate(files).load()


def test_without_a_dictionary_candidates_are_the_senses_of_train_by_frequency_P50(
    files: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    splits = WsdTask.model_validate(files | {"inventory": None}).load()
    assert [e.candidates for e in splits["test"].examples][:3] == [(toy.MONEY, toy.SIDE), (toy.GOOSE,), ()]
    assert "candidates are the senses that train has" in caplog.text


def test_subsets_are_parts_of_speech_first_senses_and_unseen_lemmas(files: dict[str, str]) -> None:
    task = WsdTask.model_validate(files)
    splits = task.load()
    found = {name: members.tolist() for name, members in task.subsets(splits["train"], splits["test"]).items()}
    assert found["nouns"] == [True, True, False, False, True]
    assert found["verbs"] == [False, False, True, True, False]
    assert found["polysemous"] == [True, False, False, False, False]
    assert found["first-sense"] == [False, True, True, True, False]
    assert found["other-sense"] == [True, False, False, False, True]
    assert found["unseen lemma"] == [False, False, True, False, True]


def test_supersenses_are_read_off_the_keys_of_nouns_and_verbs(files: dict[str, str]) -> None:
    splits = SupersenseTask.model_validate(files).load()
    assert [e.labels for e in splits["test"].examples] == [
        ("noun.group",),
        ("noun.animal",),
        ("verb.possession",),
        ("verb.social",),
        ("noun.cognition",),
    ]
    assert len(splits["train"].examples) == 7, "adjectives have no supersense"


def test_dev_is_not_tested_on(data_dir: Path) -> None:
    with pytest.raises(TaskError, match="semeval2015 is dev"):
        WsdTask(dev="semeval2015").check()


@pytest.mark.real_data
def test_a_set_that_the_benchmark_lacks_is_named_with_those_it_has(data_dir: Path) -> None:
    with pytest.raises(TaskError, match="no set senseval9; it has senseval2, senseval3"):
        WsdTask(test_sets=("senseval9",)).check()


def test_a_missing_corpus_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBING_DATA", str(tmp_path))
    with pytest.raises(CorpusError, match=r"semcor3\.0.*\n.*Get it by: probing data fetch semcor3"):
        WsdTask().check()


def right(split: Split, probe: ProbeConfig, train: Split) -> NDArray[np.bool_]:
    """Tell which answers of a baseline are right."""
    estimator = probe.fit([Problem(train, split, None, {})], train.forms, split.forms)[0]
    return correct(split, probe.answer(estimator, split.forms, split).labels)


def percent(shares: NDArray[np.bool_]) -> float:
    return round(100 * float(np.mean(shares)), 2)


@pytest.mark.real_data
def test_the_first_sense_has_the_published_f1_on_every_set(data_dir: Path) -> None:
    task = WsdTask()
    splits = task.load()
    train = splits["train"]
    assert len(train.examples) == 226_036
    assert percent(right(splits["dev"], FirstSenseConfig(), train)) == 55.16
    test = right(splits["test"], FirstSenseConfig(), train)
    assert percent(test) == 65.86
    published = {"senseval2": 66.78, "senseval3": 66.22, "semeval2013": 62.96, "semeval2015": 67.81}
    found = task.subsets(train, splits["test"])
    assert {name: percent(test[found[name]]) for name in published} == published
    assert [int(found[name].sum()) for name in published] == [2282, 1850, 1644, 1022]
    everything = np.concatenate([test, right(splits["dev"], FirstSenseConfig(), train)])
    assert (len(everything), percent(everything)) == (7253, 65.19)


@pytest.mark.real_data
def test_coarsewsd_has_its_published_most_frequent_sense(data_dir: Path) -> None:
    task = CoarseWsdTask()
    splits = task.load()
    assert [len(splits[name].examples) for name in ("train", "dev", "test")] == [23_370 - 2_329, 2_329, 10_196]
    test = right(splits["test"], MostFrequentSenseConfig(), splits["train"])
    assert percent(test) == 73.43
    found = task.subsets(splits["train"], splits["test"])
    nouns = [noun for noun in found if noun not in ("all", "first-sense", "other-sense")]
    assert len(nouns) == 20
    assert round(100 * float(np.mean([test[found[noun]].mean() for noun in nouns])), 2) == 66.48
