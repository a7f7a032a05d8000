"""Corpora by name and by file, what is said when they are missing, and sentences that two splits share."""

from pathlib import Path

import platformdirs
import pytest

from probing.corpora.registry import (
    CORPORA,
    DICTIONARY,
    FORMATS,
    SPLITS,
    corpus_files,
    data_folder,
    duplicate_sentences,
    find_corpus,
    load_split,
)
from probing.corpora.sentence import CorpusError, Sentence


def conllu(*sentences: str) -> str:
    rows = (
        "".join(f"{i}\t{form}" + "\t_" * 8 + "\n" for i, form in enumerate(sentence.split(), start=1))
        for sentence in sentences
    )
    return "\n".join(rows)


def toy(*sentences: str) -> list[Sentence]:
    return [Sentence(str(i), tuple(text.split()), {}, "toy", i) for i, text in enumerate(sentences)]


@pytest.fixture
def own_files(tmp_path: Path) -> dict[str, str]:
    """Write a user's own corpus: two sentences to train on and one to test on."""
    (tmp_path / "a.conllu").write_text(conllu("Rain fell", "Snow melts"), encoding="utf-8")
    (tmp_path / "b.conllu").write_text(conllu("Hail fell"), encoding="utf-8")
    return {"train": str(tmp_path / "a.conllu"), "test": str(tmp_path / "b.conllu")}


def test_the_folder_is_probing_data_where_it_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBING_DATA", "~/corpora")
    assert data_folder() == Path.home() / "corpora"


def test_the_folder_is_the_users_data_directory_where_probing_data_is_empty_or_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = platformdirs.user_data_path("layer-probing")
    monkeypatch.setenv("PROBING_DATA", "")
    assert data_folder() == expected
    monkeypatch.delenv("PROBING_DATA")
    assert data_folder() == expected


@pytest.mark.parametrize("name", CORPORA)
def test_every_registered_corpus_has_a_reader_splits_a_licence_and_a_source(name: str) -> None:
    corpus = CORPORA[name]
    assert corpus.name == name
    assert corpus.format in (*FORMATS, DICTIONARY)
    assert corpus.files
    assert all(f"{file}/".startswith(f"{corpus.folder}/") for file in corpus.files.values())
    assert Path(corpus.folder).name == name
    assert corpus.licence and corpus.description and corpus.size
    assert corpus.shipped or corpus.source.startswith(("https://", "http://"))


def test_treebanks_have_three_splits_and_other_corpora_those_that_they_were_published_with() -> None:
    assert {name: tuple(corpus.files) for name, corpus in CORPORA.items()} == {
        "ud-english-ewt": SPLITS,
        "wsj-sample": SPLITS,
        "semcor3.0": ("train",),
        "wsd-evaluation-framework": ("senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015"),
        "coarsewsd-20": ("train", "test"),
        "wordnet-3.0": ("index",),
        "subjectivity": SPLITS,
        "homographs": SPLITS,
    }


def test_an_unknown_name_offers_the_nearest_names() -> None:
    with pytest.raises(CorpusError, match=r"^unknown corpus 'ud-english-etw'; did you mean ud-english-ewt\?$"):
        find_corpus("ud-english-etw")


def test_an_unknown_name_that_is_near_nothing_lists_all_names() -> None:
    with pytest.raises(CorpusError, match=r"^unknown corpus '42'; known are ud-english-ewt, wsj-sample"):
        corpus_files("42")


def test_a_missing_corpus_says_where_it_was_looked_for_how_to_get_it_and_what_names_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROBING_DATA", str(tmp_path))
    with pytest.raises(CorpusError) as error:
        corpus_files("ud-english-ewt")
    message = str(error.value)
    assert str(tmp_path / "ud-english-ewt" / "en_ewt-ud-train.conllu") in message
    assert "https://github.com/UniversalDependencies/UD_English-EWT (CC BY-SA 4.0)" in message
    assert "PROBING_DATA" in message
    assert message.count("\n") == 1


def test_a_registered_corpus_lies_in_the_folder_under_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBING_DATA", str(tmp_path))
    (tmp_path / "wsj-sample").mkdir()
    for split in SPLITS:
        (tmp_path / "wsj-sample" / f"wsj-sample-{split}.conllu").write_text(conllu(f"{split} !"), encoding="utf-8")
    assert corpus_files("wsj-sample")["dev"] == tmp_path / "wsj-sample" / "wsj-sample-dev.conllu"
    assert [sentence.tokens for sentence in load_split("wsj-sample", "dev")] == [("dev", "!")]


