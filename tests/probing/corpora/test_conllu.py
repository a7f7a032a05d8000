"""The CoNLL-U reader: what is a word, what is a sentence, what is an error, and that not one character is changed."""

import hashlib
import io
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probing.corpora.conllu import COLUMNS, read_conllu
from probing.corpora.sentence import CorpusError, Sentence

TOY = """\
# newdoc id = weather
# sent_id = w-1
# text = I don't mind rain.
1\tI\tI\tPRON\tPRP\tCase=Nom\t4\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\tVBP\t_\t4\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
4\tmind\tmind\tVERB\tVB\t_\t0\troot\t_\t_
4.1\tthe\tthe\tDET\tDT\t_\t_\t_\t4:dep\t_
5\train\train\tNOUN\tNN\tNumber=Sing\t4\tobj\t_\tSpaceAfter=No
6\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_

# sent_id = w-2
1\tSnow\tsnow\tNOUN\tNN\tNumber=Sing\t0\troot\t_\t_

"""


def row(word_id: object, form: str, lemma: str = "_", upos: str = "X", misc: str = "_") -> str:
    return "\t".join([str(word_id), form, lemma, upos, "_", "_", "_", "_", "_", misc]) + "\n"


def sentence_text(*forms: str, comments: str = "") -> str:
    return comments + "".join(row(i, form) for i, form in enumerate(forms, start=1)) + "\n"


def read(text: str) -> list[Sentence]:
    return list(read_conllu(io.StringIO(text, newline="\n")))


def tokens(text: str) -> list[tuple[str, ...]]:
    return [sentence.tokens for sentence in read(text)]


def read_bytes(folder: Path, content: bytes) -> list[Sentence]:
    path = folder / "toy.conllu"
    path.write_bytes(content)
    return list(read_conllu(path))


def refusal(text: str) -> str:
    with pytest.raises(CorpusError) as error:
        read(text)
    return str(error.value)


# What is a word


def test_range_lines_are_no_words_P1() -> None:
    (sentence,) = read(row("1-2", "don't", upos="_") + row(1, "do", upos="AUX") + row(2, "n't", upos="PART"))
    assert sentence.tokens == ("do", "n't")
    assert sentence.columns["upos"] == ("AUX", "PART")


def test_empty_nodes_are_no_words_P2() -> None:
    text = row("0.1", "gone") + row(1, "Nice", upos="ADJ") + row("1.1", "gone") + row("1.2", "gone") + row(2, "one")
    (sentence,) = read(text)
    assert sentence.tokens == ("Nice", "one")
    assert sentence.columns["upos"] == ("ADJ", "X")


@pytest.mark.parametrize("bad", ["3-2", "2-2"])
def test_a_range_that_runs_backwards_or_to_itself_is_an_error_naming_file_line_and_sentence_P3(
    bad: str, tmp_path: Path
) -> None:
    text = "# sent_id = s-9\n" + row(1, "a") + row(bad, "bc") + row(2, "b") + row(3, "c")
    with pytest.raises(CorpusError, match=rf"toy\.conllu:3 \(sentence s-9\): .*{bad}"):
        read_bytes(tmp_path, text.encode())


def test_a_range_past_the_last_word_is_an_error_P3() -> None:
    message = refusal("# sent_id = s\n" + row("1-3", "abc") + row(1, "a") + row(2, "b"))
    assert message == "<stream>:2 (sentence s): a range up to word 3 in a sentence of 2 words"


def test_a_range_that_stands_elsewhere_than_before_its_first_word_is_an_error_P3() -> None:
    message = refusal(row(1, "a") + row("1-2", "ab") + row(2, "b"))
    assert message == "<stream>:2 (sentence <stream>:1): range 1-2 where word 2 is due"


def test_all_columns_are_the_characters_of_the_file() -> None:
    first = read(TOY)[0]
    assert first.tokens == ("I", "do", "n't", "mind", "rain", ".")
    assert dict(first.columns) == {
        "lemma": ("I", "do", "not", "mind", "rain", "."),
        "upos": ("PRON", "AUX", "PART", "VERB", "NOUN", "PUNCT"),
        "xpos": ("PRP", "VBP", "RB", "VB", "NN", "."),
        "feats": ("Case=Nom", "_", "_", "_", "Number=Sing", "_"),
        "head": ("4", "4", "4", "0", "4", "4"),
        "deprel": ("nsubj", "aux", "advmod", "root", "obj", "punct"),
        "misc": ("_", "_", "_", "_", "SpaceAfter=No", "_"),
    }


