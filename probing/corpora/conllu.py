"""CoNLL-U files -> Sentences, one at a time, on top of the `conllu` library.

The library's parts that are sound are used: splitting a stream into sentences, the grammar of word ids, the grammar of
comments, the names of the columns. Its `parse_line` is not, because it also splits columns at two spaces, and
`parse_incr` is not, because it strips the ends of lines, takes a word line that starts with '#' for a comment, reads
values into other types, and keeps no line numbers.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn, TextIO, cast

from conllu.exceptions import ParseException
from conllu.parser import DEFAULT_FIELDS, parse_comment_line, parse_id_value, parse_sentences

from probing.corpora.sentence import CorpusError, Sentence, place

# Annotation that a Sentence carries. "id" is its position; "deps" is the enhanced graph, which may name empty nodes.
COLUMNS = ("lemma", "upos", "xpos", "feats", "head", "deprel", "misc")
_POSITIONS = {name: DEFAULT_FIELDS.index(name) for name in COLUMNS}
_FORM = DEFAULT_FIELDS.index("form")

# By default the library forgets comments without a value; a document starts even where its id is missing.
_COMMENT_PARSERS = {"newdoc id": lambda key, value: (key, value)}

# A byte that is not UTF-8 is decoded to a lone surrogate, so that one search finds everything that is refused.
_REFUSED = re.compile("[\0\r\ud800-\udfff]")

_NumberedLine = tuple[int, str]


def read_conllu(source: str | Path | TextIO) -> Iterator[Sentence]:
    """Read the sentences of a CoNLL-U file, holding one sentence in memory at a time.

    Multi-word ranges (``1-2``) are not words, and empty nodes (``8.1``) are not in the text: both are dropped. Values
    are the file's own characters: no value stands for a missing one, nothing is stripped, and columns end at tabs only.
    LF and CRLF line ends, a byte order mark and a missing last line end make no difference. Several sentences may have
    the same id. A block of comments without `sent_id` and words is no sentence, but may start a document.

    Parameters
    ----------
    source : str, Path or open file
        A file's name, or a handle, which is read from where it stands and not closed. Handles over text are split as
        they were opened; ``open(..., newline="\\n", encoding="utf-8")`` reads as a name does.

    Yields
    ------
    Sentence
        With the columns `COLUMNS`. `document` is the last ``# newdoc id``, or ``<file stem>:document-<ordinal>`` after
        a ``# newdoc`` without an id.

    Raises
    ------
    CorpusError
        If the file cannot be read, is not UTF-8, is not CoNLL-U, or has no sentence. The message names file, line and
        sentence. A string that holds a line end is refused at the call, all else when the sentence is reached.

    References
    ----------
    https://universaldependencies.org/format.html
    """
    if isinstance(source, str) and "\n" in source:
        raise CorpusError(
            f"{source[:30]!r}... is a text, not the name of a file; to read a text, give io.StringIO(text)"
        )
    if isinstance(source, str | Path):
        return _file_sentences(Path(source), str(source))
    name = getattr(source, "name", None)
    return _sentences(source, name if isinstance(name, str) else "<stream>")


def _file_sentences(path: Path, name: str) -> Iterator[Sentence]:
    """Yield the sentences of the file at `path`."""
    try:
        # Bytes end their lines at LF alone: a text handle would take a lone CR inside a form for a line end.
        with path.open("rb") as file:
            yield from _sentences(file, name)
    except OSError as error:
        raise CorpusError(f"{name}: cannot be read ({error.strerror or error})") from error


def _sentences(lines: Iterable[str | bytes], source: str) -> Iterator[Sentence]:
    """Yield the sentences in `lines`, which messages call `source`."""
    stem = Path(source).stem
    n_sentences = n_documents = 0
    document: str | None = None
    # The library asks for a file, but does no more than iterate over it.
    for block in parse_sentences(cast("TextIO", _numbered(lines, source))):
        numbered = [_number(line) for line in block.split("\n")]
        comments = [(number, line) for number, line in numbered if line.startswith("#")]
        rows = numbered[len(comments) :]
        metadata = dict(pair for _, line in comments for pair in parse_comment_line(line, _COMMENT_PARSERS))
        sentence_id = metadata.get("sent_id") or f"{stem}:{n_sentences + 1}"

        _check_lines(numbered, len(comments), metadata, source, sentence_id)
        if "newdoc" in metadata or "newdoc id" in metadata:
            n_documents += 1
            document = metadata.get("newdoc id") or f"{stem}:document-{n_documents}"
        if not rows and "sent_id" not in metadata:
            continue
        words = _words(rows, source, sentence_id)
        first_line = numbered[0][0]
        if not words:
            _fail(source, first_line, sentence_id, "a sentence without words")
        n_sentences += 1
        yield Sentence(
            id=sentence_id,
            tokens=tuple(word[_FORM] for word in words),
            columns={name: tuple(word[position] for word in words) for name, position in _POSITIONS.items()},
            source=source,
            line=first_line,
            document=document,
        )
    if not n_sentences:
        raise CorpusError(f"{source}: no sentence in this file")


def _numbered(lines: Iterable[str | bytes], source: str) -> Iterator[str]:
    """Yield each line with its number, counted from 1, as one more column at its end; a blank line stays blank.

    The library keeps no line numbers, and strips the end of a sentence: without the number, empty columns and no-break
    spaces at the end of the last word line would be lost.
    """
    number = 0
    try:
        for number, raw in enumerate(lines, start=1):
            line = raw if isinstance(raw, str) else raw.decode("utf-8", "surrogateescape")
            line = line.removesuffix("\n").removesuffix("\r")
            if number == 1:
                line = line.removeprefix("\ufeff")
            yield f"{line}\t{number}\n" if line.strip() else "\n"
    except UnicodeDecodeError as error:  # from a text handle, which decodes many lines ahead
        raise CorpusError(f"{source}: not {error.encoding.upper()} some way after line {number}") from error


def _number(line: str) -> _NumberedLine:
    """Undo `_numbered` for one line."""
    text, _, number = line.rpartition("\t")
    return int(number), text


def _check_lines(
    numbered: list[_NumberedLine], n_comments: int, metadata: Mapping[str, str | None], source: str, sentence_id: str
) -> None:
    """Refuse characters that no CoNLL-U file holds, comments among the words, and columns that are named otherwise."""
    for position, (number, line) in enumerate(numbered):
        if refused := _REFUSED.search(line):
            _fail(source, number, sentence_id, _why_refused(refused.group()))
        if line.startswith("#") and position >= n_comments:
            _fail(source, number, sentence_id, "a comment after a word; is the blank line between sentences missing?")
    named = metadata.get("global.columns")
    if named and named.lower().split() != list(DEFAULT_FIELDS):
        _fail(source, numbered[0][0], sentence_id, f"columns are '{named}', not the ten columns of CoNLL-U")


def _why_refused(character: str) -> str:
    """Say what a match of `_REFUSED` means."""
    if character == "\0":
        return "a NUL character; is the file UTF-16? It must be UTF-8"
    if character == "\r":
        return "a carriage return inside the line; lines must end in LF or CRLF"
    return f"not UTF-8 (byte 0x{ord(character) & 0xFF:02x})"


def _words(rows: list[_NumberedLine], source: str, sentence_id: str) -> list[list[str]]:
    """Return the columns of each word, leaving out ranges and empty nodes; ids must be 1, 2, 3, ..."""
    words: list[list[str]] = []
    range_stop, range_line = 0, 0
    for number, line in rows:
        columns = line.split("\t")
        if len(columns) != len(DEFAULT_FIELDS):
            _fail(
                source,
                number,
                sentence_id,
                f"{len(columns)} columns, not {len(DEFAULT_FIELDS)}; columns are separated by one tab",
            )
        try:
            node = parse_id_value(columns[0])
        except (ParseException, ValueError):  # ValueError: more digits than Python makes a number of
            node = None
        expected = len(words) + 1
        if isinstance(node, int):
            if node != expected:
                hint = "; is the blank line between sentences missing?" if node == 1 else ""
                _fail(source, number, sentence_id, f"word id {node} where {expected} is due{hint}")
            if not columns[_FORM]:
                _fail(source, number, sentence_id, f"word {node} has an empty form")
            words.append(columns)
        elif node is None:
            _fail(
                source,
                number,
                sentence_id,
                f"'{columns[0]}' is no id of a word (3), a range (3-4) or an empty node (3.1)",
            )
        elif node[1] == "-":
            # The library lets a range to itself (3-3) pass.
            if node[2] <= node[0]:
                _fail(source, number, sentence_id, f"range {columns[0]} runs backwards or to itself")
            if node[0] != expected:
                _fail(source, number, sentence_id, f"range {columns[0]} where word {expected} is due")
            range_stop, range_line = node[2], number
    if range_stop > len(words):
        _fail(source, range_line, sentence_id, f"a range up to word {range_stop} in a sentence of {len(words)} words")
    return words


def _fail(source: str, line: int, sentence_id: str, problem: str) -> NoReturn:
    """Raise the error that names the place."""
    raise CorpusError(f"{place(source, line, sentence_id)}: {problem}")
