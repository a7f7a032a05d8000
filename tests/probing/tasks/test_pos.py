"""Part-of-speech tagging: every token is an example, with the label of the column that was asked for."""

from pathlib import Path

import numpy as np
import pytest

from probing.corpora import CorpusError
from probing.tasks import PosTask, TaskError
from tests.probing import toy_senses
from tests.probing.toy import write_treebank


def test_every_token_is_an_example_with_the_label_of_its_column(tmp_path: Path) -> None:
    files = write_treebank(tmp_path, {"train": 2, "dev": 1, "test": 1})
    splits = PosTask(corpus=files, column="xpos").load()
    examples = splits["train"].examples
    assert [example.labels for example in examples[:4]] == [("DE",), ("NO",), ("VE",), ("PU",)]
    assert [(e.sentence, e.start, e.stop) for e in examples[2:6]] == [(0, 2, 3), (0, 3, 4), (1, 0, 1), (1, 1, 2)]
    assert [example.form for example in examples[:4]] == list(splits["train"].sentences[0].tokens)


def test_subsets_are_forms_with_several_labels_in_train_and_forms_that_train_lacks(tmp_path: Path) -> None:
    words = {
        "train": ["saw NOUN", "saw VERB", "goose NOUN"],
        "dev": ["goose NOUN"],
        "test": ["saw VERB", "Saw VERB", "goose NOUN"],
    }
    rest = "_\t" * 5 + "_"
    texts = {
        split: "".join(f"{i}\t{word.split()[0]}\t_\t{word.split()[1]}\t{rest}\n" for i, word in enumerate(pairs, 1))
        + "\n"
        for split, pairs in words.items()
    }
    files = {}
    for split, text in texts.items():
        (tmp_path / f"{split}.conllu").write_text(text, encoding="utf-8")
        files[split] = str(tmp_path / f"{split}.conllu")
    splits = PosTask(corpus=files).load()
    found = PosTask(corpus=files).subsets(splits["train"], splits["test"])
    assert found["all"].tolist() == [True, True, True]
    assert found["ambiguous"].tolist() == [True, False, False]
    assert found["unseen"].tolist() == [False, True, False]  # forms are case-sensitive


def test_a_column_without_annotation_is_named_with_its_place(tmp_path: Path) -> None:
    files = write_treebank(tmp_path)
    path = Path(files["dev"])
    path.write_text(path.read_text(encoding="utf-8").replace("\tVERB\t", "\t_\t", 1), encoding="utf-8")
    with pytest.raises(TaskError, match=r"dev\.conllu:1 \(sentence dev-0\): token 3 \(\w+\) has no upos"):
        PosTask(corpus=files).load()


def test_a_corpus_of_ones_own_needs_all_three_splits(tmp_path: Path) -> None:
    files = write_treebank(tmp_path)
    del files["dev"]
    with pytest.raises(CorpusError, match="no dev file"):
        PosTask(corpus=files).check()


def test_hashes_tell_other_words_other_spans_and_other_labels_apart(tmp_path: Path) -> None:
    files = write_treebank(tmp_path)
    upos, xpos = (PosTask(corpus=files, column=column).load()["train"] for column in ("upos", "xpos"))
    assert upos.content == xpos.content
    assert upos.annotated_content != xpos.annotated_content
    path = Path(files["train"])
    path.write_text(path.read_text(encoding="utf-8").replace("goose", "geese", 1), encoding="utf-8")
    assert PosTask(corpus=files).load()["train"].content != upos.content


@pytest.mark.real_data
def test_ewt_has_the_published_share_of_ambiguous_and_unseen_word_forms(data_dir: Path) -> None:
    task = PosTask(corpus="ud-english-ewt")
    splits = task.load()
    shares = {name: np.mean(members) for name, members in task.subsets(splits["train"], splits["dev"]).items()}
    assert 100 * shares["ambiguous"] == pytest.approx(53.7, abs=0.05)
    assert 100 * shares["unseen"] == pytest.approx(100 - 91.70, abs=0.005)
    unseen_in_test = np.mean(task.subsets(splits["train"], splits["test"])["unseen"])
    assert 100 * unseen_in_test == pytest.approx(100 - 90.87, abs=0.005)


def test_a_file_without_the_column_is_refused_by_name(tmp_path: Path) -> None:
    files = toy_senses.write_senses(tmp_path)
    with pytest.raises(TaskError, match=r"train\.data\.xml:\d+ .*: this file has no upos"):
        PosTask(corpus=files).load()