def test_words_that_start_with_a_hash_are_words_P7() -> None:
    assert tokens(sentence_text("#", "#1", "# text = x")) == [("#", "#1", "# text = x")]


def test_a_form_with_inner_spaces_stays_whole_and_shifts_no_column_P10() -> None:
    (sentence,) = read(row(1, "10 000", upos="NUM") + row(2, "10  000  ", lemma="a  b", upos="NUM"))
    assert sentence.tokens == ("10 000", "10  000  ")
    assert sentence.columns["lemma"] == ("_", "a  b")
    assert sentence.columns["upos"] == ("NUM", "NUM")


def test_empty_columns_at_the_end_of_any_line_are_kept_P10() -> None:
    (sentence,) = read(row(1, "a", misc="") + "2\tb" + "\t" * 8)
    assert sentence.columns["misc"] == ("", "")
    assert sentence.columns["lemma"] == ("_", "")


@pytest.mark.parametrize("word", ["NA", "null", "nan", "None", "NaN", "N/A", "_", '"', '""', "'", "\\", "True", "007"])
def test_words_that_look_like_missing_values_or_quotes_are_words_P11(word: str) -> None:
    (sentence,) = read(row(1, word, lemma=word) + row(2, "after"))
    assert sentence.tokens == (word, "after")
    assert sentence.columns["lemma"] == (word, "_")


@pytest.mark.parametrize("character", ["\u0085", "\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"])
def test_characters_at_which_str_splitlines_splits_end_no_line_L25(character: str, tmp_path: Path) -> None:
    forms = (f"a{character}b", character, f"{character}c")
    text = sentence_text(*forms)
    assert tokens(text) == [forms]
    assert [sentence.tokens for sentence in read_bytes(tmp_path, text.encode())] == [forms]


@pytest.mark.parametrize("space", ["\u00a0", "\u3000", "\u2009", "\u200b", "\ufeff", " "])
def test_spaces_of_all_kinds_stay_in_forms_and_in_the_last_column_L25(space: str) -> None:
    (sentence,) = read(row(1, space) + row(2, f"{space}a{space}", misc=space))
    assert sentence.tokens == (space, f"{space}a{space}")
    assert sentence.columns["misc"] == ("_", space)


# What is a sentence


def test_a_name_a_path_and_open_handles_give_the_same_sentences_P5(tmp_path: Path) -> None:
    path = tmp_path / "toy.conllu"
    path.write_text(TOY, encoding="utf-8", newline="\n")
    expected = list(read_conllu(path))
    assert [sentence.id for sentence in expected] == ["w-1", "w-2"]
    assert list(read_conllu(str(path))) == expected
    with path.open(encoding="utf-8") as handle:
        assert list(read_conllu(handle)) == expected
        assert not handle.closed
    assert [sentence.tokens for sentence in read(TOY)] == [sentence.tokens for sentence in expected]


def test_a_text_given_for_a_name_is_refused_at_the_call_with_the_way_out_P5() -> None:
    with pytest.raises(CorpusError, match=r"is a text, not the name of a file; .* io\.StringIO\(text\)"):
        read_conllu(TOY)


def test_the_source_is_the_file_as_the_user_named_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("toy.conllu").write_text(TOY, encoding="utf-8")
    assert {sentence.source for sentence in read_conllu("toy.conllu")} == {"toy.conllu"}
    assert {sentence.source for sentence in read(TOY)} == {"<stream>"}


def test_a_sentence_knows_the_line_where_its_block_starts() -> None:
    assert [sentence.line for sentence in read(TOY)] == [1, 13]
    assert [sentence.line for sentence in read("\n\n" + TOY)] == [3, 15]


def test_comments_without_a_value_are_harmless_P6() -> None:
    comments = "#\n# \n# newpar\n# note\n#=\n# sent_id = a = b\n# text =\n"
    (sentence,) = read(sentence_text("a", comments=comments))
    assert (sentence.id, sentence.tokens, sentence.document) == ("a = b", ("a",), None)


def test_the_document_lasts_until_the_next_newdoc_with_or_without_an_id_P6() -> None:
    text = "".join(
        [
            sentence_text("a"),
            sentence_text("b", comments="# newdoc id = first\n"),
            sentence_text("c"),
            sentence_text("d", comments="# newdoc\n"),
            sentence_text("e"),
            sentence_text("f", comments="# newdoc id =\n"),
            sentence_text("g", comments="# newdoc id\n"),
        ]
    )
    assert [sentence.document for sentence in read(text)] == [
        None,
        "first",
        "first",
        "<stream>:document-2",
        "<stream>:document-2",
        "<stream>:document-3",
        "<stream>:document-4",
    ]


