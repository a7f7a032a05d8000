"""The bidirectional language model: token encoder, forward stack, backward stack, optional output layer.

What it remembers between sentences is passed in and returned, never kept: the same call gives the same vectors.
`bilm.embedder` turns many sentences into vectors and keeps a state where one is wanted.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bilm.characters import boundary_ids
from bilm.config import BiLMConfig
from bilm.lstm import LSTMStack, LSTMState
from bilm.softmax import OutputLayer
from bilm.token_encoder import TokenEncoder
from bilm.vocabulary import Vocabulary

if TYPE_CHECKING:
    from bilm.embedder import StatePolicy


class BiLMState(NamedTuple):
    """What the two directions remember of each row of a batch. They never exchange it."""

    forward: LSTMState
    backward: LSTMState

    def rows(self, index: Tensor) -> "BiLMState":
        """Pick and order rows of the batch."""
        return BiLMState(self.forward.rows(index), self.backward.rows(index))


class BiLMOutput(NamedTuple):
    """What the network says of a batch.

    Attributes
    ----------
    layers : float tensor, shape (n_layers + 1, batch, time, 2 * projection_dim)
        Layer 0 is the token vector twice; layers 1.. are `[forward; backward]` of each LSTM layer, skip connections
        included. Zero where there is no token. `layers[1:, ..., :projection_dim]` is the forward direction alone.
    mask : bool tensor, shape (batch, time)
        True where there is a token.
    state : BiLMState
        After each row's own last step; to be passed to the next call, or dropped.
    """

    layers: Tensor
    mask: Tensor
    state: BiLMState


class BiLM(nn.Module):
    """The language model of Peters et al. 2018.

    Parameters
    ----------
    config : BiLMConfig
    seed : int or None
        For the random weights; None leaves them unset, for a caller that fills them in.
    vocabulary : Vocabulary, optional
        Gives the model an output layer over these words. The released weights have none.
    """

    boundary_ids: Tensor

    def __init__(self, config: BiLMConfig, *, seed: int | None = 0, vocabulary: Vocabulary | None = None) -> None:
        super().__init__()
        self.config = config
        self.vocabulary = vocabulary
        # PyTorch's modules draw weights from the global generator when they are made; on the meta device they draw
        # nothing.
        with torch.device("meta"):
            self.token_encoder = TokenEncoder(config)
            self.forward_lstm = LSTMStack(config.lstm)
            self.backward_lstm = LSTMStack(config.lstm)
            self.output = None if vocabulary is None else OutputLayer(len(vocabulary), config.lstm.projection_dim)
        self.to_empty(device="cpu")
        boundaries = torch.from_numpy(boundary_ids(config.char_cnn.max_characters_per_token))
        self.register_buffer("boundary_ids", boundaries, persistent=False)
        if seed is not None:
            self.reset_parameters(seed)

    @property
    def n_layers(self) -> int:
        """LSTM layers in each direction; the representation has one layer more."""
        return self.config.lstm.n_layers

    @property
    def dim(self) -> int:
        """Width of every layer of the representation: `2 * projection_dim`."""
        return 2 * self.config.lstm.projection_dim

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.boundary_ids.device

    @property
    def max_characters(self) -> int:
        """Columns of a word's row of byte ids."""
        return self.config.char_cnn.max_characters_per_token

    @classmethod
    def from_pretrained(cls, model: str | Path) -> "BiLM":
        """Load a model.

        Parameters
        ----------
        model : str or Path
            A shipped name, a native folder, or the released files: a folder that holds them, or
            "options.json,weights.hdf5".

        Raises
        ------
        ModelError
            If there is no such model, or the files are something else; one line that says what was expected and what
            was found.
        """
        from bilm.checkpoint import load_model  # the file formats build on this module

        return load_model(model)

    def embed(self, sentences: Iterable[Sequence[str]], *, state: "StatePolicy" = "reset") -> list[NDArray[np.float32]]:
        """Represent sentences of words; `bilm.Embedder` does so for more than fit into memory.

        Parameters
        ----------
        sentences : iterable of sequences of str
            Words; a sentence may be empty.
        state : {"reset", "carry", "warm"}
            What a sentence starts from; see `bilm.Embedder`.

        Returns
        -------
        list of float32 arrays, shape (n_layers + 1, n_tokens, 2 * projection_dim)
            One for each sentence: layer 0 is the token encoder's.

        Examples
        --------
        >>> from bilm import BiLM
        >>> model = BiLM.from_pretrained("small-en")
        >>> river, money = model.embed([["A", "river", "bank"], ["The", "bank", "closed"]])
        >>> river.shape
        (3, 3, 256)
        >>> bool((river[0, 2] == money[0, 1]).all()), bool((river[1, 2] == money[1, 1]).all())  # "bank", "bank"
        (True, False)
        """
        from bilm.embedder import Embedder  # it builds on this module

        training = self.training
        try:
            return list(Embedder(self, state=state, device=self.device).embed(sentences))
        finally:
            self.train(training)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write a native folder: config.json, model.safetensors, and vocab.txt where there is an output layer."""
        from bilm.checkpoint import save_native

        save_native(self, Path(folder))

    def forward(
        self, character_ids: Tensor, state: BiLMState | None = None, *, keep_boundaries: bool = False
    ) -> BiLMOutput:
        """Represent a batch of sentences.

        Parameters
        ----------
        character_ids : int64 tensor, shape (batch, time, max_characters_per_token)
            As `bilm.characters.batch_to_ids` makes them: zero rows are padding, on the right only; boundaries not
            included.
        state : BiLMState, optional
            What each row goes on from; zeros by default. A row without tokens leaves its state as it is.
        keep_boundaries : bool
            Keep the positions of `<S>` and `</S>` in the output: time becomes time + 2.

        Raises
        ------
        ValueError
            If a row has padding before a token, or `state` has another number of rows.
        TypeError
            If `character_ids` is something else, such as the sentences themselves.
        """
        if not isinstance(character_ids, Tensor) or character_ids.ndim != 3:
            raise TypeError("character_ids: expected a tensor (batch, time, characters), as batch_to_ids makes it")
        mask = (character_ids > 0).any(dim=2)  # [batch, time]
        lengths = mask.sum(dim=1)
        if mask.shape[1] and not torch.equal(mask, _positions(mask.shape[1], lengths)):
            raise ValueError("character_ids has padding (a zero row) before a token: pad on the right only")
        distinct, inverse = torch.unique(character_ids[mask], dim=0, return_inverse=True)
        vectors = torch.cat([self.encode_tokens(self.boundary_ids), self.encode_tokens(distinct)])
        tokens = vectors.new_zeros(*mask.shape, vectors.shape[1])
        tokens = tokens.masked_scatter(mask.unsqueeze(2), vectors[2:][inverse])
        return self.contextualize(tokens, vectors[:2], lengths, state, keep_boundaries=keep_boundaries)

    def encode_tokens(self, character_ids: Tensor) -> Tensor:
        """Encode words alone: byte ids, shape (n, max_characters_per_token), to vectors, shape (n, projection_dim)."""
        width = self.config.char_cnn.max_characters_per_token
        if character_ids.shape[-1] != width:
            raise ValueError(f"rows of {character_ids.shape[-1]} byte ids; this model reads rows of {width}")
        vectors: Tensor = self.token_encoder(character_ids)
        return vectors

    def contextualize(
        self,
        tokens: Tensor,
        boundaries: Tensor,
        lengths: Tensor,
        state: BiLMState | None = None,
        *,
        keep_boundaries: bool = False,
    ) -> BiLMOutput:
        """Run both directions over token vectors: the part of `forward` after the token encoder.

        Parameters
        ----------
        tokens : float tensor, shape (batch, time, projection_dim)
            What lies beyond a row's length is ignored.
        boundaries : float tensor, shape (2, projection_dim)
            The vectors of `<S>` and `</S>`.
        lengths : int64 tensor, shape (batch,)
            Tokens in each row.
        state, keep_boundaries
            As in `forward`.
        """
        batch, time, dim = tokens.shape
        state = self.zero_state(batch) if state is None else state
        if state.forward.hidden.shape[1] != batch:
            raise ValueError(f"the state has {state.forward.hidden.shape[1]} rows, the batch {batch}")
        padded = torch.cat([boundaries[0].expand(batch, 1, dim), tokens, tokens.new_zeros(batch, 1, dim)], dim=1)
        ends = torch.arange(time + 2, device=lengths.device) == lengths.unsqueeze(1) + 1  # [batch, time + 2]
        padded = torch.where(ends.unsqueeze(2), boundaries[1], padded)
        # An empty row has no boundaries either: it takes no step, so its state stays.
        steps = torch.where(lengths > 0, lengths + 2, 0)

        order = torch.argsort(steps, descending=True, stable=True)
        steps = steps[order]
        running = _positions(time + 2, steps).t()  # [time + 2, batch]
        batch_sizes = [size for size in running.sum(dim=1).tolist() if size]
        step, row = running.nonzero(as_tuple=True)  # time step after time step, longest row first: the packed order
        positions = order[row] * (time + 2)  # where each packed row lies in `padded`, [batch * (time + 2)] flat
        read = {"forward": positions + step, "backward": positions + steps[row] - 1 - step}

        layers = [padded.flatten(0, 1).repeat(1, 2)]
        outputs, states = [], []
        for name, stack in (("forward", self.forward_lstm), ("backward", self.backward_lstm)):
            direction: LSTMState = getattr(state, name)
            packed, final = stack(padded.flatten(0, 1)[read[name]], batch_sizes, direction.rows(order))
            empty = padded.new_zeros(batch * (time + 2), dim)
            outputs.append([empty.index_copy(0, read[name], layer) for layer in packed])
            states.append(final.rows(torch.argsort(order)))
        layers += [torch.cat(pair, dim=1) for pair in zip(*outputs, strict=True)]

        stacked = torch.stack(layers).view(self.n_layers + 1, batch, time + 2, 2 * dim)
        mask = _positions(time + 2, torch.where(lengths > 0, lengths + 2, 0))
        if not keep_boundaries:
            stacked, mask = stacked[:, :, 1:-1], _positions(time, lengths)
        # Not a product: whatever a caller left beyond a row's length, NaN among it, becomes zero.
        return BiLMOutput(torch.where(mask.unsqueeze(2), stacked, 0), mask, BiLMState(*states))

    def zero_state(self, batch: int) -> BiLMState:
        """Return the state before any text for `batch` rows."""
        lstm = self.config.lstm
        weight = next(self.parameters())
        hidden = weight.new_zeros(lstm.n_layers, batch, lstm.projection_dim)
        zeros = LSTMState(hidden, weight.new_zeros(lstm.n_layers, batch, lstm.dim))
        return BiLMState(zeros, zeros)

    def reset_parameters(self, seed: int) -> None:
        """Draw all weights anew from `seed`, with the reference code's distributions."""
        generator = torch.Generator().manual_seed(seed)
        self.token_encoder.reset_parameters(generator)
        self.forward_lstm.reset_parameters(generator)
        self.backward_lstm.reset_parameters(generator)
        if self.output is not None:
            self.output.reset_parameters(generator)

    def fingerprint(self) -> str:
        """Return a hash of all that the representation depends on: shape and weights, not the output layer."""
        config = self.config.model_dump(mode="json", exclude={"char_cnn": {"n_characters"}})
        digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode())
        for name, tensor in sorted(self.state_dict().items()):
            if not name.startswith("output."):
                digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
                digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()


def _positions(time: int, lengths: Tensor) -> Tensor:
    """Return which of `time` positions lie within each length: bool tensor, shape (batch, time)."""
    return torch.arange(time, device=lengths.device) < lengths.unsqueeze(1)
