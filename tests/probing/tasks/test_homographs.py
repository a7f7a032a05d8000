"""Homographs: which token is the example, what competes, the exact baseline, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from probing.config import ExperimentConfig
from probing.corpora import SPLITS, CorpusError
from probing.journal import correct
from probing.probes import Problem
from probing.probes.first_sense import MostFrequentSenseConfig
from probing.tasks import HomographsTask, PosTask, TaskError

Word = tuple[str, str, str, str]
"""Form, lemma, part of speech, MISC."""

TRAIN: list[list[Word]] = [
    [("the", "_", "DET", "_"), ("bank", "bank", "NOUN", "Sense=bank.river|SpaceAfter=No"), (".", "_", "PUNCT", "_")],
    [("banks", "bank", "NOUN", "Gloss=x|Sense=bank.money"), ("lend", "_", "VERB", "_")],
    [("banks", "bank", "NOUN", "Sense=bank.money"), ("lent", "_", "VERB", "_")],
    [("they", "_", "PRON", "_"), ("bank", "bank", "VERB", "Sense=bank.turn")],
    [("we", "_", "PRON", "_"), ("bank", "bank", "VERB", "Sense=bank.rely")],
]
OTHER: list[list[Word]] = [
    [("a", "_", "DET", "_"), ("bank", "bank", "NOUN", "Sense=bank.river")],
    [("planes", "_", "NOUN", "_"), ("bank", "bank", "VERB", "Sense=bank.turn")],
    [("a", "_", "DET", "_"), ("crane", "crane", "NOUN", "Sense=crane.bird")],
]


def write(path: Path, sentences: list[list[Word]]) -> str:
    blocks = [
        f"# sent_id = s{number}\n"
        + "".join(
            f"{position}\t{form}\t{lemma}\t{tag}\t_\t_\t_\t_\t_\t{misc}\n"
            for position, (form, lemma, tag, misc) in enumerate(words, start=1)
        )
        for number, words in enumerate(sentences)
    ]
    path.write_text("\n".join(blocks), encoding="utf-8")
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    texts = {"train": TRAIN, "dev": OTHER, "test": OTHER}
    return {split: write(tmp_path / f"{split}.conllu", text) for split, text in texts.items()}


def test_the_one_marked_token_competes_with_the_senses_of_its_lemma_and_part_of_speech(files: dict[str, str]) -> None:
    splits = HomographsTask(corpus=files).load()
    assert [(e.sentence, e.start, e.stop, e.form, e.labels) for e in splits["train"].examples] == [
        (0, 1, 2, "bank", ("bank.river",)),
        (1, 0, 1, "banks", ("bank.money",)),
        (2, 0, 1, "banks", ("bank.money",)),
        (3, 1, 2, "bank", ("bank.turn",)),
        (4, 1, 2, "bank", ("bank.rely",)),
    ]
    assert [(e.group, e.candidates) for e in splits["test"].examples] == [
        ("bank.NOUN", ("bank.money", "bank.river")),  # by frequency in train
        ("bank.VERB", ("bank.rely", "bank.turn")),  # as frequent: by name
        ("crane.NOUN", ()),  # train has no such word
    ]


def test_subsets_are_the_parts_of_speech_where_there_are_several(files: dict[str, str]) -> None:
    task = HomographsTask(corpus=files)
    splits = task.load()
    found = {name: members.tolist() for name, members in task.subsets(splits["train"], splits["test"]).items()}
    assert found == {"all": [True] * 3, "nouns": [True, False, True], "verbs": [False, True, False]}
    alone = splits["test"].of_sentences([0])[0]
    assert list(task.subsets(splits["train"], alone)) == ["all"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([("a", "_", "DET", "_"), ("bank", "bank", "NOUN", "_")], "here none has"),
        ([("bank", "bank", "NOUN", "Sense=a"), ("b", "b", "NOUN", "Sense=b")], r"here 1 \(bank\), 2 \(b\) have"),
        ([("bank", "bank", "NOUN", "Sense=a|Sense=b")], r"here 1 \(bank\), 1 \(bank\) have"),
        ([("bank", "bank", "NOUN", "Sense=")], r"token 1 \(bank\) has no sense"),
        ([("bank", "_", "NOUN", "Sense=a")], r"token 1 \(bank\) has no lemma"),
        ([("bank", "bank", "_", "Sense=a")], r"token 1 \(bank\) has no upos"),
        ([("crane", "crane", "NOUN", "Sense=bank.river")], r"bank\.river is of bank\.NOUN and of crane\.NOUN"),
    ],
)
def test_a_sentence_that_is_no_example_is_an_error_naming_file_line_and_sentence(
    files: dict[str, str], words: list[Word], problem: str
) -> None:
    write(Path(files["test"]), [OTHER[0], words])
    with pytest.raises(TaskError, match=rf"test\.conllu:5 \(sentence s1\): .*{problem}"):
        HomographsTask(corpus=files).load()


def test_a_corpus_without_senses_or_without_a_split_is_refused(files: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no dev and no test file is named"):
        HomographsTask(corpus={"train": files["train"]}).check()
    path = tmp_path / "mine.data.xml"
    path.write_text("<corpus><sentence><wf>Rain</wf></sentence></corpus>", encoding="utf-8")
    (tmp_path / "mine.gold.key.txt").write_text("", encoding="utf-8")
    with pytest.raises(TaskError, match="read from CoNLL-U"):
        HomographsTask(corpus=files | {"test": str(path)}).load()


def test_the_most_frequent_sense_of_the_shipped_corpus_is_right_exactly_half_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PROBING_DATA", "/nowhere")
    splits = HomographsTask().load()
    assert [len(splits[split].examples) for split in SPLITS] == [960, 288, 672]
    assert {len(example.candidates) for split in SPLITS for example in splits[split].examples} == {2}
    train, test = splits["train"], splits["test"]
    probe = MostFrequentSenseConfig()
    (estimator,) = probe.fit([Problem(train, splits["dev"], None, {})], train.forms, test.forms)
    assert np.mean(correct(test, probe.answer(estimator, test.forms, test).labels)) == 0.5


def test_parts_of_speech_of_the_shipped_corpus_are_the_task_pos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBING_DATA", "/nowhere")
    splits = PosTask(corpus="homographs").load()
    assert [len(splits[split].examples) for split in SPLITS] == [12_172, 3_690, 8_495]


def test_a_config_can_name_it() -> None:
    values = {"name": "x", "tasks": [{"task": "homographs"}], "probes": ["most-frequent-sense"]}
    assert ExperimentConfig.model_validate(values).tasks == (HomographsTask(),)
