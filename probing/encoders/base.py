"""What an encoder is: sentences in, an array of layers a sentence out, a fingerprint of all that they depend on."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from bilm.settings import Seed


def _seeds_differ(seeds: tuple[int, ...] | None) -> tuple[int, ...] | None:
    if seeds and len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds are distinct, not {list(seeds)}: the same seed is the same network")
    return seeds


Untrained = Annotated[tuple[Seed, ...] | None, Field(min_length=1), AfterValidator(_seeds_differ)]
"""Seeds to draw a network's weights from, each once, in place of those that were trained."""
Name = Annotated[str | None, Field(pattern=r"^[^\x00-\x1f|]{1,80}$")]
"""What an encoder is called in results: it must fit a cell of a table and a line."""


def last_part(path: str) -> str:
    """Return the last part of a path, or the path itself where it has none: no name may be empty."""
    return Path(path).name or path


class Encoder(Protocol):
    """A frozen network.

    Attributes
    ----------
    layer_names : tuple of str
        One for each layer of the representation, from the lowest. Layer 0 is what the network knows of a word without
        its context.
    dim : int
        Width of every layer.
    fingerprint : str
        Equal fingerprints promise equal vectors: a hash of weights and settings.
    description : str
        One line for the report.
    """

    layer_names: tuple[str, ...]
    dim: int
    fingerprint: str
    description: str

    def encode(self, sentences: Iterable[Sequence[str]]) -> Iterator[NDArray[np.float32]]:
        """Yield one array `[n_layers, n_tokens, dim]` a sentence, in the order given."""
        ...


class EncoderConfig(BaseModel):
    """The keys of an encoder in a config. One subclass a kind, registered in `ENCODERS`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @property
    @abstractmethod
    def label(self) -> str:
        """What the encoder is called in results."""

    @property
    def seeds(self) -> tuple[int | None, ...]:
        """The seeds of untrained networks, or None once for a trained one."""
        return (None,)

    @property
    @abstractmethod
    def n_layers(self) -> int:
        """Layers of the representation, known without loading the weights."""

    @abstractmethod
    def check(self) -> None:
        """Raise an error if the model is not here, without loading it."""

    @abstractmethod
    def build(self, seed: int | None) -> Encoder:
        """Load the network, or draw it from one of `seeds`."""
