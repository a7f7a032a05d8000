"""The training loop: when to step (`bilm.training_step`), report, validate, save, stop; exact resume.

A run is a folder: `config.yaml` (resolved), `vocab.txt`, `metrics.csv`, `checkpoint.safetensors` (to go on from),
`best/` (lowest validation perplexity) and `model/` (the end). Every random number comes from the seed and the number of
the step, so a run that was killed and resumed ends with the same bytes as one that was never stopped.
"""

import math
import time
from collections.abc import Callable
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import torch

from bilm import distributed
from bilm.checkpoint import save_native
from bilm.device import usable_device
from bilm.errors import UserError
from bilm.evaluation import evaluate
from bilm.files import write_text
from bilm.model import BiLMState
from bilm.reports import Reports, check_tensorboard
from bilm.signals import stop_requests
from bilm.text import find_shards
from bilm.training_checkpoint import Progress, load_checkpoint, save_checkpoint
from bilm.training_config import TrainingConfig, dump_training_config
from bilm.training_setup import (
    TrainingError,
    check_folder,
    load_start,
    make_batches,
    make_model,
    make_optimizer,
    read_all,
    total_words,
)
from bilm.training_step import StepLoss, StepMaker, learning_rate, n_parts


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
    with distributed.process_group(), stop_requests() as stop_requested:
        return Trainer(config, resume=resume, allow_changes=allow_changes).run(stop_requested)


class TrainingStoppedError(UserError):
    """Training was told to stop by a signal, and saved where it stood."""


