"""The training loop: steps of the optimizer, reports, validation, checkpoints, exact resume, many processes.

A run is a folder: `config.yaml` (resolved), `vocab.txt`, `metrics.csv`, `checkpoint.safetensors` (to go on from),
`best/` (lowest validation perplexity) and `model/` (the end). Every random number comes from the seed and the number of
the step, so a run that was killed and resumed ends with the same bytes as one that was never stopped.
"""

import logging
import math
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from types import FrameType

import torch
import yaml

from bilm import distributed
from bilm.batches import Row, SentenceBatches, ShuffledText, StreamBatches, n_steps, pack
from bilm.checkpoint import save_native
from bilm.errors import UserError
from bilm.evaluation import evaluate
from bilm.files import write_text
from bilm.gradients import GradientMaker
from bilm.lstm import LSTMState
from bilm.model import BiLMState
from bilm.reports import Reports
from bilm.text import find_shards
from bilm.training_checkpoint import load_checkpoint, save_checkpoint
from bilm.training_config import TrainingConfig
from bilm.training_setup import TrainingError, check_folder, make_model, make_optimizer, read_all, total_words

logger = logging.getLogger(__name__)


@dataclass
class Progress:
    """Where a run stands; all of it is in the checkpoint.

    Attributes
    ----------
    step, words : int
        Steps made and words read (boundaries not counted).
    minutes : float
        Time spent in training, over all the run's stretches.
    best : float
        Lowest mean validation perplexity so far.
    sums : list of float
        Since the last row of metrics.csv: forward loss, backward loss, predictions in each direction, gradient norms,
        steps.
    metrics_bytes : int
        Length of metrics.csv, to which a resumed run cuts it back.
    finished : bool
        Whether the last row of metrics.csv is that of the end.
    """

    step: int = 0
    words: int = 0
    minutes: float = 0.0
    best: float = math.inf
    sums: list[float] = field(default_factory=lambda: [0.0] * 5)
    metrics_bytes: int = 0
    finished: bool = False


def train(config: TrainingConfig, *, resume: bool = False, allow_changes: bool = False) -> Path:
    """Run a training to its end, or until it is told to stop.

    Parameters
    ----------
    config : TrainingConfig
    resume : bool
        Go on from the checkpoint in `config.out`.
    allow_changes : bool
        Go on even if keys have changed that shape the steps themselves (a lower rate, smaller batches).

    Returns
    -------
    Path
        The folder of the final model, or the checkpoint where the run was stopped by a signal.

    Raises
    ------
    UserError
        If text, vocabulary, checkpoint or configuration cannot be used, or the loss is not finite.
    """
    with distributed.process_group(), _stop_requests() as stop_requested:
        return Trainer(config, resume=resume, allow_changes=allow_changes).run(stop_requested)


class TrainingStoppedError(UserError):
    """Training was told to stop by a signal, and saved where it stood."""