def test_comments_alone_are_no_sentence_but_start_a_document_P14() -> None:
    text = sentence_text("a") + "# newdoc id = second\n# licence\n\n" + sentence_text("b")
    sentences = read(text)
    assert [(sentence.id, sentence.document) for sentence in sentences] == [
        ("<stream>:1", None),
        ("<stream>:2", "second"),
    ]


@pytest.mark.parametrize("rest", ["", row("1.1", "gone")])
def test_a_sentence_with_an_id_and_no_words_is_an_error_rather_than_dropped_P14(rest: str) -> None:
    message = refusal(sentence_text("a") + "# sent_id = s-2\n" + rest + "\n" + sentence_text("c"))
    assert message == "<stream>:3 (sentence s-2): a sentence without words"


@pytest.mark.parametrize("blank", ["\n", "\n\n\n", "  \n", "\t\n", "\r\n"])
def test_more_blank_lines_than_one_make_no_sentence_P14(blank: str) -> None:
    assert tokens(sentence_text("a") + blank + sentence_text("b")) == [("a",), ("b",)]


def test_equal_sentences_and_equal_ids_are_all_kept_in_order_P15() -> None:
    comments = "# sent_id = same\n"
    text = comments + row(1, "Run", upos="VERB") + "\n" + comments + row(1, "Run", upos="NOUN")
    sentences = read(text)
    assert [sentence.id for sentence in sentences] == ["same", "same"]
    assert [sentence.columns["upos"] for sentence in sentences] == [("VERB",), ("NOUN",)]


def test_sentences_without_an_id_are_counted_from_1_under_the_files_stem(tmp_path: Path) -> None:
    text = sentence_text("a") + sentence_text("b", comments="# sent_id = x\n") + sentence_text("c")
    assert [sentence.id for sentence in read_bytes(tmp_path, text.encode())] == ["toy:1", "x", "toy:3"]


def test_line_ends_byte_order_mark_and_missing_final_line_end_make_no_difference_P9(tmp_path: Path) -> None:
    expected = read_bytes(tmp_path, TOY.encode())
    assert [len(sentence.tokens) for sentence in expected] == [6, 1]
    for line_end, mark, strip in itertools.product(["\n", "\r\n"], ["", "\ufeff"], [False, True]):
        text = mark + (TOY.rstrip("\n") if strip else TOY).replace("\n", line_end)
        assert read_bytes(tmp_path, text.encode()) == expected


def test_a_file_is_read_one_sentence_at_a_time() -> None:
    class Endless:
        def __iter__(self) -> Iterator[str]:
            return itertools.cycle([row(1, "again"), "\n"])

    sentences = read_conllu(cast("TextIO", Endless()))
    assert [sentence.line for sentence in itertools.islice(sentences, 3)] == [1, 3, 5]


# What is an error


def test_a_missing_file_and_a_folder_are_errors_naming_them(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"gone\.conllu: cannot be read \(No such file"):
        list(read_conllu(tmp_path / "gone.conllu"))
    with pytest.raises(CorpusError, match="cannot be read"):
        list(read_conllu(tmp_path))


@pytest.mark.parametrize("content", ["", "\n\n", "# newdoc\n# nothing here\n", "\ufeff"])
def test_a_file_without_a_sentence_is_an_error(content: str, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"toy\.conllu: no sentence in this file$"):
        read_bytes(tmp_path, content.encode())


@pytest.mark.parametrize(
    ("line", "count"),
    [(row(2, "b").rstrip("\n") + "\t_\n", 11), ("2\tb" + "\t_" * 7 + "\n", 9), ("2  b" + "  _" * 8 + "\n", 1)],
)
def test_a_wrong_number_of_columns_is_an_error_naming_the_line_P10(line: str, count: int) -> None:
    message = refusal("# sent_id = s\n" + row(1, "a") + line)
    assert message == f"<stream>:3 (sentence s): {count} columns, not 10; columns are separated by one tab"