def test_a_split_may_be_a_folder_that_holds_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBING_DATA", str(tmp_path))
    noun = tmp_path / "coarsewsd-20" / "bank"
    noun.mkdir(parents=True)
    (noun / "classes_map.txt").write_text('{"0": "bank_money"}', encoding="utf-8")
    for split in ("train", "test"):
        (noun / f"{split}.data.txt").write_text(f"1\t{split} bank\n", encoding="utf-8")
        (noun / f"{split}.gold.txt").write_text("0\n", encoding="utf-8")
    assert [sentence.tokens for sentence in load_split("coarsewsd-20", "test")] == [("test", "bank")]
    assert corpus_files("coarsewsd-20")["train"] == tmp_path / "coarsewsd-20"


def test_a_dictionary_has_a_file_but_no_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBING_DATA", str(tmp_path))
    with pytest.raises(
        CorpusError,
        match=r"^corpus 'wordnet-3\.0': there is no index file .*\nGet it by: probing data fetch wordnet-3\.0; ",
    ):
        corpus_files("wordnet-3.0")
    (tmp_path / "wordnet-3.0").mkdir()
    (tmp_path / "wordnet-3.0" / "index.sense").write_text("", encoding="utf-8")
    assert corpus_files("wordnet-3.0") == {"index": tmp_path / "wordnet-3.0" / "index.sense"}
    with pytest.raises(CorpusError, match=r"^'wordnet-3\.0' is a dictionary and has no sentences: .* inventory$"):
        load_split("wordnet-3.0", "index")


def test_a_users_own_file_is_read_by_its_name(tmp_path: Path, own_files: dict[str, str]) -> None:
    path = tmp_path / "mine.data.xml"
    path.write_text('<corpus><sentence><instance id="i">Rain</instance></sentence></corpus>', encoding="utf-8")
    (tmp_path / "mine.gold.key.txt").write_text("i rain%1:19:00::\n", encoding="utf-8")
    corpus = own_files | {"dev": str(path)}
    assert load_split(corpus, "dev")[0].columns["senses"] == ("rain%1:19:00::",)
    assert load_split(corpus, "test")[0].columns["upos"] == ("_", "_")


def test_a_users_own_files_are_a_corpus(own_files: dict[str, str]) -> None:
    assert corpus_files(own_files) == {split: Path(file) for split, file in own_files.items()}
    assert [sentence.tokens for sentence in load_split(own_files, "train")] == [("Rain", "fell"), ("Snow", "melts")]
    assert [sentence.source for sentence in load_split(own_files, "test")] == [own_files["test"]]


def test_a_missing_file_of_a_user_is_named_with_its_split(own_files: dict[str, str]) -> None:
    with pytest.raises(CorpusError, match=r"^corpus of your own: there is no dev file nowhere\.conllu$"):
        corpus_files(own_files | {"dev": "nowhere.conllu"})


@pytest.mark.parametrize("corpus", [{}, {"training": "a.conllu"}])
def test_a_mapping_without_splits_or_with_a_split_of_another_name_is_an_error(corpus: dict[str, str]) -> None:
    with pytest.raises(CorpusError, match="for some of train, dev, test"):
        corpus_files(corpus)


def test_a_split_that_a_corpus_lacks_is_an_error_that_lists_those_it_has(own_files: dict[str, str]) -> None:
    with pytest.raises(CorpusError, match=r"^no split 'dev' in this corpus; it has train, test$"):
        load_split(own_files, "dev")


def test_shared_sentences_are_counted_by_tokens_case_and_length_P43() -> None:
    train = toy("Thanks !", "We saw the long rain .", "Never seen")
    other = toy("Thanks !", "thanks !", "We saw the long rain .", "Thanks !", "Thanks", "New")
    assert duplicate_sentences(train, other) == 3
    assert duplicate_sentences(train, other, min_tokens=3) == 1
    assert duplicate_sentences(train, []) == duplicate_sentences([], other) == 0


@pytest.mark.real_data
def test_ewt_train_shares_94_sentences_with_test_and_68_with_dev_P43(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROBING_DATA", str(data_dir))
    train, dev, test = (load_split("ud-english-ewt", split) for split in SPLITS)
    assert duplicate_sentences(train, test) == 94
    assert duplicate_sentences(train, test, min_tokens=5) == 3
    assert duplicate_sentences(train, dev) == 68
    # 810 is the number of sentences that repeat an earlier one, token for token and case-sensitively; counted with
    # their first occurrences they are 1,236, and by the `# text` comment 809.
    assert len(train) - len({sentence.tokens for sentence in train}) == 810


@pytest.mark.real_data
def test_every_registered_file_is_where_the_registry_says(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBING_DATA", str(data_dir))
    for name, corpus in CORPORA.items():
        assert set(corpus_files(name)) == set(corpus.files)


def test_a_data_folder_that_is_a_file_is_said_and_stops_no_corpus_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("PROBING_DATA", str(tmp_path / "file"))
    with pytest.raises(CorpusError, match=r"PROBING_DATA=.*/file: is no folder"):
        corpus_files("ud-english-ewt")
    assert set(corpus_files("homographs")) == {"train", "dev", "test"}
