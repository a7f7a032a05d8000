"""Vectors that another tool wrote as an encoder: the file of a text is found by that text, and compared with it."""

import hashlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from probing.corpora import data_folder
from probing.corpora.plain import plain_word
from probing.corpora.registry import expand
from probing.encoders.base import EncoderConfig, Name, last_part
from probing.encoders.vector_file import VectorFile, VectorsError, Words

logger = logging.getLogger(__name__)

_ADVICE = "`probing text CONFIG --out DIR` writes the text to embed"


class Hdf5Encoder:
    """The vectors of some texts; see `probing.encoders.base.Encoder`.

    Parameters
    ----------
    files : sequence of VectorFile
        At least one.
    description : str

    Raises
    ------
    VectorsError
        If the files differ in layers or width, or one holds no vectors.
    """

    def __init__(self, files: Sequence[VectorFile], description: str) -> None:
        self._files = files
        n_layers, self.dim = files[0].shape
        for file in files:
            if file.shape != files[0].shape:
                raise VectorsError(
                    f"{file.path} has {file.shape[0]} layers of width {file.shape[1]}, {files[0].path.name} beside it "
                    f"{n_layers} of width {self.dim}: one encoder's files are of one network"
                )
        self.layer_names = tuple(f"layer {layer}" for layer in range(n_layers))
        self.description = description
        self._digests = [_digest(file.path) for file in files]
        texts = [_digest(file.text) if file.text.is_file() else "" for file in files]
        self.fingerprint = hashlib.sha256("\n".join(["hdf5", *self._digests, *texts]).encode()).hexdigest()

    def encode(self, sentences: Iterable[Sequence[str]]) -> Iterator[NDArray[np.float32]]:
        """Yield one array `[n_layers, n_tokens, dim]` a sentence, in the order given.

        The vectors are those of the file that is of just these sentences, in this order: with the same words where its
        text is known, which goes before, else with the same number of tokens in each.

        Raises
        ------
        VectorsError
            If no file is; the message names the one that agrees longest and where it differs. Or if several fit and
            no text tells which is right.
        """
        asked = [tuple(map(plain_word, words)) for words in sentences]
        yield from self._file_of(asked).read()

    def _file_of(self, asked: Sequence[Words]) -> VectorFile:
        differences = [file.difference(asked) for file in self._files]
        fitting = [index for index, difference in enumerate(differences) if difference is None]
        of_known_text = [index for index in fitting if self._files[index].words is not None]
        fitting = of_known_text or fitting
        if not fitting:
            found = [
                (index, what, file) for file, (index, what) in zip(self._files, filter(None, differences), strict=True)
            ]
            _, what, file = max(found, key=lambda one: one[0])
            nearest = " (the nearest file)" if len(self._files) > 1 else ""
            raise VectorsError(
                f"{file.path}{nearest}: not the vectors of these {len(asked):,} sentences: {what}; {_ADVICE}"
            )
        names = [self._files[index].path.name for index in fitting]
        if len({self._digests[index] for index in fitting}) > 1:
            if not of_known_text:
                raise VectorsError(
                    f"{self._files[fitting[0]].path}: {' and '.join(names)} have other vectors, but fit these "
                    f"sentences alike: put the text of each beside it ({names[0].removesuffix('.hdf5')}.txt, ...)"
                )
            logger.warning("%s have other vectors of the same text; the first is used", " and ".join(names))
        return self._files[fitting[0]]


class Hdf5EncoderConfig(EncoderConfig):
    """Vectors of the tasks' texts that another tool wrote; what it is called is `name`, or the folder's.

    Attributes
    ----------
    hdf5 : str
        A folder of `NAME.hdf5`, one for each text, or one such file; also relative to the data folder. `NAME.txt`
        beside it is the text that was embedded, as `probing text` writes it: a sentence is then compared word by word,
        else by its number of tokens.
    name : str, optional
        What it is called in results.
    """

    hdf5: str = Field(min_length=1)
    name: Name = None

    @property
    def label(self) -> str:
        """The given name, or the path's last part."""
        return self.name or last_part(self.hdf5).removesuffix(".hdf5") or self.hdf5

    @property
    def n_layers(self) -> int:
        """The layers of the first file."""
        return self._files()[0].shape[0]

    def check(self) -> None:
        """See that there is a file of vectors; what is in the others is seen when they are read."""
        self._files()[0].shape  # noqa: B018  # reads it, and may raise

    def build(self, seed: int | None) -> Hdf5Encoder:
        """Look at every file."""
        files = self._files()
        n_layers, dim = files[0].shape
        count = f"{len(files)} HDF5 file{'s' * (len(files) > 1)}"
        return Hdf5Encoder(files, f"vectors of {self.hdf5} ({count}): {n_layers} layers of width {dim}")

    def _files(self) -> list[VectorFile]:
        path = expand(self.hdf5)
        path = path if path.exists() else data_folder() / self.hdf5
        if not path.exists():
            raise VectorsError(f"{self.hdf5}: there is no such folder or file of vectors; {_ADVICE}")
        files = [VectorFile(file) for file in (sorted(path.glob("*.hdf5")) if path.is_dir() else [path])]
        if not files:
            raise VectorsError(f"{path}: no file in this folder is called NAME.hdf5; {_ADVICE}")
        return files


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise VectorsError(f"{path}: cannot be read ({error.strerror or error})") from error