class _Place(NamedTuple):
    """Where a run stands in the text, and what its streams remember of it."""

    text: dict[str, Any]
    state: BiLMState | None


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
        self.device = usable_device(config.device)
        self.is_first = distributed.rank() == 0
        # What can be refused is refused first: counting the words of a large text takes minutes.
        if config.text.regime == "stream" and config.text.rows % n_parts(config):
            raise TrainingError(f"text.rows: {config.text.rows} rows do not divide into {n_parts(config)} equal parts")
        if config.report.tensorboard:
            check_tensorboard()
        shards = find_shards(config.text.train)
        self.valid = [] if config.text.valid is None else read_all(find_shards(config.text.valid))
        saved = check_folder(config, self.checkpoint, resume=resume, allow_changes=allow_changes)
        start = load_start(config)
        self.starts_trained = start is not None and start.output is not None
        distributed.barrier()  # all have looked at the folder before one writes into it
        if self.is_first:
            write_text(config.out / "config.yaml", dump_training_config(config))
        self.model = make_model(config, shards, start, resume=resume)
        self.model.to(self.device).train()
        optimizer = make_optimizer(self.model, config.optimizer)
        self.batches = make_batches(config, shards)
        self.step = StepMaker(self.model, optimizer, config)
        self.progress = Progress()
        if saved is not None:
            self.step.restore(load_checkpoint(self.checkpoint, self.model, optimizer))
            self.progress = Progress(**saved["progress"])
            self.batches.restore(saved["text"])
        self.total_words = total_words(config, shards, saved)
        self.n_threads = torch.get_num_threads()

    def run(self, stop_requested: Callable[[], bool]) -> Path:
        """Train to the end; returns the folder of the final model.

        Raises
        ------
        TrainingStoppedError
            When `stop_requested` says so; the checkpoint is saved.
        TrainingError
            When the loss is not finite; the last good checkpoint is kept.
        """
        config, progress = self.config, self.progress
        self.reports = (
            Reports(config.out, progress.metrics_bytes, tensorboard=config.report.tensorboard)
            if self.is_first
            else None
        )
        self._started = self._saved = time.monotonic()
        self._minutes_before = progress.minutes
        torch.set_num_threads(self.step.n_threads)
        try:
            if self.starts_trained and self.valid and progress.step == 0:
                self._report(self._validate())  # what training is to improve on
            self._steps(stop_requested)
            self._finish()
        finally:
            torch.set_num_threads(self.n_threads)
            if self.reports is not None:
                self.reports.close()
        return config.out / "model"

    def _steps(self, stop_requested: Callable[[], bool]) -> None:
        """Make steps until the end."""
        report, stop = self.config.report, self.config.stop
        batches = iter(self.batches)
        save_due = False
        while not self._is_done():
            place = self._place()
            rows = next(batches)
            if stop.epochs is not None and self.batches.cursor.epoch >= stop.epochs:
                self.batches.restore(place.text)  # a later end may want this batch
                return
            loss = self.step.gradients(rows, self.progress.step)
            if not loss.is_finite:
                raise self._not_finite("loss", self.progress.step + 1)
            # Only now: a checkpoint whose next loss is not finite would be worth nothing.
            if save_due:
                self._save(place)
            self.step.update(self._rate())
            self._count(loss, sum(piece.stop - max(piece.start, 1) for row in rows for piece in row))
            validated = self._validate() if self.progress.step % report.valid_steps == 0 else None
            if validated is not None or self.progress.step % report.log_steps == 0:
                self._report(validated)
            save_due, stopped = self._agree(stop_requested())
            if stopped:
                self._save(self._place())
                raise TrainingStoppedError(
                    f"stopped after step {self.progress.step:,}, saved in {self.checkpoint}; "
                    "go on with the same command and --resume"
                )

    def _place(self) -> _Place:
        return _Place(self.batches.state(), self.step.state)

    def _count(self, loss: StepLoss, n_words: int) -> None:
        """Add a step to what was done."""
        progress = self.progress
        progress.step += 1
        progress.words += n_words
        progress.finished = False
        news = (loss.forward, loss.backward, float(loss.n_predictions), loss.gradient_norm, 1.0)
        progress.sums = [old + new for old, new in zip(progress.sums, news, strict=True)]

    def _rate(self) -> float:
        """Return the learning rate of the next step."""
        return learning_rate(
            self.config.optimizer, step=self.progress.step, words=self.progress.words, total_words=self.total_words
        )

    def _is_done(self) -> bool:
        stop, progress = self.config.stop, self.progress
        return (stop.words is not None and progress.words >= stop.words) or (
            stop.minutes is not None and progress.minutes >= stop.minutes
        )

    def _agree(self, stop: bool) -> tuple[bool, bool]:
        """Agree with the other processes on the time, on whether to save, and on whether any of them is to stop."""
        report, now = self.config.report, time.monotonic()
        save_due = (now - self._saved) / 60 >= report.checkpoint_minutes
        minutes = self._minutes_before + (now - self._started) / 60
        # Only the first process's clock counts.
        clock = [float(save_due), minutes] if self.is_first else [0.0, 0.0]
        save, self.progress.minutes, stopped = distributed.sum_values([*clock, float(stop)], self.device)
        steps = report.checkpoint_steps
        return save > 0 or (steps is not None and self.progress.step % steps == 0), stopped > 0

    def _validate(self, *, all_sentences: bool = False) -> tuple[float, float] | None:
        """Return the exact validation perplexities; keeps the model where it is the best so far."""
        if not self.valid or not self.is_first:
            return None
        limit = None if all_sentences else self.config.report.valid_sentences
        torch.set_num_threads(self.n_threads)
        perplexity = evaluate(self.model, islice(self.valid, limit))
        torch.set_num_threads(self.step.n_threads)
        if not math.isfinite(perplexity.forward + perplexity.backward):
            raise self._not_finite("validation perplexity", self.progress.step)
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

    def _save(self, place: _Place) -> None:
        """Write the checkpoint: the weights and numbers of now, and the place in the text that they belong to."""
        if not all(bool(torch.isfinite(parameter).all()) for parameter in self.model.parameters()):
            raise self._not_finite("network", self.progress.step)
        state = None if place.state is None else distributed.gather_rows(place.state)
        if self.is_first:
            progress = {
                "config": self.config.model_dump(mode="json"),
                "progress": asdict(self.progress),
                "text": place.text,
                "total_words": self.total_words,
            }
            save_checkpoint(self.checkpoint, self.model, self.step.optimizer, state, progress)
        self._saved = time.monotonic()

    def _finish(self) -> None:
        """Validate on everything, write the model, and remember the end."""
        if not self.progress.finished:
            self._report(self._validate(all_sentences=True))
            self.progress.finished = True
        self._save(self._place())
        if self.is_first:
            save_native(self.model, self.config.out / "model", half_precision_output=self.config.half_precision_output)

    def _not_finite(self, what: str, step: int) -> TrainingError:
        advice = "a lower optimizer.rate, a longer optimizer.warmup_steps or a smaller optimizer.clip_norm"
        message = f"the {what} is not finite at step {step:,} (rate {self._rate():.2g})"
        if self.checkpoint.exists():
            return TrainingError(
                f"{message}; the last good checkpoint is kept in {self.checkpoint}: go on from it with {advice} "
                "(--resume --allow-changes)"
            )
        return TrainingError(f"{message}; there was no checkpoint yet: start again with {advice}")
