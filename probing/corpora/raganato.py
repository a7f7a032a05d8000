"""The unified framework of Raganato et al. 2017: ``X.data.xml`` beside ``X.gold.key.txt`` -> Sentences.

The parts that other readers of sense-annotated text share are here too: words from an XML file with their lines, lines
of a text file with their numbers, and the columns that a sense-annotated Sentence has.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl

from defusedxml.common import DefusedXmlException
from defusedxml.sax import make_parser

from probing.corpora.sentence import CorpusError, Sentence, place

DATA_SUFFIX = ".data.xml"
GOLD_SUFFIX = ".gold.key.txt"

SENSE_COLUMNS = ("lemma", "pos", "target", "senses")
"""What a sense-annotated Sentence knows of each token; a target of several tokens repeats its values over them."""

_CHUNK = 1 << 16
# Not `str.split`, which would also split at no-break spaces and other characters that stand inside words.
_BETWEEN_WORDS = re.compile("[ _\t\r\n]+")


class Word(NamedTuple):
    """One element that holds text.

    Attributes
    ----------
    tag : str
        The element's name.
    attributes : mapping of str to str
    text : str
        The characters in it, entities resolved.
    line : int
        Where it starts, counted from 1.
    """

    tag: str
    attributes: Mapping[str, str]
    text: str
    line: int


class Block(NamedTuple):
    """One sentence element and the words in it.

    Attributes
    ----------
    attributes : mapping of str to str
    line : int
        Where it starts, counted from 1.
    parents : mapping of str to mapping of str to str
        The attributes of each element around it, by name.
    words : tuple of Word
    """

    attributes: Mapping[str, str]
    line: int
    parents: Mapping[str, Mapping[str, str]]
    words: tuple[Word, ...]


class Row(NamedTuple):
    """One token with a value for each of `SENSE_COLUMNS`."""

    token: str
    lemma: str
    pos: str
    target: str = ""
    senses: str = ""


class _Gold(NamedTuple):
    """The gold keys of one instance, and the line where they are first given."""

    line: int
    keys: list[str]


def read_raganato(path: Path) -> Iterator[Sentence]:
    """Read a data set of the unified evaluation framework, or its SemCor, one sentence at a time.

    Only an ``<instance>`` is a target. An instance or word of several words, parted by spaces or underscores, makes
    several tokens. Lemmas are lower-cased; where none is given, the surface form stands in. Of a key file, the order of
    lines, blank lines, spaces at the end and CRLF make no difference; the keys of an id that comes twice are put
    together, as the official scorer does.

    Parameters
    ----------
    path : Path
        ``X.data.xml``; its gold keys are read from ``X.gold.key.txt`` in the same folder.

    Yields
    ------
    Sentence
        With the columns `SENSE_COLUMNS`; `document` is the id of the ``<text>``.

    Raises
    ------
    CorpusError
        If a file cannot be read, is not such XML, or declares a DOCTYPE; if an instance has no gold key, or its id came
        before; or, after the last sentence, if a key has no instance. The message names file, line and sentence.

    References
    ----------
    Raganato, Camacho-Collados and Navigli 2017, "Word Sense Disambiguation: A Unified Evaluation Framework and
    Empirical Comparison".
    """
    if not path.name.endswith(DATA_SUFFIX):
        raise CorpusError(f"{path}: the name of such a file ends in '{DATA_SUFFIX}'")
    stem = path.name.removesuffix(DATA_SUFFIX)
    gold_path = path.with_name(stem + GOLD_SUFFIX)
    gold = _read_gold(gold_path)
    seen: set[str] = set()
    for ordinal, block in enumerate(read_xml(path, "sentence"), start=1):
        sentence_id = block.attributes.get("id") or f"{stem}:{ordinal}"
        rows: list[Row] = []
        for word in block.words:
            target, senses = "", ""
            tokens = split_words(word.text)
            if not tokens:
                fail(path, word.line, sentence_id, "a word without text")
            if word.tag == "instance":
                target = word.attributes.get("id", "")
                if not target:
                    fail(path, word.line, sentence_id, f"instance {word.text[:30]!r} has no id")
                if target in seen:
                    fail(path, word.line, sentence_id, f"a second instance {target}")
                if target not in gold:
                    fail(path, word.line, sentence_id, f"instance {target} has no gold key in {gold_path}")
                seen.add(target)
                senses = " ".join(gold[target].keys)
            elif word.tag != "wf":
                fail(path, word.line, sentence_id, f"<{word.tag}> is neither <wf> nor <instance>")
            lemma = word.attributes.get("lemma", "").lower() or "_".join(tokens).lower()
            rows += [Row(token, lemma, word.attributes.get("pos", ""), target, senses) for token in tokens]
        document = block.parents.get("text", {}).get("id")
        yield sense_sentence(rows, sentence_id, str(path), block.line, document)
    for target, (line, _) in gold.items():
        if target not in seen:
            raise CorpusError(f"{gold_path}:{line}: there is no instance {target} in {path}")


def _read_gold(path: Path) -> dict[str, _Gold]:
    """Return the gold keys of each instance, in the order of the file, each key once."""
    gold: dict[str, _Gold] = {}
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        target, *keys = line.split()
        if not keys:
            raise CorpusError(f"{path}:{number}: '{target}' stands without a sense key")
        known = gold.setdefault(target, _Gold(number, [])).keys
        known += [key for key in dict.fromkeys(keys) if key not in known]
    return gold


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield each line of a UTF-8 file, without its end, and its number, counted from 1.

    Lines end at LF or CRLF and nowhere else; a byte order mark is dropped.

    Raises
    ------
    CorpusError
        If the file cannot be read or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    raise CorpusError(f"{path}:{number}: not UTF-8 (byte 0x{raw[error.start]:02x})") from error
                yield number, line.removesuffix("\n").removesuffix("\r")
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read ({error.strerror or error})") from error


def split_words(text: str) -> list[str]:
    """Return the words of an expression, which are parted by spaces or underscores; an underscore alone is a word."""
    return [word for word in _BETWEEN_WORDS.split(text) if word] or text.split()


def fail(path: Path, line: int, sentence_id: str, problem: str) -> NoReturn:
    """Raise the error that names the place."""
    raise CorpusError(f"{place(str(path), line, sentence_id)}: {problem}")


def sense_sentence(rows: Sequence[Row], sentence_id: str, source: str, line: int, document: str | None) -> Sentence:
    """Make the Sentence whose tokens and annotation are `rows`.

    Raises
    ------
    CorpusError
        If there is no row.
    """
    tokens, *columns = zip(*rows, strict=True) if rows else [()]
    if not tokens:
        raise CorpusError(f"{place(source, line, sentence_id)}: a sentence without words")
    return Sentence(sentence_id, tokens, dict(zip(SENSE_COLUMNS, columns, strict=True)), source, line, document)


def read_xml(path: Path, sentence_tag: str) -> Iterator[Block]:
    """Read the sentences of an XML file, holding few in memory at a time.

    Parameters
    ----------
    path : Path
    sentence_tag : str
        The name of the elements that are sentences. The elements right inside them are words, and hold only text.

    Raises
    ------
    CorpusError
        If the file cannot be read, is not well-formed, declares a DOCTYPE, which no such corpus needs and which can
        make a small file expand without end, has text between words or elements inside words, or has no sentence.
    """
    # Incremental SAX and no tree: SemCor in this format has a million elements, and a tree would forget their lines.
    parser = make_parser()
    parser.forbid_dtd = True
    handler = _Sentences(path, sentence_tag, parser.getLineNumber)
    parser.setContentHandler(handler)
    n_sentences = 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                parser.feed(chunk)
                n_sentences += len(handler.complete)
                yield from handler.complete
                handler.complete.clear()
            parser.close()
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read ({error.strerror or error})") from error
    except DefusedXmlException as error:
        line = parser.getLineNumber()
        raise CorpusError(f"{path}:{line}: a DOCTYPE or entity declaration, which is refused; delete it") from error
    except SAXParseException as error:
        raise CorpusError(f"{path}:{error.getLineNumber()}: not well-formed XML ({error.getMessage()})") from error
    except (LookupError, ValueError) as error:  # a declared encoding that Python lacks or expat cannot use
        raise CorpusError(f"{path}:{parser.getLineNumber()}: not XML in a known encoding ({error})") from error
    if not n_sentences:
        raise CorpusError(f"{path}: no <{sentence_tag}> in this file")


class _Sentences(ContentHandler):
    """Collects the sentences that were read to their end in `complete`, for `read_xml` to take away."""

    def __init__(self, path: Path, sentence_tag: str, line_number: Callable[[], int | None]) -> None:
        self.complete: list[Block] = []
        self._line_number = line_number
        self._path = path
        self._sentence_tag = sentence_tag
        self._parents: list[tuple[str, dict[str, str]]] = []
        self._sentence: tuple[dict[str, str], int] | None = None
        self._words: list[Word] = []
        self._word: tuple[str, dict[str, str], int] | None = None
        self._text: list[str] = []

    def startElement(self, name: str, attrs: AttributesImpl) -> None:  # noqa: N802
        """Open an element: around sentences, a sentence, or a word."""
        line, attributes = self._line_number() or 0, dict(attrs.items())
        if self._word is not None:
            self._fail(f"<{name}> inside <{self._word[0]}>")
        if self._sentence is not None:
            self._word = (name, attributes, line)
        elif name == self._sentence_tag:
            self._sentence = (attributes, line)
        else:
            self._parents.append((name, attributes))

    def endElement(self, name: str) -> None:  # noqa: N802
        """Close the innermost element."""
        if self._word is not None:
            tag, attributes, line = self._word
            self._words.append(Word(tag, attributes, "".join(self._text), line))
            self._text.clear()
            self._word = None
        elif self._sentence is not None:
            attributes, line = self._sentence
            self.complete.append(Block(attributes, line, dict(self._parents), tuple(self._words)))
            self._words.clear()
            self._sentence = None
        else:
            self._parents.pop()

    def characters(self, content: str) -> None:
        """Take a piece of a word's text."""
        if self._word is not None:
            self._text.append(content)
        elif content.strip():
            self._fail(f"text {content.strip()[:30]!r} outside of a word")

    def _fail(self, problem: str) -> NoReturn:
        raise CorpusError(f"{self._path}:{self._line_number()}: {problem}")
