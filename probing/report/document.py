"""What a report says, before it is set as Markdown, HTML or LaTeX: sections of paragraphs, lists, tables and pictures.

Text is plain: no character of it means anything to a renderer. What is to stand out is a `Span` of another kind, so
that a label such as "``" or "<script>" is shown as it is, wherever it comes from.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, TypeAlias

from matplotlib.figure import Figure

_MARKS = {"**": "strong", "*": "emphasis", "`": "code"}


class Span(NamedTuple):
    """A stretch of text that is set in one way."""

    text: str
    kind: str = "plain"


Text: TypeAlias = str | tuple[Span, ...]
"""Plain text, or stretches of it of which some stand out."""


def spans(text: Text) -> tuple[Span, ...]:
    """Return text as spans."""
    return (Span(text),) if isinstance(text, str) else text


def marked(text: str) -> tuple[Span, ...]:
    """Return text of our own, in which ** marks strong words, * emphasis and ` code; for nothing that data may hold."""
    found = []
    for match in re.finditer(r"(\*\*|\*|`)(.+?)\1|[^*`]+", text):
        mark, inner = match.groups()
        found.append(Span(inner, _MARKS[mark]) if mark else Span(match.group()))
    return tuple(found)


def joined(*parts: Text) -> tuple[Span, ...]:
    """Return several texts as one."""
    return tuple(span for part in parts for span in spans(part))


def plain(text: Text) -> str:
    """Return text without saying what stands out."""
    return "".join(span.text for span in spans(text))


@dataclass(frozen=True)
class Paragraph:
    """A paragraph."""

    kind: ClassVar[str] = "paragraph"
    text: Text


@dataclass(frozen=True)
class Bullets:
    """A list without an order."""

    kind: ClassVar[str] = "bullets"
    items: tuple[Text, ...]


@dataclass(frozen=True)
class Code:
    """Lines that are shown as they stand."""

    kind: ClassVar[str] = "code"
    text: str
    language: str


@dataclass(frozen=True)
class Verdict:
    """A claim and what came of it.

    Attributes
    ----------
    word : str
        "supported", "refuted" or "undecided".
    claim, about : str
        The claim in words; the network, task and probe that it was tested with.
    numbers : str
        The difference with its interval, in points, and how likely chance gives as much.
    """

    word: str
    claim: str
    about: str
    numbers: str


@dataclass(frozen=True)
class Verdicts:
    """What came of each claim."""

    kind: ClassVar[str] = "verdicts"
    items: tuple[Verdict, ...]


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes
    ----------
    header : tuple of str
    rows : tuple of rows, each as long as the header
    caption : str
        What the table shows; "" where it stands alone in a test.
    text_columns : int
        How many of the first columns are text and name the row; the others are numbers.
    name : str
        The stem of its own files under tables/; "" where it has none.
    """

    kind: ClassVar[str] = "table"
    header: tuple[str, ...]
    rows: tuple[tuple[Text, ...], ...]
    caption: str = ""
    text_columns: int = 1
    name: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure.

    Attributes
    ----------
    stem : str
        Its files are figures/stem.svg and figures/stem.png.
    alternative : str
        The gist of its numbers, for whoever does not see it.
    figure : Figure
    """

    kind: ClassVar[str] = "picture"
    stem: str
    alternative: str
    figure: Figure


Block: TypeAlias = Paragraph | Bullets | Code | Verdicts | Table | Picture


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it; a section of level 3 belongs to the one of level 2 before it."""

    heading: str
    blocks: tuple[Block, ...]
    level: Literal[2, 3] = 2


@dataclass(frozen=True)
class Document:
    """A report: its title, the question that it answers, and its sections."""

    title: str
    question: str
    sections: tuple[Section, ...]

    def blocks(self) -> Iterator[Block]:
        """Yield every block of every section."""
        for section in self.sections:
            yield from section.blocks

    def pictures(self) -> list[Picture]:
        """Return every picture, in order."""
        return [block for block in self.blocks() if isinstance(block, Picture)]

    def named_tables(self) -> list[Table]:
        """Return every table that has files of its own, in order."""
        return [block for block in self.blocks() if isinstance(block, Table) and block.name]
