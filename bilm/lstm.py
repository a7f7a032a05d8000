"""LSTM layers with projection and clipping, over packed sequences; a stack of them reads in one direction.

Packed means: rows sorted from the longest to the shortest, time step after time step, only the rows that are still
running (`torch.nn.utils.rnn.PackedSequence`). There is no padding inside, so padding cannot change a number and costs
nothing. `torch.nn.LSTM(proj_size=...)` has no clipping, which the released weights need.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Generator, Tensor, nn

from bilm.config import LSTMConfig
from bilm.recurrence import Clips, Recurrence

_ROWS_PER_BLOCK = 4096
"""Packed rows whose input projection is made in one matrix product: bounds the memory of a very long sentence."""


class LSTMState(NamedTuple):
    """What one direction remembers of each row of a batch.

    Attributes
    ----------
    hidden : float tensor, shape (n_layers, batch, projection_dim)
        The clipped projection of the last step (without the skip connection).
    cell : float tensor, shape (n_layers, batch, dim)
        The clipped cell of the last step.
    """

    hidden: Tensor
    cell: Tensor

    def rows(self, index: Tensor) -> "LSTMState":
        """Pick and order rows of the batch."""
        return LSTMState(self.hidden.index_select(1, index), self.cell.index_select(1, index))


class ProjectedLSTM(nn.Module):
    """One LSTM layer of TensorFlow's kind: forget bias of 1, cell clip, linear projection, projection clip.

    Gates lie in the order of the released weights: input, candidate, forget, output. The 1 is added to the forget
    gate when the layer runs and is not part of `bias`, so that weights convert without rounding.
    """

    def __init__(self, input_dim: int, config: LSTMConfig) -> None:
        super().__init__()
        self.cell_clip = config.cell_clip
        self.input_weight = nn.Parameter(torch.empty(4 * config.dim, input_dim))
        self.recurrent_weight = nn.Parameter(torch.empty(4 * config.dim, config.projection_dim))
        self.bias = nn.Parameter(torch.empty(4 * config.dim))
        projects = config.projection_dim < config.dim
        self.projection_weight = nn.Parameter(torch.empty(config.projection_dim, config.dim)) if projects else None
        self.proj_clip = config.proj_clip if projects else None

    def forward(
        self, packed: Tensor, batch_sizes: Sequence[int], hidden: Tensor, cell: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Run over all time steps.

        Parameters
        ----------
        packed : float tensor, shape (sum(batch_sizes), input_dim)
        batch_sizes : running rows of each time step, never increasing
        hidden, cell : float tensors, shapes (batch, projection_dim) and (batch, dim)
            The state before the first step. Rows beyond `batch_sizes[0]` have no step and keep it.

        Returns
        -------
        output : float tensor, shape (sum(batch_sizes), projection_dim)
        hidden, cell : float tensors, shapes as given
            Each row's state after its own last step.
        """
        # The forget gate's quarter of the bias gets TensorFlow's constant 1.
        bias = self.bias + torch.repeat_interleave(self.bias.new_tensor([0.0, 0.0, 1.0, 0.0]), self.bias.numel() // 4)
        if torch.is_grad_enabled() and batch_sizes:
            return self._forward_for_training(packed, batch_sizes, hidden, cell, bias)
        recurrent_weight = self.recurrent_weight.t()
        outputs, finished_hidden, finished_cell = [], [], []
        start = 0
        for block in _blocks(batch_sizes):
            stop = start + sum(block)
            projected = torch.addmm(bias, packed[start:stop], self.input_weight.t())  # [block rows, 4 * dim]
            start, offset = stop, 0
            for n_running in block:
                if n_running < hidden.shape[0]:
                    finished_hidden.append(hidden[n_running:])
                    finished_cell.append(cell[n_running:])
                    hidden, cell = hidden[:n_running], cell[:n_running]
                gates = torch.addmm(projected[offset : offset + n_running], hidden, recurrent_weight)
                offset += n_running
                hidden, cell = self._step(gates, cell)
                outputs.append(hidden)
        # Rows finish from the shortest (last) to the longest (first): put them back in the order of the batch.
        hidden = torch.cat([hidden, *reversed(finished_hidden)])
        cell = torch.cat([cell, *reversed(finished_cell)])
        output = torch.cat(outputs) if outputs else packed.new_empty(0, hidden.shape[1])
        return output, hidden, cell

    def _forward_for_training(
        self, packed: Tensor, batch_sizes: Sequence[int], hidden: Tensor, cell: Tensor, bias: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Do the same, remembering what the gradient needs. No gradient flows into the state."""
        # Autocast may make the product in half precision; the recurrence keeps the weights' own.
        projected = torch.addmm(bias, packed, self.input_weight.t()).to(bias.dtype)
        outputs, cells, _ = Recurrence.apply(  # type: ignore[no-untyped-call]
            projected,
            self.recurrent_weight,
            self.projection_weight,
            hidden.detach(),
            cell.detach(),
            batch_sizes,
            Clips(self.cell_clip, self.proj_clip),
        )
        last = torch.tensor(_last_rows(batch_sizes), device=packed.device)
        n_run = batch_sizes[0]
        hidden = torch.cat([outputs.detach()[last], hidden[n_run:]])
        return outputs, hidden, torch.cat([cells[last], cell[n_run:]])

    def _step(self, gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """Apply the gates, shape (running, 4 * dim), to the cell, shape (running, dim)."""
        admit, candidate, keep, emit = gates.chunk(4, dim=1)
        cell = torch.sigmoid(keep) * cell + torch.sigmoid(admit) * torch.tanh(candidate)
        if self.cell_clip is not None:
            cell = cell.clamp(-self.cell_clip, self.cell_clip)
        hidden = torch.sigmoid(emit) * torch.tanh(cell)
        if self.projection_weight is not None:
            hidden = hidden @ self.projection_weight.t()
            if self.proj_clip is not None:
                hidden = hidden.clamp(-self.proj_clip, self.proj_clip)
        return hidden, cell

    def reset_parameters(self, generator: Generator) -> None:
        """Draw weights as TensorFlow does: Glorot uniform over input and recurrent weights together, zero bias."""
        n_gates, input_dim = self.input_weight.shape
        bound = (6 / (n_gates + input_dim + self.recurrent_weight.shape[1])) ** 0.5
        nn.init.uniform_(self.input_weight, -bound, bound, generator=generator)
        nn.init.uniform_(self.recurrent_weight, -bound, bound, generator=generator)
        nn.init.zeros_(self.bias)
        if self.projection_weight is not None:
            nn.init.xavier_uniform_(self.projection_weight, generator=generator)


class LSTMStack(nn.Module):
    """The layers of one direction. Skip connections add a layer's input to its output, from the second layer on."""

    def __init__(self, config: LSTMConfig) -> None:
        super().__init__()
        self.use_skip_connections = config.use_skip_connections
        # A layer's input and output have the same width, the first layer's included.
        self.layers = nn.ModuleList(ProjectedLSTM(config.projection_dim, config) for _ in range(config.n_layers))

    def forward(
        self,
        packed: Tensor,
        batch_sizes: Sequence[int],
        state: LSTMState,
        dropout: Callable[[Tensor], Tensor] | None = None,
    ) -> tuple[list[Tensor], LSTMState]:
        """Run every layer over a packed sequence.

        Parameters
        ----------
        packed : float tensor, shape (sum(batch_sizes), projection_dim)
        batch_sizes : running rows of each time step, never increasing
        state : LSTMState
            Rows in the order of the packed sequence (longest first).
        dropout : callable, optional
            Applied to each layer's input; the skip connection adds what it returns, as in the reference code.

        Returns
        -------
        outputs : one float tensor a layer, shape (sum(batch_sizes), projection_dim)
        state : LSTMState
            After each row's own last step.
        """
        outputs, hiddens, cells = [], [], []
        for index, layer in enumerate(self.layers):
            packed = packed if dropout is None else dropout(packed)
            output, hidden, cell = layer(packed, batch_sizes, state.hidden[index], state.cell[index])
            # The sum feeds the next layer and is what the layer exports; the recurrence never sees it.
            packed = output + packed if self.use_skip_connections and index > 0 else output
            outputs.append(packed)
            hiddens.append(hidden)
            cells.append(cell)
        return outputs, LSTMState(torch.stack(hiddens), torch.stack(cells))

    def reset_parameters(self, generator: Generator) -> None:
        """Draw every layer's weights."""
        for layer in self.layers:
            assert isinstance(layer, ProjectedLSTM)
            layer.reset_parameters(generator)


def _last_rows(batch_sizes: Sequence[int]) -> list[int]:
    """Return where each batch row's last step lies in the packed sequence."""
    ends, start = [0] * batch_sizes[0], 0
    for size, after in zip(batch_sizes, [*batch_sizes[1:], 0], strict=True):
        ends[after:size] = range(start + after, start + size)
        start += size
    return ends


def _blocks(batch_sizes: Sequence[int]) -> Iterator[Sequence[int]]:
    """Cut the time steps into runs of at most `_ROWS_PER_BLOCK` packed rows (always at least one step)."""
    start = n_rows = 0
    for step, size in enumerate(batch_sizes):
        if step > start and n_rows + size > _ROWS_PER_BLOCK:
            yield batch_sizes[start:step]
            start, n_rows = step, 0
        n_rows += size
    if start < len(batch_sizes):
        yield batch_sizes[start:]
