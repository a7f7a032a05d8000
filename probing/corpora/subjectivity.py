"""The subjectivity data of Pang & Lee 2004, sentences of film reviews and of plot summaries -> Sentences."""

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from probing.corpora.packed import opened
from probing.corpora.sentence import CorpusError, Sentence

FILES = {"subjective": "quote.tok.gt9.5000", "objective": "plot.tok.gt9.5000"}
"""The file of each class."""

EVERY = 10
"""Of so many lines of a file, the last one is test and the one before it dev."""


def read_subjectivity(path: Path, split: str) -> Iterator[Sentence]:
    """Read one split: of both files the tenth, twentieth, ... line is test, the line before it dev, all others train.

    The corpus has no splits of its own (it was published for cross-validation); these draw nothing at random and keep
    the classes at one half each. The two files take turns, line by line.

    Parameters
    ----------
    path : Path
        The folder with the two files, or NLTK's zip of it: UTF-8, one tokenised sentence a line, its words at white
        space.
    split : str
        "train", "dev" or "test".

    Yields
    ------
    Sentence
        With the column `class`, which has the sentence's class, "subjective" or "objective", at every token. Its id is
        class and line: ``subjective.12``.

    Raises
    ------
    CorpusError
        If a file is missing, is not UTF-8, has a blank line, or the two have not the same number of lines. The message
        names file and line.

    References
    ----------
    Pang & Lee 2004, "A Sentimental Education", section 3.1.
    """
    lines = {label: _lines(path, name) for label, name in FILES.items()}
    n_lines = {FILES[label]: len(own) for label, own in lines.items()}
    if len(set(n_lines.values())) > 1:
        counts = ", ".join(f"{count} in {name}" for name, count in n_lines.items())
        raise CorpusError(f"{path}: the two files have not the same number of lines: {counts}")
    for number, both in enumerate(zip(*lines.values(), strict=True), start=1):
        if _split_of(number) != split:
            continue
        for label, line in zip(lines, both, strict=True):
            tokens = tuple(line.split())
            source = str(path / FILES[label])
            if not tokens:
                raise CorpusError(f"{source}:{number}: a blank line, where a sentence should be")
            columns = {"class": (label,) * len(tokens)}
            yield Sentence(f"{label}.{number}", tokens, columns, source, number)


def _split_of(number: int) -> str:
    """Return the split of a line, counted from 1."""
    return {0: "test", EVERY - 1: "dev"}.get(number % EVERY, "train")


def _lines(path: Path, name: str) -> list[str]:
    """Return the lines of one of the files."""
    file = opened(path) / name
    try:
        with file.open("rb") as stream:
            content = stream.read()
    except (OSError, KeyError, zlib.error, zipfile.BadZipFile) as error:  # a zip without it: KeyError or FileNotFound
        raise CorpusError(f"{path / name}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise CorpusError(f"{path / name}:{line}: not UTF-8 (byte 0x{content[error.start]:02x})") from error
    # Not `splitlines`: it would also end a line at control characters, which this text has within sentences.
    return text.removesuffix("\n").split("\n") if text else []
