"""Plain text: a line has as many words as its sentence."""

from pathlib import Path

import pytest

from bilm.text import read_sentences
from probing.corpora.plain import plain_word, write_plain


@pytest.mark.parametrize(
    ("word", "plain"),
    [
        ("bank", "bank"),
        ("1 000", "1_000"),
        ("7\u00a01/2", "7_1/2"),
        ("a\r\nb", "a__b"),
        ("\x85", "_"),
        ("\u2028", "_"),
        ("\ufeff", "_"),
        ("", "_"),
        ("\ud800x", "\ufffdx"),
        ("a/b", "a/b"),
    ],
)
def test_a_word_stays_one_word_whoever_splits_the_line(word: str, plain: str) -> None:
    assert plain_word(word) == plain
    assert plain.split() == plain.splitlines() == [plain]


def test_what_is_written_is_read_back_line_by_line(tmp_path: Path) -> None:
    sentences = [["\ufeff", "a b"], [], ["c", ""], []]
    path = tmp_path / "new" / "text.txt"
    assert write_plain(sentences, path) == 4
    assert path.read_bytes() == b"_ a_b\n\nc _\n\n"
    assert [len(words) for words in read_sentences(path)] == [2, 0, 2, 0]
