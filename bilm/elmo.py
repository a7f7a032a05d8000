"""ELMo for a task's own model: the layers of a biLM, mixed with weights that the task learns."""

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from bilm.lstm import LSTMState
from bilm.model import BiLM, BiLMState

LayerNorm = Literal["token", "batch"]
_EPSILON = 1e-12


class ScalarMix(nn.Module):
    """`gamma * sum_j softmax(logits)_j * layer_j` (Peters et al. 2018, equation 1).

    Parameters
    ----------
    n_layers : int
        Layers to mix, the token encoder's included.
    layer_norm : {None, "token", "batch"}
        What is done to each layer before mixing. "token" scales every vector to mean 0 and variance 1, without learned
        parameters. "batch" is what the reference code calls layer normalisation: one mean and one variance for each
        layer, over all tokens and dimensions **of the batch**, so that a sentence's vectors depend on the batch it is
        in.

    Attributes
    ----------
    logits : parameter, shape (n_layers,)
        Zero at first: the mix starts as the plain average.
    gamma : parameter, shape ()
        One at first.

    Examples
    --------
    >>> layers = torch.stack([torch.zeros(1, 4, 8), torch.ones(1, 4, 8)])  # (n_layers, batch, time, dim)
    >>> mix = ScalarMix(n_layers=2)
    >>> mix(layers, mask=torch.ones(1, 4, dtype=torch.bool))[0, 0, 0].item()
    0.5
    >>> mix.weights().tolist()
    [0.5, 0.5]
    """

    def __init__(self, n_layers: int, layer_norm: LayerNorm | None = None) -> None:
        super().__init__()
        if layer_norm not in (None, "token", "batch"):
            raise ValueError(f"layer_norm is None, 'token' or 'batch', not {layer_norm!r}")
        self.layer_norm = layer_norm
        self.logits = nn.Parameter(torch.zeros(n_layers))
        self.gamma = nn.Parameter(torch.ones(()))

    def weights(self) -> Tensor:
        """Return the normalised weights, shape (n_layers,), which sum to one."""
        return torch.softmax(self.logits, dim=0)

    def penalty(self, coefficient: float) -> Tensor:
        """Return `coefficient * sum(logits ** 2)`, to be added to the task's loss.

        The paper's lambda ||w||^2: with 1 the mix stays near the plain average, with 0.001 it is free to move.
        """
        return coefficient * self.logits.square().sum()

    def forward(self, layers: Tensor, mask: Tensor) -> Tensor:
        """Mix.

        Parameters
        ----------
        layers : float tensor, shape (n_layers, batch, time, dim)
        mask : bool tensor, shape (batch, time)
            True where there is a token.

        Returns
        -------
        float tensor, shape (batch, time, dim)
            Zero where there is no token.
        """
        if layers.shape[0] != self.logits.shape[0]:
            raise ValueError(f"the mix has {self.logits.shape[0]} weights, the representation {layers.shape[0]} layers")
        if self.layer_norm == "token":
            layers = nn.functional.layer_norm(layers, layers.shape[-1:], eps=_EPSILON)
        elif self.layer_norm == "batch":
            layers = _normalize_over_batch(layers, mask)
        mixed = self.gamma * torch.tensordot(self.weights(), layers, dims=1)
        masked: Tensor = mixed * mask.unsqueeze(-1)
        return masked


class ElmoOutput(NamedTuple):
    """Task vectors of a batch.

    Attributes
    ----------
    representations : tuple of float tensors, shape (batch, time, 2 * projection_dim)
        One for each mix; zero where there is no token.
    mask : bool tensor, shape (batch, time)
    state : BiLMState
        What the biLM remembers of each row, to be passed to the next call, or dropped. No gradient flows through it: a
        fine-tuned biLM that carries its state would otherwise keep every batch so far in memory.
    """

    representations: tuple[Tensor, ...]
    mask: Tensor
    state: BiLMState


class Elmo(nn.Module):
    """A biLM and the mixes that a task learns over its layers, as a module of any PyTorch model.

    Parameters
    ----------
    bilm : BiLM
    n_mixes : int
        Independent mixes over one pass of the biLM: one for the task model's input and one for its output, say.
    dropout : float
        On the mixed vectors, in training mode.
    layer_norm : {None, "token", "batch"}
        As in `ScalarMix`.
    freeze : bool
        Leave the biLM as it is and learn the mixes alone. Otherwise its weights are fine-tuned too.

    Examples
    --------
    >>> from bilm import ARCHITECTURES, BiLM, Elmo, batch_to_ids
    >>> elmo = Elmo(BiLM(ARCHITECTURES["elmo-small"]), n_mixes=1)
    >>> output = elmo(batch_to_ids([["A", "short", "one"], ["Hi"]]))
    >>> output.representations[0].shape
    torch.Size([2, 3, 256])
    """

    def __init__(
        self,
        bilm: BiLM,
        n_mixes: int = 1,
        *,
        dropout: float = 0.5,
        layer_norm: LayerNorm | None = None,
        freeze: bool = True,
    ) -> None:
        super().__init__()
        self.bilm = bilm
        self.mixes = nn.ModuleList(ScalarMix(bilm.n_layers + 1, layer_norm) for _ in range(n_mixes))
        self.dropout = nn.Dropout(dropout)
        self.freeze = freeze
        if freeze:
            bilm.requires_grad_(False)

    def forward(self, character_ids: Tensor, state: BiLMState | None = None) -> ElmoOutput:
        """Represent a batch.

        Parameters
        ----------
        character_ids : int64 tensor, shape (batch, time, max_characters_per_token)
            From `bilm.characters.batch_to_ids`; sentence boundaries not included.
        state : BiLMState, optional
            What each row goes on from; zeros by default.
        """
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.freeze):
            output = self.bilm(character_ids, state)
        mixed = (mix(output.layers, output.mask) for mix in self.mixes)
        return ElmoOutput(tuple(self.dropout(vectors) for vectors in mixed), output.mask, _detached(output.state))


def _detached(state: BiLMState) -> BiLMState:
    forward, backward = (LSTMState(direction.hidden.detach(), direction.cell.detach()) for direction in state)
    return BiLMState(forward, backward)


def _normalize_over_batch(layers: Tensor, mask: Tensor) -> Tensor:
    """Scale each layer by its mean and variance over all tokens and dimensions of the batch."""
    tokens = mask.unsqueeze(-1)
    count = (mask.sum() * layers.shape[-1]).clamp(min=1)
    mean = (layers * tokens).sum(dim=(1, 2, 3), keepdim=True) / count
    variance = (((layers - mean) * tokens) ** 2).sum(dim=(1, 2, 3), keepdim=True) / count
    return (layers - mean) / torch.sqrt(variance + _EPSILON)
