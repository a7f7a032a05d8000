"""An encoder of one's own: a random vector for each word form, and the mean of those around. No training."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import PositiveInt

from probing.encoders import ENCODERS, EncoderConfig


class WindowEncoder:
    """Layer 0 is a word's vector, layer 1 the mean of the vectors around it; see `probing.encoders.Encoder`."""

    layer_names: tuple[str, ...] = ("word", "window")
    dim = 64

    def __init__(self, window: int) -> None:
        self.window = window
        self.fingerprint = hashlib.sha256(f"window {window} {self.dim}".encode()).hexdigest()
        self.description = f"random word vectors, averaged over {window} words on either side"

    def encode(self, sentences: Iterable[Sequence[str]]) -> Iterator[NDArray[np.float32]]:
        """Yield one array `[n_layers, n_tokens, dim]` a sentence, in the order given."""
        for words in sentences:
            vectors = np.array([self._vector(word) for word in words]).reshape(-1, self.dim)
            around = [slice(max(0, place - self.window), place + self.window + 1) for place in range(len(words))]
            means = np.array([vectors[near].mean(axis=0) for near in around]).reshape(-1, self.dim)
            yield np.stack([vectors, means]).astype(np.float32)

    def _vector(self, word: str) -> NDArray[np.float64]:
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8])
        return np.random.default_rng(seed).standard_normal(self.dim)


class WindowEncoderConfig(EncoderConfig):
    """Random word vectors, and their mean over a window.

    Attributes
    ----------
    window : int
        Words on either side.
    """

    window: PositiveInt

    @property
    def label(self) -> str:
        """What the encoder is called in results."""
        return f"window {self.window}"

    @property
    def n_layers(self) -> int:
        """How many layers there are, known without building it."""
        return len(WindowEncoder.layer_names)

    def check(self) -> None:
        """There is no file that could be missing."""

    def build(self, seed: int | None) -> WindowEncoder:
        """Make it; `seed` is one of `seeds`, which is None alone unless a subclass says otherwise."""
        return WindowEncoder(self.window)


ENCODERS["window"] = WindowEncoderConfig