class Trainer:
    """One training run.

    Parameters
    ----------
    config : TrainingConfig
    resume, allow_changes : bool
        As in `train`.
    """

    def __init__(self, config: TrainingConfig, *, resume: bool = False, allow_changes: bool = False) -> None:
        self.config = config
        self.checkpoint = config.out / "checkpoint.safetensors"
        device = config.device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        self.device = torch.device(device)
        self.is_first = distributed.rank() == 0
        self.n_parts = distributed.world_size() * config.optimizer.accumulate
        if config.text.regime == "stream" and config.text.rows % self.n_parts:
            raise TrainingError(f"text.rows: {config.text.rows} rows do not divide into {self.n_parts} equal parts")
        shards = find_shards(config.text.train)
        self.valid = [] if config.text.valid is None else read_all(find_shards(config.text.valid))
        saved = check_folder(config, self.checkpoint, resume=resume, allow_changes=allow_changes)
        self.model = make_model(config, shards, resume=resume)
        self.model.to(self.device).train()
        self.parameters = list(self.model.parameters())
        self.optimizer = make_optimizer(self.model, config.optimizer)
        text = ShuffledText(
            shards,
            seed=config.seed,
            window_words=config.text.window_words,
            max_sentence_words=config.text.max_sentence_words,
        )
        self.batches: SentenceBatches | StreamBatches
        if config.text.regime == "sentences":
            self.batches = SentenceBatches(text, config.text.words_per_step)
        else:
            self.batches = StreamBatches(text, config.text.rows, config.text.unroll_steps)
        self.progress = Progress()
        self.state: BiLMState | None = None
        if saved is not None:
            state = load_checkpoint(self.checkpoint, self.model, self.optimizer)
            self.progress = Progress(**saved["progress"])
            self.batches.restore(saved["text"])
            if state is not None:
                rows = torch.arange(config.text.rows, device=self.device)
                self.state = state.rows(rows.chunk(distributed.world_size())[distributed.rank()])
        self.total_words = total_words(config, shards, saved)
        # Two directions in two threads, one thread of arithmetic each: see bilm.gradients.
        self.n_threads = torch.get_num_threads()
        self.gradients = GradientMaker(
            self.model,
            n_sampled=config.n_sampled,
            dropout=config.optimizer.dropout,
            parallel=self.device.type == "cpu" and self.n_threads > 1,
            bfloat16=config.precision == "bfloat16",
        )

    def run(self, stop_requested: Callable[[], bool]) -> Path:
        """Train to the end; returns the folder of the final model.

        Raises
        ------
        TrainingStoppedError
            When `stop_requested` says so; the checkpoint is saved.
        TrainingError
            When the loss is not finite; the last checkpoint is kept.
        """
        config, progress = self.config, self.progress
        if self.is_first:
            config.out.mkdir(parents=True, exist_ok=True)
            write_text(config.out / "config.yaml", yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False))
        self.reports = (
            Reports(config.out, progress.metrics_bytes, tensorboard=config.report.tensorboard)
            if self.is_first
            else None
        )
        self._started = self._saved = time.monotonic()
        self._minutes_before = progress.minutes
        stopped = False
        torch.set_num_threads(1 if self.gradients.parallel else self.n_threads)
        try:
            batches = iter(self.batches)
            while not self._is_done():
                place = self.batches.state()
                rows = next(batches)
                if config.stop.epochs is not None and self.batches.cursor.epoch >= config.stop.epochs:
                    self.batches.restore(place)  # a later end may want this batch
                    break
                save_due = self._step(rows)
                validated = self._validate() if progress.step % config.report.valid_steps == 0 else None
                if validated is not None or progress.step % config.report.log_steps == 0:
                    self._report(validated)
                stopped = self._agree(stop_requested())
                if save_due or stopped:
                    self._save()
                if stopped:
                    raise TrainingStoppedError(
                        f"stopped after step {progress.step:,}, saved in {self.checkpoint}; "
                        "go on with the same command and --resume"
                    )
            self._finish()
        finally:
            torch.set_num_threads(self.n_threads)
            if self.reports is not None:
                self.reports.close()
        return config.out / "model"

    def _step(self, rows: list[Row]) -> bool:
        """Make one step of the optimizer; tell whether a checkpoint is due."""
        progress, optimizer = self.progress, self.config.optimizer
        total = n_steps(rows)
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate()
        for parameter in self.parameters:
            parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.zero_()
        losses, states = [0.0, 0.0], []
        for part in range(optimizer.accumulate):
            number = distributed.rank() * optimizer.accumulate + part
            loss = self._add_gradients(self._part(rows, number), number, part, optimizer.loss_scale / (2 * total))
            losses = [losses[0] + loss[0], losses[1] + loss[1]]
            states.append(loss[2])
        if self.config.text.regime == "stream":
            self.state = _join(states)
        distributed.sum_gradients(self.parameters)
        norm = float(torch.nn.utils.clip_grad_norm_(self.parameters, optimizer.clip_norm or math.inf))
        report = self.config.report
        save_due = (time.monotonic() - self._saved) / 60 >= report.checkpoint_minutes
        progress.minutes = self._minutes_before + (time.monotonic() - self._started) / 60
        # Only the first process's clock counts.
        forward, backward, save_due_sum, minutes = distributed.sum_values(
            [*losses, float(save_due and self.is_first), progress.minutes * self.is_first], self.device
        )
        if not math.isfinite(norm + forward + backward):
            raise TrainingError(
                f"the loss is not finite at step {progress.step + 1:,} (rate {self._rate():.2g}); the last good "
                f"checkpoint is kept in {self.checkpoint}. Try a lower optimizer.rate or a "
                "smaller optimizer.clip_norm (--resume --allow-changes)"
            )
        self.optimizer.step()
        progress.step += 1
        progress.words += sum(piece.stop - max(piece.start, 1) for row in rows for piece in row)
        progress.minutes = minutes
        progress.finished = False
        news = (forward, backward, float(total), norm, 1.0)
        progress.sums = [old + new for old, new in zip(progress.sums, news, strict=True)]
        steps = report.checkpoint_steps
        return save_due_sum > 0 or (steps is not None and progress.step % steps == 0)

    def _part(self, rows: list[Row], number: int) -> list[Row]:
        """Return one of the parts into which processes and accumulation cut a step's rows."""
        if self.config.text.regime == "sentences":
            return rows[number :: self.n_parts]  # sorted by length: each part gets long and short ones
        size = len(rows) // self.n_parts
        return rows[number * size : (number + 1) * size]

    def _add_gradients(
        self, rows: list[Row], number: int, part: int, scale: float
    ) -> tuple[float, float, BiLMState | None]:
        """Add the gradients of one part; return its summed losses and, under "stream", its rows' state."""
        assert self.model.vocabulary is not None
        if not rows:
            return 0.0, 0.0, None
        batch = pack(rows, self.model.vocabulary, self.model.max_characters).to(self.device)
        state = self.model.zero_state(len(rows))
        if self.state is not None:
            local = torch.arange(part * len(rows), (part + 1) * len(rows), device=self.device)
            state = self.state.rows(local[batch.order])
        if batch.n_steps:
            seed = [self.config.seed, self.progress.step]
            loss = self.gradients.add(batch, scale=scale, seed=seed, part=number, state=state)
            return loss.forward, loss.backward, loss.state.rows(torch.argsort(batch.order))
        return 0.0, 0.0, state.rows(torch.argsort(batch.order))

    def _rate(self) -> float:
        """Return the learning rate of the next step."""
        optimizer, words = self.config.optimizer, self.progress.words
        rate = optimizer.rate
        if optimizer.warmup_steps:
            rate *= min(1.0, (self.progress.step + 1) / optimizer.warmup_steps)
        if self.total_words is not None:
            left = max(0.0, 1 - words / self.total_words)
            if optimizer.schedule == "cosine":
                rate *= 0.5 * (1 + math.cos(math.pi * (1 - left)))
            if optimizer.decay_words:
                rate *= min(1.0, left * self.total_words / optimizer.decay_words)
        return rate

    def _is_done(self) -> bool:
        stop, progress = self.config.stop, self.progress
        return (stop.words is not None and progress.words >= stop.words) or (
            stop.minutes is not None and progress.minutes >= stop.minutes
        )

    def _agree(self, wish: bool) -> bool:
        """Tell whether any process wishes it."""
        return distributed.sum_values([float(wish)], self.device)[0] > 0

    def _validate(self, *, all_sentences: bool = False) -> tuple[float, float] | None:
        """Return the exact validation perplexities; keeps the model where it is the best so far."""
        if not self.valid or not self.is_first:
            return None
        limit = None if all_sentences else self.config.report.valid_sentences
        torch.set_num_threads(self.n_threads)
        perplexity = evaluate(self.model, islice(self.valid, limit))
        torch.set_num_threads(1 if self.gradients.parallel else self.n_threads)
        if limit == self.config.report.valid_sentences and perplexity.mean < self.progress.best:
            self.progress.best = perplexity.mean
            save_native(self.model, self.config.out / "best")
        return perplexity.forward, perplexity.backward

    def _report(self, validated: tuple[float, float] | None) -> None:
        """Write a row of what happened since the last one."""
        progress = self.progress
        forward, backward, total, norms, steps = progress.sums
        progress.sums = [0.0] * 5
        if self.reports is None:
            return
        values: dict[str, float | int | None] = {
            "step": progress.step,
            "words": progress.words,
            "epoch": self.batches.cursor.epoch,
            "rate": self._rate(),
            "forward_sampled_loss": forward / total if total else None,
            "backward_sampled_loss": backward / total if total else None,
            "gradient_norm": norms / steps if steps else None,
            "valid_forward_perplexity": None if validated is None else validated[0],
            "valid_backward_perplexity": None if validated is None else validated[1],
        }
        progress.metrics_bytes = self.reports.row(values, self._left())

    def _left(self) -> float | None:
        """Return how much training is left, as a multiple of what is done; None where that is not known."""
        stop, progress = self.config.stop, self.progress
        left = []
        if self.total_words is not None:
            left.append(self.total_words / max(1, progress.words) - 1)
        if stop.minutes is not None and progress.minutes:
            left.append(stop.minutes / progress.minutes - 1)
        return max(0.0, min(left)) if left else None

    def _save(self) -> None:
        """Write the checkpoint."""
        state = None if self.state is None else distributed.gather_rows(self.state)
        if self.is_first:
            progress = {
                "config": self.config.model_dump(mode="json"),
                "progress": asdict(self.progress),
                "text": self.batches.state(),
                "total_words": self.total_words,
            }
            save_checkpoint(self.checkpoint, self.model, self.optimizer, state, progress)
        self._saved = time.monotonic()

    def _finish(self) -> None:
        """Validate on everything, write the model, and remember the end."""
        if not self.progress.finished:
            self._report(self._validate(all_sentences=True))
            self.progress.finished = True
        if self.is_first:
            save_native(self.model, self.config.out / "model", half_precision_output=self.config.half_precision_output)
        self._save()


@contextmanager
def _stop_requests() -> Iterator[Callable[[], bool]]:
    """Turn Ctrl-C and SIGTERM into a wish that the loop asks for after each step."""
    received: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        received.append(number)
        logger.warning("stopping after this step (again to stop at once)")
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _join(states: Sequence[BiLMState | None]) -> BiLMState:
    """Put the rows of several parts after one another."""
    present = [state for state in states if state is not None]
    forward, backward = (
        LSTMState(torch.cat([part.hidden for part in parts], dim=1), torch.cat([part.cell for part in parts], dim=1))
        for parts in zip(*present, strict=True)
    )
    return BiLMState(forward, backward)
