"""The biLM as an encoder: trained, or of the same shape with weights drawn from given seeds."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from bilm.checkpoint import find_model, load_config
from bilm.config import ARCHITECTURES, BiLMConfig
from bilm.embedder import WARM_UP_TEXT, Embedder, StatePolicy
from bilm.errors import UserError
from bilm.model import BiLM
from probing.corpora import data_folder
from probing.corpora.registry import expand
from probing.encoders.base import EncoderConfig, Name, Untrained, last_part
from probing.results import UNTRAINED


class BilmEncoder:
    """A biLM and its state policy; see `probing.encoders.base.Encoder`."""

    def __init__(self, model: BiLM, state: StatePolicy, device: str, description: str) -> None:
        self._embedder = Embedder(model, state=state, device=device)
        self.layer_names = ("token encoder", *(f"LSTM {layer + 1}" for layer in range(model.n_layers)))
        self.dim = model.dim
        self.description = description
        parts = ["bilm", state, model.fingerprint()]
        if state == "warm":
            parts.append(WARM_UP_TEXT.read_text(encoding="utf-8"))
        self.fingerprint = hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def encode(self, sentences: Iterable[Sequence[str]]) -> Iterator[NDArray[np.float32]]:
        """Yield one array `[n_layers + 1, n_tokens, dim]` a sentence; under "carry" each call is a text of its own."""
        self._embedder.reset()
        return self._embedder.embed(sentences)


class BilmEncoderConfig(EncoderConfig):
    """A biLM.

    Attributes
    ----------
    bilm : str
        A shipped name, a model folder (native or released format, also relative to the data folder), or
        "options.json,weights.hdf5". With `untrained`, also the name of a shape alone: elmo-small, elmo-medium,
        elmo-original.
    untrained : list of int, optional
        Take only the model's shape and draw its weights from each of these seeds: what the architecture knows by
        itself.
    state : {"reset", "carry", "warm"}
        What a sentence starts from; see `bilm.Embedder`.
    device : str
        "auto" takes a GPU where there is one.
    name : str, optional
        What it is called in results.
    """

    bilm: str = Field(min_length=1)
    untrained: Untrained = None
    state: Literal["reset", "carry", "warm"] = "reset"
    device: str = "auto"
    name: Name = None

    @property
    def label(self) -> str:
        """The given name, or the path's last part; a state policy other than reset, and "(untrained)", are added."""
        label = self.name or last_part(self.bilm.split(",")[-1])
        if self.state != "reset" and not self.name:
            label += f" ({self.state})"
        return label + UNTRAINED if self.untrained else label

    @property
    def seeds(self) -> tuple[int | None, ...]:
        """The seeds of untrained networks."""
        return self.untrained or (None,)

    @property
    def n_layers(self) -> int:
        """The token encoder's layer and the LSTM layers."""
        return self._shape().lstm.n_layers + 1

    def check(self) -> None:
        """See that there is such a model, with weights where they are needed."""
        self._shape()
        if not self.untrained:
            found = find_model(self._find())
            weights = found / "model.safetensors" if isinstance(found, Path) else found[1]
            if not weights.is_file():
                raise UserError(f"{weights}: there is no such file, which should hold the weights of {self.bilm}")

    def build(self, seed: int | None) -> BilmEncoder:
        """Load the weights, or draw them from `seed`."""
        if seed is None:
            model = BiLM.from_pretrained(self._find())
            description = f"trained weights of {self.bilm}"
        else:
            model = BiLM(self._shape(), seed=seed)
            description = f"the shape of {self.bilm} with random weights"
        lstm = model.config.lstm
        description += f": {lstm.n_layers} layers, LSTM {lstm.dim} projected to {lstm.projection_dim} in each direction"
        return BilmEncoder(model, self.state, self.device, description)

    def _shape(self) -> BiLMConfig:
        if self.untrained and self.bilm in ARCHITECTURES:
            return ARCHITECTURES[self.bilm]
        return load_config(self._find())

    def _find(self) -> str:
        """Return what `BiLM.from_pretrained` takes: the model as named, or where the data folder has it."""
        here = ",".join(str(expand(part)) for part in self.bilm.split(","))
        try:
            find_model(here)
        except UserError:
            in_data_folder = data_folder() / self.bilm
            if not in_data_folder.is_dir():
                raise
            return str(in_data_folder)
        return here
