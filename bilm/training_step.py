"""One step of training: rows of text to gradients, in parts and on many processes, and gradients to new weights.

When to step, and what is written down between the steps, is `bilm.training`'s business.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch

from bilm import distributed
from bilm.batches import Row, n_steps, pack
from bilm.gradients import GradientMaker
from bilm.lstm import LSTMState
from bilm.model import BiLM, BiLMState
from bilm.training_config import OptimizerConfig, TrainingConfig


class StepLoss(NamedTuple):
    """What a step has found, over all processes.

    Attributes
    ----------
    forward, backward : float
        Sampled losses in nats, summed over predictions.
    n_predictions : int
        In each direction.
    gradient_norm : float
        Before it was clipped.
    """

    forward: float
    backward: float
    n_predictions: int
    gradient_norm: float

    @property
    def is_finite(self) -> bool:
        """Whether a step may be made of it."""
        return math.isfinite(self.forward + self.backward + self.gradient_norm)


class StepMaker:
    """Makes steps; holds what lives from one to the next: gradients, optimizer, and under "stream" the LSTM state.

    Parameters
    ----------
    model : BiLM
        With an output layer, on its device.
    optimizer : torch.optim.Optimizer
        Of the model's parameters.
    config : TrainingConfig

    Attributes
    ----------
    state : BiLMState or None
        What this process's rows go on from; None before the first step, and under "sentences".
    n_threads : int
        Threads of arithmetic that steps want to be run with.
    """

    def __init__(self, model: BiLM, optimizer: torch.optim.Optimizer, config: TrainingConfig) -> None:
        self.model = model
        self.optimizer = optimizer
        self.config = config
        self.state: BiLMState | None = None
        self._n_parts = n_parts(config)
        self._parameters = list(model.parameters())
        n_threads = torch.get_num_threads()
        # Two directions in two threads, one thread of arithmetic each: see bilm.gradients.
        parallel = model.device.type == "cpu" and n_threads > 1
        self.n_threads = 1 if parallel else n_threads
        self._gradients = GradientMaker(
            model,
            n_sampled=config.n_sampled,
            dropout=config.optimizer.dropout,
            parallel=parallel,
            bfloat16=config.precision == "bfloat16",
        )

    def restore(self, state: BiLMState | None) -> None:
        """Go on from the state of all processes' rows."""
        if state is not None:
            rows = torch.arange(self.config.text.rows, device=self.model.device)
            state = state.rows(rows.chunk(distributed.world_size())[distributed.rank()])
        self.state = state

    def gradients(self, rows: Sequence[Row], number: int) -> StepLoss:
        """Compute the clipped gradients of a step's rows; the weights stay as they are.

        Parameters
        ----------
        rows : sequence of Row
            Those of all processes.
        number : int
            Of the step: with the run's seed it gives the sampled words and the dropout masks.
        """
        optimizer = self.config.optimizer
        n_predictions = n_steps(rows)
        for parameter in self._parameters:
            parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.zero_()
        losses, states = [0.0, 0.0], []
        for index in range(optimizer.accumulate):
            part = distributed.rank() * optimizer.accumulate + index
            scale = optimizer.loss_scale / (2 * n_predictions)
            forward, backward, state = self._add(self._part(rows, part), number, part, index, scale)
            losses = [losses[0] + forward, losses[1] + backward]
            states.append(state)
        if self.config.text.regime == "stream":
            self.state = _join(states)
        distributed.sum_gradients(self._parameters)
        norm = float(torch.nn.utils.clip_grad_norm_(self._parameters, optimizer.clip_norm or math.inf))
        forward, backward = distributed.sum_values(losses, self.model.device)
        return StepLoss(forward, backward, n_predictions, norm)

    def update(self, rate: float) -> None:
        """Change the weights by the gradients."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()

    def _part(self, rows: Sequence[Row], part: int) -> Sequence[Row]:
        """Return one of the parts into which processes and accumulation cut a step's rows."""
        if self.config.text.regime == "sentences":
            return rows[part :: self._n_parts]  # sorted by length: each part gets long and short ones
        size = len(rows) // self._n_parts
        return rows[part * size : (part + 1) * size]

    def _add(
        self, rows: Sequence[Row], number: int, part: int, index: int, scale: float
    ) -> tuple[float, float, BiLMState | None]:
        """Add the gradients of one part, the `index`th of this process.

        Returns its summed losses and, under "stream", its rows' state.
        """
        assert self.model.vocabulary is not None
        if not rows:
            return 0.0, 0.0, None
        batch = pack(rows, self.model.vocabulary, self.model.max_characters).to(self.model.device)
        state = self.model.zero_state(len(rows))
        if self.state is not None:
            local = torch.arange(index * len(rows), (index + 1) * len(rows), device=self.model.device)
            state = self.state.rows(local[batch.order])
        if batch.n_steps:
            seed = [self.config.seed, number]
            loss = self._gradients.add(batch, scale=scale, seed=seed, part=part, state=state)
            return loss.forward, loss.backward, loss.state.rows(torch.argsort(batch.order))
        return 0.0, 0.0, state.rows(torch.argsort(batch.order))


def n_parts(config: TrainingConfig) -> int:
    """Return into how many parts a step's rows are cut."""
    return distributed.world_size() * config.optimizer.accumulate


def learning_rate(config: OptimizerConfig, *, step: int, words: int, total_words: int | None) -> float:
    """Return the learning rate of the step that follows `step` steps and `words` words.

    Parameters
    ----------
    config : OptimizerConfig
    step, words : int
    total_words : int, optional
        Words of the whole training; a rate that falls to 0 falls towards them.
    """
    rate = config.rate
    if config.warmup_steps:
        rate *= min(1.0, (step + 1) / config.warmup_steps)
    if total_words is not None:
        left = max(0.0, 1 - words / total_words)
        if config.schedule == "cosine":
            rate *= 0.5 * (1 + math.cos(math.pi * (1 - left)))
        if config.decay_words:
            rate *= min(1.0, left * total_words / config.decay_words)
    return rate


def _join(states: Sequence[BiLMState | None]) -> BiLMState:
    """Put the rows of several parts after one another."""
    present = [state for state in states if state is not None]
    forward, backward = (
        LSTMState(torch.cat([part.hidden for part in parts], dim=1), torch.cat([part.cell for part in parts], dim=1))
        for parts in zip(*present, strict=True)
    )
    return BiLMState(forward, backward)
