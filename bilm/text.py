"""Reading tokenised text: one sentence a line, words separated by single spaces; plain or gzip."""

import glob
import gzip
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, cast

from bilm.errors import UserError

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class TextError(UserError):
    """Text that cannot be read as tokenised sentences; the message names the pattern, or file and line."""


def find_shards(patterns: str | Sequence[str]) -> list[Path]:
    """Return the files that match one or more glob patterns, sorted, each once.

    Raises
    ------
    TextError
        If a pattern matches no file.
    """
    shards: set[Path] = set()
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        # Not Path.glob: it refuses absolute patterns.
        found = {path for path in map(Path, glob.glob(pattern)) if path.is_file()}  # noqa: PTH207
        if not found:
            hint = f" (a folder; did you mean {pattern}/*?)" if Path(pattern).is_dir() else ""
            raise TextError(f"no file matches {pattern}{hint}")
        shards |= found
    return sorted(shards)


def read_sentences(path: Path) -> Iterator[list[str]]:
    """Read a file line by line.

    Lines end in LF or CRLF; every other control or space character, a no-break space among them, is part of a word.
    Spaces at the ends of a line are dropped. A blank line is a sentence without words, so that sentence i is always
    line i.

    Parameters
    ----------
    path : Path
        UTF-8, with or without byte order mark; compressed by gzip if its name ends in `.gz`.

    Yields
    ------
    list of str

    Raises
    ------
    TextError
        If the file cannot be read, is not UTF-8, or has two spaces in a row (an empty word).
    """
    try:
        with _open(path) as file:
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
    except (OSError, EOFError, zlib.error) as error:  # the last two are a damaged gzip file
        raise TextError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from error


def count_lines(path: Path) -> int | None:
    """Count lines, for a progress bar; None where that cannot be told, which whoever reads the file explains.

    A pipe is not counted: what is read from it is gone.
    """
    if not path.is_file():
        return None
    try:
        with _open(path) as file:
            return sum(1 for _ in file)
    except (OSError, EOFError, zlib.error):
        return None


def _open(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")
