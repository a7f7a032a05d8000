"""Sentences as plain text for other tools: one sentence a line, words separated by single spaces."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from bilm.files import atomic_path

# The mark would be dropped at the start of a file, and a word that is nothing else with it.
_SEPARATES = re.compile("[\\s\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def plain_word(word: str) -> str:
    """Return a word as plain text has it, so that a line has as many words as its sentence, whoever splits it.

    Each white-space character within the word (a space, a no-break space, a line end) and each byte order mark becomes
    ``_``, and so does an empty word; a lone surrogate, which has no UTF-8, becomes U+FFFD. Most words stay as they are.
    """
    return _SURROGATE.sub("\ufffd", _SEPARATES.sub("_", word)) or "_"


def write_plain(sentences: Iterable[Sequence[str]], path: Path) -> int:
    """Write the words of each sentence as a line, atomically; a sentence without words is a blank line.

    Returns
    -------
    int
        How many lines there are.
    """
    n_lines = 0
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for words in sentences:
            file.write(" ".join(map(plain_word, words)) + "\n")
            n_lines += 1
    return n_lines
