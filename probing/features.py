"""Layers at the Examples' spans, on disk: made once for an encoder, sentences and spans, then memory-mapped.

The store is content-addressed: a folder's name is a hash of everything that its numbers depend on, so nothing in it
is ever stale.
"""

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from bilm.console import track
from bilm.errors import UserError
from bilm.files import atomic_path, write_text
from probing.corpora.registry import expand
from probing.encoders import Encoder
from probing.tasks import Split

logger = logging.getLogger(__name__)

_FORMAT = 1
"""Part of every key: raised when the same inputs would give other files."""
_ROWS = 4096


class FeatureError(UserError):
    """Features that cannot be made or used; the message names layer and sentence, or the folder."""


class Features:
    """Vectors of one split's examples.

    Attributes
    ----------
    layers : float32 array, memory-mapped, shape (n_layers, n_examples, dim)
        The mean of each layer over each example's span.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.layers: NDArray[np.float32] = np.load(folder / "layers.npy", mmap_mode="r")

    def view(self, name: str) -> NDArray[np.float32]:
        """Return what a probe sees: one matrix, memory-mapped, a row an example.

        Parameters
        ----------
        name : str
            A layer's number, "mean" (the plain average of the layers; width dim), "concat" (all layers side by side;
            width n_layers * dim), or "0+1", "0+mean" and so on (layer 0 and another layer or the mean side by side;
            width 2 * dim).
        """
        n_layers, n_examples, dim = self.layers.shape
        if self._is_layer(name):
            layer: NDArray[np.float32] = self.layers[int(name)]
            return layer
        second = name.removeprefix("0+")
        if name not in ("mean", "concat") and (second == name or not (second == "mean" or self._is_layer(second))):
            raise FeatureError(
                f"no view {name!r}: the layers are 0 to {n_layers - 1}; there are also mean, concat, "
                "and 0+1 or 0+mean, which put layer 0 beside another layer or the mean"
            )
        widths = {"mean": dim, "concat": n_layers * dim}
        path, width = self._folder / f"{name}.npy", widths.get(name, 2 * dim)
        view = _load(path, (n_examples, width))
        if view is None:
            self._write_view(name, path, width)
            view = np.load(path, mmap_mode="r")
        return view

    def _is_layer(self, name: str) -> bool:
        return name.isdecimal() and int(name) < len(self.layers)

    def _write_view(self, name: str, path: Path, width: int) -> None:
        n_examples = self.layers.shape[1]
        with atomic_path(path) as temporary:
            matrix = _new_array(temporary, (n_examples, width))
            for start in range(0, n_examples, _ROWS):
                matrix[start : start + _ROWS] = _joined(name, self.layers[:, start : start + _ROWS])
            matrix.flush()


def _joined(name: str, layers: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a view (n_examples, width) of some examples' layers (n_layers, n_examples, dim)."""
    if name.startswith("0+"):
        return np.concatenate([layers[0], _joined(name.removeprefix("0+"), layers)], axis=1)
    if name == "concat":
        return np.concatenate(list(layers), axis=1)
    joined: NDArray[np.float32] = layers.mean(axis=0) if name == "mean" else layers[int(name)]
    return joined


class FeatureStore:
    """A folder of features.

    Parameters
    ----------
    folder : Path, optional
        The environment's PROBING_CACHE by default, else the user's cache directory. It can be deleted at any time.
    """

    def __init__(self, folder: Path | None = None) -> None:
        named = os.environ.get("PROBING_CACHE")
        default = expand(named) if named else platformdirs.user_cache_path("layer-probing")
        self.folder = (folder or default) / "features"

    def get(self, encoder: Encoder, split: Split, description: str) -> Features:
        """Return the features of a split, from the store or newly made.

        Raises
        ------
        FeatureError
            If the encoder gives a wrong number of vectors or a value that is not finite (layer and sentence are named),
            or the disk has no room.
        """
        folder = self.folder / _key(encoder, split)
        shape = (len(encoder.layer_names), len(split.examples), encoder.dim)
        if _load(folder / "layers.npy", shape) is None:
            self._make(encoder, split, folder, shape, description)
        return Features(folder)

    def _make(
        self, encoder: Encoder, split: Split, folder: Path, shape: tuple[int, int, int], description: str
    ) -> None:
        n_bytes = 4 * int(np.prod(shape))
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = f"cannot be made ({error.strerror}); PROBING_CACHE names another folder"
            raise FeatureError(f"{self.folder}: {reason}") from error
        free = shutil.disk_usage(self.folder).free
        logger.info("%s: writing %.2f GB of features to %s", description, n_bytes / 1e9, self.folder)
        if n_bytes > free:
            raise FeatureError(
                f"{self.folder}: features need {n_bytes / 1e9:.1f} GB, the disk has {free / 1e9:.1f} GB left; "
                "PROBING_CACHE names another folder"
            )
        with atomic_path(folder) as temporary:
            temporary.mkdir()
            layers = _new_array(temporary / "layers.npy", shape)
            start = 0
            for vectors in _span_means(encoder, split, description):
                layers[:, start : start + vectors.shape[1]] = vectors
                start += vectors.shape[1]
            layers.flush()
            about = {"encoder": encoder.description, "shape": shape, "sentences": split.sentences[0].source}
            write_text(temporary / "about.json", json.dumps(about, indent=2, ensure_ascii=False) + "\n")


def _span_means(encoder: Encoder, split: Split, description: str) -> Iterator[NDArray[np.float32]]:
    """Yield, sentence after sentence, the mean of each layer over each example's span: [n_layers, examples, dim]."""
    spans: list[list[tuple[int, int]]] = [[] for _ in split.sentences]
    for example in split.examples:
        spans[example.sentence].append((example.start, example.stop))
    tokens = (sentence.tokens for sentence in split.sentences)
    encoded = track(encoder.encode(tokens), description, total=len(split.sentences))
    for sentence, places, layers in zip(split.sentences, spans, encoded, strict=True):
        expected = (len(encoder.layer_names), len(sentence.tokens), encoder.dim)
        if layers.shape != expected:
            raise FeatureError(f"{sentence.place()}: the encoder gave {layers.shape}, expected {expected}")
        if not np.isfinite(layers).all():
            layer = int(np.argmin(np.isfinite(layers).all(axis=(1, 2))))
            raise FeatureError(
                f"{sentence.place()}: layer {layer} ({encoder.layer_names[layer]}) has a value that is not finite"
            )
        starts = [start for start, _ in places]
        if all(stop == start + 1 for start, stop in places):
            yield layers[:, starts]
        else:
            yield np.stack([layers[:, start:stop].mean(axis=1) for start, stop in places], axis=1)


def _new_array(path: Path, shape: tuple[int, ...]) -> np.memmap[Any, np.dtype[np.float32]]:
    """Make a file and map it for writing.

    Its room on the disk is taken now, where the system can: a disk that is full when a mapped page is written ends the
    process without a word.
    """
    array: np.memmap[Any, np.dtype[np.float32]] = open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return array


def _load(path: Path, shape: tuple[int, ...]) -> NDArray[np.float32] | None:
    """Map a file of the store, or return None where it is missing or damaged and must be made (again)."""
    try:
        array: NDArray[np.float32] = np.load(path, mmap_mode="r")
        return array if array.shape == shape and array.dtype == np.float32 else None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except Exception as error:  # a damaged file can raise almost anything
        logger.warning("%s is damaged and is made again (%s)", path, error)
        return None


def _key(encoder: Encoder, split: Split) -> str:
    return hashlib.sha256(f"{_FORMAT} {encoder.fingerprint} {split.content}".encode()).hexdigest()[:32]
