"""Reading tokenised text: one sentence a line, words separated by single spaces."""

from collections.abc import Iterator
from pathlib import Path

from bilm.errors import UserError

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class TextError(UserError):
    """Text that cannot be read as tokenised sentences; the message names file and line."""


def read_sentences(path: Path) -> Iterator[list[str]]:
    """Read a file line by line.

    Lines end in LF or CRLF; every other control or space character, a no-break space among them, is part of a word.
    Spaces at the ends of a line are dropped. A blank line is a sentence without words, so that sentence i is always
    line i.

    Parameters
    ----------
    path : Path
        UTF-8, with or without byte order mark.

    Yields
    ------
    list of str

    Raises
    ------
    TextError
        If the file cannot be read, is not UTF-8, or has two spaces in a row (an empty word).
    """
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                line = raw.removeprefix(_BYTE_ORDER_MARK) if number == 1 else raw
                try:
                    text = line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8").strip(" ")
                except UnicodeDecodeError as error:
                    raise TextError(f"{path}:{number}: not UTF-8 (byte {error.start + 1} of the line)") from error
                words = text.split(" ") if text else []
                if "" in words:
                    raise TextError(f"{path}:{number}: two spaces in a row: words are separated by single spaces")
                yield words
    except OSError as error:
        raise TextError(f"{path}: cannot be read ({error.strerror})") from error