@pytest.mark.parametrize(
    ("ids", "line", "problem"),
    [
        ((1, 2, 4), 3, "word id 4 where 3 is due"),
        ((1, 2, 2), 3, "word id 2 where 3 is due"),
        ((2, 3), 1, "word id 2 where 1 is due"),
        ((0, 1), 1, "word id 0 where 1 is due"),
        ((1, 2, 1, 2), 3, "word id 1 where 3 is due; is the blank line between sentences missing?"),
    ],
)
def test_word_ids_that_skip_or_repeat_are_errors(ids: Sequence[int], line: int, problem: str) -> None:
    message = refusal("".join(row(word_id, "a") for word_id in ids))
    assert message == f"<stream>:{line} (sentence <stream>:1): {problem}"


@pytest.mark.parametrize("bad", ["", "_", "x", "01", "-1", "1.0", "1-", "1–2", "１", " 1"])
def test_what_is_no_id_is_an_error_P3(bad: str) -> None:
    assert re.match(rf"<stream>:2 \(sentence s\): '{bad}' is no id", refusal("# sent_id = s\n" + row(bad, "a")))


def test_an_empty_form_is_an_error() -> None:
    assert refusal(row(1, "a") + row(2, "")) == "<stream>:2 (sentence <stream>:1): word 2 has an empty form"


def test_a_comment_after_a_word_is_an_error_rather_than_two_sentences_made_one() -> None:
    message = refusal("# sent_id = s\n" + row(1, "a") + "# sent_id = t\n" + row(1, "b"))
    assert message.startswith("<stream>:3 (sentence ") and "is the blank line between sentences missing?" in message


@pytest.mark.parametrize(
    ("character", "problem"),
    [("\0", "a NUL character"), ("\r", "a carriage return inside the line")],
)
def test_a_nul_and_a_lone_carriage_return_are_errors_naming_the_line(character: str, problem: str) -> None:
    message = refusal("# sent_id = s\n" + row(1, "a") + row(2, f"b{character}c"))
    assert message.startswith(f"<stream>:3 (sentence s): {problem}")


def test_what_is_not_utf_8_is_an_error_naming_file_line_and_sentence(tmp_path: Path) -> None:
    text = "# sent_id = s\n" + row(1, "a") + row(2, "caf\u00e9") + "\n"
    with pytest.raises(CorpusError, match=r"toy\.conllu:3 \(sentence s\): not UTF-8 \(byte 0xe9\)$"):
        read_bytes(tmp_path, text.encode("latin-1"))


def test_an_id_that_is_not_utf_8_is_named_in_characters_that_can_be_shown(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r":1 \(sentence caf\\udce9\): not UTF-8") as error:
        read_bytes(tmp_path, sentence_text("a", comments="# sent_id = caf\u00e9\n").encode("latin-1"))
    str(error.value).encode("utf-8")


def test_utf_16_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r":1 \(.*\): a NUL character; is the file UTF-16"):
        read_bytes(tmp_path, TOY.encode("utf-16-le"))


def test_a_handle_that_cannot_decode_its_file_is_an_error_naming_it(tmp_path: Path) -> None:
    path = tmp_path / "toy.conllu"
    path.write_bytes(row(1, "caf\u00e9").encode("latin-1"))
    with path.open(encoding="utf-8") as handle, pytest.raises(CorpusError, match=r"toy\.conllu: not UTF-8 .*line 0"):
        list(read_conllu(handle))


def test_other_columns_than_those_of_conllu_are_an_error_and_its_own_are_not() -> None:
    own = "# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC\n"
    assert tokens(sentence_text("a", comments=own)) == [("a",)]
    other = own.replace("FORM LEMMA", "LEMMA FORM")
    assert "columns are 'ID LEMMA FORM" in refusal(sentence_text("a", comments=other))


def test_sentences_before_the_first_error_are_read() -> None:
    sentences = read_conllu(io.StringIO(sentence_text("a") + row(7, "b")))
    assert next(sentences).tokens == ("a",)
    with pytest.raises(CorpusError):
        next(sentences)


# Any sentences at all

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\t\n\r\0"))
WORDS = st.lists(st.tuples(TEXT.filter(bool), TEXT, TEXT), min_size=1, max_size=4)


