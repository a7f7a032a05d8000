"""`Sentence`: one value a token, read-only, and a place for messages."""

import dataclasses
from typing import Any

import pytest

from bilm.errors import UserError
from probing.corpora.sentence import CorpusError, Sentence


def toy(**changes: Any) -> Sentence:
    values: dict[str, Any] = {
        "id": "s1",
        "tokens": ("Rain", "fell"),
        "columns": {"upos": ("NOUN", "VERB")},
        "source": "toy.conllu",
        "line": 3,
    }
    return Sentence(**(values | changes))


def test_a_column_with_one_value_too_few_is_an_error_naming_file_line_sentence_and_column_P13() -> None:
    with pytest.raises(CorpusError, match=r"^toy\.conllu:3 \(sentence s1\): column 'upos' has 1 values for 2 tokens$"):
        toy(columns={"upos": ("NOUN",)})


def test_a_column_with_one_value_too_many_is_an_error_P13() -> None:
    with pytest.raises(CorpusError, match="column 'xpos' has 3 values for 2 tokens"):
        toy(columns={"upos": ("NOUN", "VERB"), "xpos": ("NN", "VBD", ".")})


def test_an_error_of_a_corpus_is_an_error_of_the_user() -> None:
    assert issubclass(CorpusError, UserError)


def test_place_names_file_line_and_sentence() -> None:
    assert toy().place() == "toy.conllu:3 (sentence s1)"


def test_place_can_be_encoded_even_where_the_id_is_not_unicode() -> None:
    assert toy(id="s\udcff").place() == "toy.conllu:3 (sentence s\\udcff)"


def test_nothing_of_a_sentence_can_be_set() -> None:
    sentence = toy()
    with pytest.raises(dataclasses.FrozenInstanceError):
        sentence.line = 4  # type: ignore[misc]
    with pytest.raises(TypeError):
        sentence.columns["upos"] = ("X", "X")  # type: ignore[index]


def test_the_columns_are_a_copy_that_the_caller_cannot_reach() -> None:
    columns = {"upos": ("NOUN", "VERB")}
    sentence = toy(columns=columns)
    columns["upos"] = ("X", "X")
    assert sentence.columns == {"upos": ("NOUN", "VERB")}


def test_sentences_with_equal_tokens_and_other_labels_differ_P15() -> None:
    assert toy() != toy(columns={"upos": ("NOUN", "NOUN")})


def test_a_sentence_of_no_tokens_and_one_of_one_token_are_sentences_P17() -> None:
    assert toy(tokens=(), columns={"upos": ()}).tokens == ()
    assert toy(tokens=("Rain",), columns={}).tokens == ("Rain",)
