"""One HDF5 file of vectors: what it holds, what text it is of, and where it differs from another text.

The format is that of bilm-tf's `dump_bilm_embeddings`, AllenNLP's `allennlp elmo` and `bilm embed`: dataset "0" for the
first sentence, floats, [n_layers, n_tokens, dim] or, of one layer alone, [n_tokens, dim].
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from bilm.errors import UserError
from bilm.official import describe_file
from bilm.text import read_sentences
from probing.corpora.plain import plain_word

_SENTENCES = "sentence_to_index"
"""AllenNLP's dataset of the text: JSON, from a sentence to its number, which is the last one where it occurs again."""
_WEIGHTS = {"char_embed", "CNN", "CNN_proj", "RNN_0", "RNN_1"}
_SHOWN = 40  # characters of a sentence that a message shows

Words = tuple[str, ...]


class VectorsError(UserError):
    """Vectors that cannot be used, or are not those of the text; the message names file and sentence."""


@dataclass(frozen=True)
class VectorFile:
    """One HDF5 file. It is opened for each use and closed after it: a handle must not be shared between processes."""

    path: Path

    @contextmanager
    def opened(self) -> Iterator[h5py.File]:
        """Open the file; what the HDF5 library makes of a damaged one becomes a `VectorsError`."""
        try:
            with h5py.File(self.path, "r") as file:
                yield file
        # A damaged file can make the HDF5 library raise almost anything.
        except (OSError, RuntimeError, ValueError, KeyError) as error:
            found = describe_file(self.path)
            raise VectorsError(f"{self.path}: expected HDF5 vectors, one dataset a sentence, found {found}") from error

    @property
    def text(self) -> Path:
        """Where the text that was embedded may stand."""
        return self.path.with_suffix(".txt")

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Layers and width, of the first sentence."""
        with self.opened() as file:
            self._check_names(file)
            n_layers, _, dim = self._shape(file, 0)
        return n_layers, dim

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """The number of tokens of each sentence.

        Raises
        ------
        VectorsError
            If a sentence has other layers or another width than the first one, or a number is left out.
        """
        lengths = []
        shape = self.shape
        with self.opened() as file:
            self._check_names(file)
            for sentence in range(len(set(file) - {_SENTENCES})):
                n_layers, n_tokens, dim = self._shape(file, sentence)
                if (n_layers, dim) != shape:
                    raise VectorsError(
                        f"{self.path}: dataset {sentence} has {n_layers} layers of width {dim}, dataset 0 has "
                        f"{shape[0]} of width {shape[1]}"
                    )
                lengths.append(n_tokens)
        return tuple(lengths)

    @cached_property
    def words(self) -> tuple[Words | None, ...] | None:
        """The words of each sentence that is known; None where nothing says what text it was."""
        if self.text.is_file():
            return tuple(tuple(map(plain_word, words)) for words in read_sentences(self.text))
        with self.opened() as file:
            if _SENTENCES not in file:
                return None
            try:
                number_of = json.loads(file[_SENTENCES][0])
                known = {int(number): tuple(sentence.split()) for sentence, number in number_of.items()}
            except (ValueError, TypeError, AttributeError) as error:
                raise VectorsError(f"{self.path}: dataset {_SENTENCES} is not what AllenNLP writes") from error
        return tuple(known.get(sentence) for sentence in range(len(self.lengths)))

    def difference(self, sentences: Sequence[Words]) -> tuple[int, str] | None:
        """Return the first sentence, counted from 0, that is not of this text, and how it differs; None if none."""
        if self.words is not None and len(self.words) != len(self.lengths):
            return 0, f"it has {len(self.lengths):,} sentences, but {self.text.name} has {len(self.words):,} lines"
        for index, (words, length) in enumerate(zip(sentences, self.lengths, strict=False)):
            found = self.words[index] if self.words is not None else None
            if length != len(words):
                return index, f"sentence {index + 1} ({_start(words)}) has {len(words)} tokens, in the file {length}"
            if found is not None and found != words:
                if len(found) != len(words):
                    return (
                        index,
                        f"sentence {index + 1} ({_start(words)}) has {len(words)} words, its text {len(found)}",
                    )
                token = next(token for token in range(length) if found[token] != words[token])
                return (
                    index,
                    f"sentence {index + 1}: token {token + 1} is {words[token]!r}, in the file {found[token]!r}",
                )
        if len(sentences) == len(self.lengths):
            return None
        index = min(len(sentences), len(self.lengths))
        missing = f", and lacks sentence {index + 1} ({_start(sentences[index])})" if index < len(sentences) else ""
        return index, f"the file has {len(self.lengths):,} sentences{missing}"

    def read(self) -> Iterator[NDArray[np.float32]]:
        """Yield each sentence's vectors, float32 [n_layers, n_tokens, dim].

        Raises
        ------
        VectorsError
            If a value is not finite, in float32.
        """
        lengths = self.lengths
        with self.opened() as file:
            for sentence, length in enumerate(lengths):
                with np.errstate(over="ignore"):  # an infinity is told of below
                    layers = file[str(sentence)][()].astype(np.float32)
                layers = layers.reshape(self.shape[0], length, self.shape[1])
                if not np.isfinite(layers).all():
                    layer = int(np.argmin(np.isfinite(layers).all(axis=(1, 2))))
                    raise VectorsError(f"{self.path}: dataset {sentence}: layer {layer} has a value that is not finite")
                yield layers

    def _check_names(self, file: h5py.File) -> None:
        """Refuse what is no file of vectors."""
        names = set(file) - {_SENTENCES}
        if names & _WEIGHTS:
            raise VectorsError(
                f"{self.path}: holds the weights of a biLM, not vectors: name them as "
                "{bilm: 'options.json,weights.hdf5'}"
            )
        if not names:
            raise VectorsError(f"{self.path}: holds no sentences")
        others = sorted(name for name in names if not (name.isascii() and name.isdecimal()))
        if others:
            shown = repr(others[0][:_SHOWN])
            if isinstance(file[others[0]], h5py.Group):
                what = f"{shown} is a group: a sentence was its own key, and what has a '/' in it is no dataset"
            else:
                what = f"dataset {shown} has no number"
            raise VectorsError(f"{self.path}: {what}; the key of a sentence is its number, from 0")

    def _shape(self, file: h5py.File, sentence: int) -> tuple[int, int, int]:
        """Return layers, tokens and width of one sentence."""
        found = file.get(str(sentence))
        if not isinstance(found, h5py.Dataset):
            what = "is missing" if found is None else "is a group"
            raise VectorsError(f"{self.path}: dataset {sentence} {what}: sentences are numbered from 0, none left out")
        if found.dtype.kind != "f" or found.ndim not in (2, 3):
            raise VectorsError(
                f"{self.path}: dataset {sentence} holds {found.dtype} of shape {found.shape}, expected "
                "floating-point numbers [n_layers, n_tokens, dim] or [n_tokens, dim]"
            )
        n_layers, n_tokens, dim = found.shape if found.ndim == 3 else (1, *found.shape)
        return n_layers, n_tokens, dim


def _start(words: Words) -> str:
    text = " ".join(words)
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