@given(st.lists(WORDS, min_size=1, max_size=4), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_any_sentences_written_and_read_again_are_equal_P9_P10_P11(
    tmp_path_factory: pytest.TempPathFactory,
    sentences: list[list[tuple[str, str, str]]],
    line_end: str,
    mark: bool,
    final_line_end: bool,
) -> None:
    blocks = (
        line_end.join(row(i, form, lemma=lemma, misc=misc)[:-1] for i, (form, lemma, misc) in enumerate(words, start=1))
        for words in sentences
    )
    text = "\ufeff" * mark + (line_end * 2).join(blocks) + line_end * 2 * final_line_end
    read_again = read_bytes(tmp_path_factory.getbasetemp(), text.encode())
    columns = [(sentence.tokens, sentence.columns["lemma"], sentence.columns["misc"]) for sentence in read_again]
    assert columns == [tuple(zip(*words, strict=True)) for words in sentences]


# Real treebanks

EWT = {
    # sentences, words, ranges, empty nodes, longest sentence, UPOS "X", git's id of the file
    "train": (12_544, 204_577, 2_614, 37, 159, 400, "34731d23bafeeff233fdcee18ffc0254b1aa0e28"),
    "dev": (2_001, 25_147, 359, 4, 75, 59, "a994b6990643429070ecc6e236d26ad6a04bfefb"),
    "test": (2_077, 25_094, 354, 2, 81, 42, "c59667960ae967636606f47bc35f132a5557ad39"),
}
WSJ = {"train": (3_396, 81_793), "dev": (273, 6_327), "test": (245, 5_964)}


def count_naively(path: Path) -> tuple[int, int, int, int]:
    """Count sentences, words, ranges and empty nodes with nothing of the reader."""
    ids = [line.split("\t")[0] for line in path.read_text(encoding="utf-8").split("\n") if line[:1].isdigit()]
    words = [word_id for word_id in ids if word_id.isdigit()]
    ranges = sum("-" in word_id for word_id in ids)
    return words.count("1"), len(words), ranges, len(ids) - len(words) - ranges


@pytest.mark.real_data
@pytest.mark.parametrize("split", EWT)
def test_ewt_has_the_published_sentences_words_and_tags_P1_P2(split: str, data_dir: Path) -> None:
    path = data_dir / "ud-english-ewt" / f"en_ewt-ud-{split}.conllu"
    n_sentences, n_words, n_ranges, n_empty, longest, n_x, blob_id = EWT[split]
    content = path.read_bytes()
    assert hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest() == blob_id
    assert count_naively(path) == (n_sentences, n_words, n_ranges, n_empty)

    sentences = list(read_conllu(path))
    assert len(sentences) == n_sentences
    assert sum(len(sentence.tokens) for sentence in sentences) == n_words
    assert max(len(sentence.tokens) for sentence in sentences) == longest
    tags = [tag for sentence in sentences for tag in sentence.columns["upos"]]
    assert len(set(tags)) == 17 and "_" not in tags
    assert tags.count("X") == n_x
    assert len({sentence.id for sentence in sentences}) == n_sentences
    assert all(sentence.document and sentence.id.startswith(sentence.document) for sentence in sentences)


@pytest.mark.real_data
def test_ewt_train_has_49_xpos_and_19674_types(data_dir: Path) -> None:
    sentences = list(read_conllu(data_dir / "ud-english-ewt" / "en_ewt-ud-train.conllu"))
    assert len({tag for sentence in sentences for tag in sentence.columns["xpos"]}) == 49
    assert len({token for sentence in sentences for token in sentence.tokens}) == 19_674


@pytest.mark.real_data
def test_ewt_dev_has_every_character_of_every_column_as_the_file(data_dir: Path) -> None:
    path = data_dir / "ud-english-ewt" / "en_ewt-ud-dev.conllu"
    lines = path.read_bytes().decode("utf-8").split("\n")
    rows = [line.split("\t") for line in lines if line.split("\t")[0].isdigit()]
    sentences = list(read_conllu(path))
    assert [row[1] for row in rows] == [token for sentence in sentences for token in sentence.tokens]
    for name, position in zip(COLUMNS, (2, 3, 4, 5, 6, 7, 9), strict=True):
        assert [row[position] for row in rows] == [value for s in sentences for value in s.columns[name]]


@pytest.mark.real_data
@pytest.mark.parametrize("split", WSJ)
def test_the_wsj_sample_has_the_published_sizes_and_xpos_only(split: str, data_dir: Path) -> None:
    path = data_dir / "wsj-sample" / f"wsj-sample-{split}.conllu"
    sentences = list(read_conllu(path))
    assert count_naively(path) == (*WSJ[split], 0, 0)
    assert (len(sentences), sum(len(sentence.tokens) for sentence in sentences)) == WSJ[split]
    assert {tag for sentence in sentences for tag in sentence.columns["upos"]} == {"_"}
    assert "_" not in {tag for sentence in sentences for tag in sentence.columns["xpos"]}
