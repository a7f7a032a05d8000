"""Loss and gradients of one batch: the inner loop of training.

On a CPU the two directions run in two threads with one thread of arithmetic each, which is faster than two threads
inside each small product. Gradients of what they share are summed afterwards, in a fixed order, so that a run repeats
bit for bit.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from torch import Generator, Tensor

from bilm.batches import Batch
from bilm.lstm import LSTMState
from bilm.model import BiLM, BiLMState
from bilm.softmax import Sample, draw_sample

_CHUNKS = 4
"""Words are encoded in chunks of like length, so that short words do not pay for the longest one."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class BatchLoss(NamedTuple):
    """Summed sampled loss of each direction, and the state after the batch."""

    forward: float
    backward: float
    state: BiLMState


class GradientMaker:
    """Computes the sampled loss of batches and adds its gradients to the parameters' `grad`.

    Parameters
    ----------
    model : BiLM
        With an output layer.
    n_sampled : int
        Words of a sampled softmax.
    dropout : float
        On each LSTM layer's input and on the top layer's output, a fresh mask each step (the reference's places).
    parallel : bool
        Run the directions in two threads; the caller sets the number of arithmetic threads to 1.
    bfloat16 : bool
        Matrix products outside the recurrence in bfloat16.
    """

    def __init__(
        self, model: BiLM, *, n_sampled: int, dropout: float = 0.0, parallel: bool = False, bfloat16: bool = False
    ) -> None:
        assert model.output is not None
        self.model = model
        self.output = model.output
        self.n_sampled = n_sampled
        self.dropout = dropout
        self.bfloat16 = bfloat16
        self.parallel = parallel
        self._pool = ThreadPoolExecutor(2) if parallel else None

    def add(self, batch: Batch, *, scale: float, seed: Sequence[int], part: int, state: BiLMState) -> BatchLoss:
        """Add the gradients of `scale * (forward loss + backward loss)`.

        Parameters
        ----------
        batch : Batch
        scale : float
            Losses are sums over steps; the scale makes them a mean.
        seed : sequence of int
            What the step's sampled words are drawn from: the same in every part of a step.
        part : int
            Number of the batch among the parts of a step; dropout masks differ between them.
        state : BiLMState
            Rows in the order of the batch.
        """
        chunks = batch.character_ids.chunk(_CHUNKS)
        encoded = self._map(self._encode, chunks)
        words = torch.cat([vectors.detach() for vectors in encoded]).requires_grad_()

        def run(direction: int) -> tuple[float, LSTMState, Sequence[Tensor]]:
            sample = draw_sample(len(self.output.bias), self.n_sampled, np.random.default_rng([*seed, direction]))
            mask_seed = int(np.random.default_rng([*seed, direction, part]).integers(2**62))
            generator = torch.Generator(words.device).manual_seed(mask_seed) if self.dropout else None
            return self._run(direction, words, batch, scale, sample, generator, state[direction])

        forward, backward = self._map(run, (0, 1))
        for stack, (_, _, gradients) in zip(self._stacks, (forward, backward), strict=True):
            _add_gradients([*stack.parameters(), *self.output.parameters()], gradients[1:])
        word_gradients = torch.split(forward[2][0] + backward[2][0], [len(chunk) for chunk in chunks])
        encoder = list(self.model.token_encoder.parameters())
        for gradients in self._map(
            lambda pair: torch.autograd.grad(pair[0], encoder, pair[1]), list(zip(encoded, word_gradients, strict=True))
        ):
            _add_gradients(encoder, gradients)
        return BatchLoss(forward[0], backward[0], BiLMState(forward[1], backward[1]))

    @property
    def _stacks(self) -> tuple[torch.nn.Module, torch.nn.Module]:
        return self.model.forward_lstm, self.model.backward_lstm

    def _encode(self, character_ids: Tensor) -> Tensor:
        with self._precision(character_ids.device):
            return self.model.encode_tokens(character_ids).to(self.output.weight.dtype)

    def _run(
        self,
        direction: int,
        words: Tensor,
        batch: Batch,
        scale: float,
        sample: Sample,
        generator: Generator | None,
        state: LSTMState,
    ) -> tuple[float, LSTMState, Sequence[Tensor]]:
        """Return one direction's loss, its state, and the gradients of words, stack and output layer."""
        stack = self._stacks[direction]
        drop = (lambda x: _dropout(x, self.dropout, generator)) if generator is not None else None
        sample = sample._replace(words=sample.words.to(words.device))
        with self._precision(words.device):
            outputs, after = stack(words[batch.inputs[direction]], batch.batch_sizes, state, drop)
            top = outputs[-1] if drop is None else drop(outputs[-1])
            loss = self.output.sampled_loss(top, batch.targets[direction], sample)
        wanted = [words, *stack.parameters(), *self.output.parameters()]
        return loss.item(), after, torch.autograd.grad(loss * scale, wanted)

    def _precision(self, device: torch.device) -> torch.autocast:
        # A context of its own in each thread: autocast is a setting of the thread.
        return torch.autocast(device.type, dtype=torch.bfloat16, enabled=self.bfloat16)

    def _map(self, function: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
        return list((map if self._pool is None else self._pool.map)(function, items))


def _dropout(x: Tensor, rate: float, generator: Generator) -> Tensor:
    return x * torch.empty_like(x).bernoulli_(1 - rate, generator=generator).div_(1 - rate)


def _add_gradients(parameters: Sequence[Tensor], gradients: Sequence[Tensor]) -> None:
    """Add gradients (dense or sparse) to the parameters' own, which are dense and made where they are missing."""
    for parameter, gradient in zip(parameters, gradients, strict=True):
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        parameter.grad += gradient
