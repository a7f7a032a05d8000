"""The `Sentence`: what every corpus reader yields and every task and encoder takes. Reading files is not done here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from bilm.errors import UserError


class CorpusError(UserError):
    """A corpus cannot be found or read; the message names the file and, where known, line and sentence."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A tokenised sentence with its annotation and the place that it came from.

    A sentence is told from others by its position in its corpus, never by its text or its id: corpora repeat both.

    Parameters
    ----------
    id : str
        The id that the file gives, or ``<file stem>:<ordinal>``, counted from 1, where it gives none.
    tokens : tuple of str
        The surface forms, exactly as in the file.
    columns : mapping of str to tuple of str
        Annotation by the name of its column, one value a token. Copied, and read-only from then on.
    source : str
        The file, as the user named it.
    line : int
        The line, counted from 1, where the sentence starts in `source`.
    document : str, optional
        The document that the sentence belongs to.

    Raises
    ------
    CorpusError
        If a column does not have one value a token.
    """

    id: str
    tokens: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]] = field(hash=False)
    source: str
    line: int
    document: str | None = None

    def __post_init__(self) -> None:
        for name, values in self.columns.items():
            if len(values) != len(self.tokens):
                raise CorpusError(
                    f"{self.place()}: column '{name}' has {len(values)} values for {len(self.tokens)} tokens"
                )
        read_only = MappingProxyType({name: tuple(values) for name, values in self.columns.items()})
        object.__setattr__(self, "columns", read_only)

    def place(self) -> str:
        """Return ``file:line (sentence id)``, the way every message names a sentence."""
        return place(self.source, self.line, self.id)


def place(source: str, line: int, sentence_id: str) -> str:
    """Return ``file:line (sentence id)``, with backslash escapes for what is not Unicode and could not be shown."""
    # A damaged file can make anything an id: no message gets longer than a line for it.
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in sentence_id[:80])
    return f"{source}:{line} (sentence {shown})".encode("utf-8", "backslashreplace").decode("utf-8")
