"""The words that the output layer can predict, most frequent first."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from bilm.errors import UserError
from bilm.files import write_text

SENTENCE_START, SENTENCE_END, UNKNOWN = "<S>", "</S>", "<UNK>"
SPECIALS = (SENTENCE_START, SENTENCE_END, UNKNOWN)


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
        for special in SPECIALS:
            if special not in self._indices:
                raise VocabularyError(f"the vocabulary lacks {special}: it needs <S>, </S> and <UNK>")

    def __len__(self) -> int:
        return len(self.words)

    def index(self, word: str) -> int:
        """Return the word's index, or that of `<UNK>`."""
        return self._indices.get(word, self._indices[UNKNOWN])

    def index_of_text(self, word: str) -> int:
        """Return the index of a word that stands in a text, where a literal `<S>` is a word that the model lacks."""
        return self._indices[UNKNOWN] if word in SPECIALS else self.index(word)

    @classmethod
    def count(
        cls, sentences: Iterable[Sequence[str]], *, max_size: int | None = None, min_count: int = 1
    ) -> "Vocabulary":
        """Count the words of a text and keep the most frequent.

        Parameters
        ----------
        sentences : iterable of sequences of str
        max_size : int, optional
            Words to keep, the three special ones included.
        min_count : int
            Rarer words are not kept.

        Returns
        -------
        Vocabulary
            Most frequent first, as the sampled softmax needs it; ties in the order of the alphabet. The special words
            are ranked by their counts too: as many starts and ends as sentences, as many `<UNK>` as words left out.
        """
        counts: Counter[str] = Counter()
        n_sentences = 0
        for sentence in sentences:
            counts.update(sentence)
            n_sentences += 1
        for special in SPECIALS:
            counts.pop(special, None)
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        kept = [item for item in ranked[: None if max_size is None else max(0, max_size - 3)] if item[1] >= min_count]
        n_unknown = counts.total() - sum(count for _, count in kept)
        kept += [(SENTENCE_START, n_sentences), (SENTENCE_END, n_sentences), (UNKNOWN, n_unknown)]
        return cls([word for word, _ in sorted(kept, key=lambda item: (-item[1], item[0]))])

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
