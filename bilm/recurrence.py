"""The recurrent part of an LSTM layer for training, with a gradient written by hand.

Autograd would remember a dozen small tensors for each time step and make each weight's gradient as a sum of one
product a step. Here the forward pass fills a few large arrays, and the backward pass steps only through what is
recurrent: every weight's gradient is one matrix product over all steps.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

_sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input  # gradient, y -> gradient * y * (1 - y)
_tanh_backward = torch.ops.aten.tanh_backward.grad_input  # gradient, y -> gradient * (1 - y * y)


class Clips(NamedTuple):
    """Bounds on the absolute value of the cell and of the projected output; None for no bound."""

    cell: float | None
    projection: float | None


class Recurrence(torch.autograd.Function):
    """Gates and state of a projected, clipped LSTM layer over a packed sequence.

    The arguments of `apply` are

    projected : float tensor, shape (rows, 4 * dim)
        Input products and biases of all gates (input, candidate, forget, output); the forget gate's 1 included.
    recurrent_weight : float tensor, shape (4 * dim, projection_dim)
    projection_weight : float tensor, shape (projection_dim, dim), or None
    hidden, cell : float tensors, shapes (batch, projection_dim) and (batch, dim)
        The state before the first step. No gradient flows into it: training cuts the gradient at the state.
    batch_sizes : running rows of each time step, never increasing, none of them 0
    clips : Clips

    and it returns the outputs, shape (rows, projection_dim), and the cells, shape (rows, dim; without gradient), and
    `projected`, which it has overwritten with the gates: a copy of the largest array would cost a tenth of the time.
    """

    @staticmethod
    def forward(
        ctx: Any,
        projected: Tensor,
        recurrent_weight: Tensor,
        projection_weight: Tensor | None,
        hidden: Tensor,
        cell: Tensor,
        batch_sizes: Sequence[int],
        clips: Clips,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Step forward through time."""
        rows, dim = projected.shape[0], cell.shape[1]
        gates = projected
        cells, squashed, raw = (projected.new_empty(rows, dim) for _ in range(3))
        outputs = raw if projection_weight is None else projected.new_empty(rows, hidden.shape[1])
        transposed = recurrent_weight.t().contiguous()
        transposed_projection = None if projection_weight is None else projection_weight.t().contiguous()
        first_hidden, first_cell = hidden, cell
        start = 0
        for n_running in batch_sizes:
            now = slice(start, start + n_running)
            start += n_running
            gate = gates[now].addmm_(hidden[:n_running], transposed)
            gate[:, :dim].sigmoid_()
            gate[:, dim : 2 * dim].tanh_()
            gate[:, 2 * dim :].sigmoid_()
            admit, candidate, keep, emit = gate.chunk(4, dim=1)
            cell = torch.mul(keep, cell[:n_running], out=cells[now]).addcmul_(admit, candidate)
            if clips.cell is not None:
                cell.clamp_(-clips.cell, clips.cell)
            output = torch.mul(emit, torch.tanh(cell, out=squashed[now]), out=raw[now])
            if transposed_projection is not None:
                output = torch.mm(output, transposed_projection, out=outputs[now])
                if clips.projection is not None:
                    output.clamp_(-clips.projection, clips.projection)
            hidden = output
        ctx.save_for_backward(
            recurrent_weight, projection_weight, first_hidden, first_cell, gates, cells, squashed, raw, outputs
        )
        ctx.batch_sizes, ctx.clips = list(batch_sizes), clips
        ctx.mark_dirty(gates)
        ctx.mark_non_differentiable(cells, gates)
        ctx.set_materialize_grads(False)
        return outputs, cells, gates

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_outputs: Tensor | None, *_: Tensor | None) -> tuple[Tensor | None, ...]:
        """Step backward through time."""
        if grad_outputs is None:
            return (None,) * 7
        recurrent_weight, projection_weight, first_hidden, first_cell, gates, cells, squashed, raw, outputs = (
            ctx.saved_tensors
        )
        dim = cells.shape[1]
        admit, candidate, keep, emit = gates.chunk(4, dim=1)
        # What does not depend on the step after: the slope of each gate's nonlinearity, times what the gate multiplies.
        slopes = torch.empty_like(gates)
        to_admit, to_candidate, to_keep, to_emit = slopes.chunk(4, dim=1)
        _sigmoid_backward(candidate, admit, grad_input=to_admit)
        _tanh_backward(admit, candidate, grad_input=to_candidate)
        _sigmoid_backward(_shift(cells, first_cell, ctx.batch_sizes), keep, grad_input=to_keep)
        _sigmoid_backward(squashed, emit, grad_input=to_emit)
        to_cell = _tanh_backward(emit, squashed, grad_input=torch.empty_like(cells))
        # A clipped value does not move, so no gradient passes through it.
        cell_open = None if ctx.clips.cell is None else (cells.abs() < ctx.clips.cell).to(cells.dtype)
        clipped = ctx.clips.projection is not None and projection_weight is not None
        grad_hidden = grad_outputs.clone()  # made whole step by step: the gradient at each step's output
        output_open = (outputs.abs() < ctx.clips.projection).to(outputs.dtype) if clipped else None
        grad_gates = torch.empty_like(gates)
        grad_raw = grad_hidden if projection_weight is None else torch.empty_like(raw)
        grad_cell = cells.new_zeros(first_cell.shape)
        stop = gates.shape[0]
        n_after = 0
        recurrent_gradient = outputs[:0]
        for n_running in reversed(ctx.batch_sizes):
            now = slice(stop - n_running, stop)
            stop -= n_running
            gradient = grad_hidden[now]
            gradient[:n_after] += recurrent_gradient
            if output_open is not None:
                gradient *= output_open[now]
            if projection_weight is not None:
                gradient = torch.mm(gradient, projection_weight, out=grad_raw[now])
            grad_cell_now = grad_cell[:n_running].addcmul_(gradient, to_cell[now])
            if cell_open is not None:
                grad_cell_now *= cell_open[now]
            torch.mul(
                slopes[now, : 3 * dim].view(n_running, 3, dim),
                grad_cell_now.unsqueeze(1),
                out=grad_gates[now, : 3 * dim].view(n_running, 3, dim),
            )
            torch.mul(to_emit[now], gradient, out=grad_gates[now, 3 * dim :])
            grad_cell_now *= keep[now]
            recurrent_gradient = torch.mm(grad_gates[now], recurrent_weight)
            n_after = n_running
        grad_recurrent = grad_gates.t() @ _shift(outputs, first_hidden, ctx.batch_sizes)
        grad_projection = None if projection_weight is None else grad_hidden.t() @ raw
        return grad_gates, grad_recurrent, grad_projection, None, None, None, None


def _shift(values: Tensor, first: Tensor, batch_sizes: Sequence[int]) -> Tensor:
    """Return, for each packed row, the value of the same batch row one step before."""
    starts = [0]
    for size in batch_sizes:
        starts.append(starts[-1] + size)
    before = [
        values[start : start + size] for start, size in zip(starts, batch_sizes[1:], strict=False)
    ]  # each step's first rows, as many as run in the step after
    return torch.cat([first[: batch_sizes[0]], *before])
