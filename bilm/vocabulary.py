"""The words that the output layer can predict, most frequent first."""

from collections.abc import Sequence
from pathlib import Path

from bilm.errors import UserError
from bilm.files import write_text

SENTENCE_START, SENTENCE_END, UNKNOWN = "<S>", "</S>", "<UNK>"


class VocabularyError(UserError):
    """A vocabulary file that cannot be used; the message names file and line."""


class Vocabulary:
    """Output words and their indices.

    The model reads any word, letter by letter; the vocabulary only says which words it can predict. Every other word
    counts as `<UNK>`.

    Parameters
    ----------
    words : sequence of str
        Distinct, most frequent first, among them `<S>`, `</S>` and `<UNK>`.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._indices = {word: index for index, word in enumerate(self.words)}
        if len(self._indices) < len(self.words):
            repeated = next(word for index, word in enumerate(self.words) if self._indices[word] != index)
            raise VocabularyError(f"the vocabulary has {repeated!r} twice")
        for special in (SENTENCE_START, SENTENCE_END, UNKNOWN):
            if special not in self._indices:
                raise VocabularyError(f"the vocabulary lacks {special}: it needs <S>, </S> and <UNK>")

    def __len__(self) -> int:
        return len(self.words)

    def index(self, word: str) -> int:
        """Return the word's index, or that of `<UNK>`."""
        return self._indices.get(word, self._indices[UNKNOWN])

    @classmethod
    def read(cls, path: Path) -> "Vocabulary":
        """Read one word a line (UTF-8). Lines end in LF or CRLF only: a no-break space is a word like any other.

        Raises
        ------
        VocabularyError
            If the file is missing, not UTF-8, has a blank line, a repeated word, or lacks a special word.
        """
        try:
            text = path.read_bytes().decode("utf-8")
        except OSError as error:
            raise VocabularyError(f"{path}: cannot be read ({error.strerror})") from error
        except UnicodeDecodeError as error:
            raise VocabularyError(f"{path}: not UTF-8 at byte {error.start}") from error
        words = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
        if "" in words:
            raise VocabularyError(f"{path}:{words.index('') + 1}: a blank line where a word is expected")
        try:
            return cls(words)
        except VocabularyError as error:
            raise VocabularyError(f"{path}: {error}") from error

    def write(self, path: Path) -> None:
        """Write one word a line, atomically."""
        write_text(path, "".join(f"{word}\n" for word in self.words))
