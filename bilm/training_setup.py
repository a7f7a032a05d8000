"""What a training run starts from: its folder, text, vocabulary, network and optimizer."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from bilm import distributed
from bilm.batches import Sentence, SentenceBatches, ShuffledText, StreamBatches
from bilm.checkpoint import load_model
from bilm.errors import UserError
from bilm.model import BiLM
from bilm.softmax import OutputLayer
from bilm.text import TextError, read_sentences
from bilm.training_checkpoint import read_progress
from bilm.training_config import (
    OptimizerConfig,
    TrainingConfig,
    TrainingConfigError,
    VocabularyConfig,
    changed_keys,
    dump_training_config,
    read_training_config,
)
from bilm.vocabulary import Vocabulary

logger = logging.getLogger(__name__)

_FREE_KEYS = ("out", "stop.", "report.", "device", "optimizer.decay_words", "half_precision_output")
"""What a resumed run may change: it does not touch the steps already made."""

_FIXED_KEYS = ("network", "start", "vocabulary", "optimizer.name", "text.regime", "text.rows")
"""What no resumed run can change: the checkpoint's weights, optimizer or place in the text would not fit."""

_RUN_FILES = ("config.yaml", "vocab.txt", "metrics.csv", "best", "model")
"""What a run writes, beside its checkpoint."""


class TrainingError(UserError):
    """Training that cannot start or go on; the message says what to try."""


def check_folder(
    config: TrainingConfig, checkpoint: Path, *, resume: bool, allow_changes: bool
) -> dict[str, Any] | None:
    """Return what the checkpoint says, or None for a fresh start.

    Raises
    ------
    TrainingError
        If a fresh start would write over another run or over something that is no run, or a resumed run's
        configuration has changed.
    CheckpointError
        If there is nothing to resume.
    """
    if not resume:
        if checkpoint.exists():
            raise TrainingError(
                f"{config.out} holds a training run already: go on with --resume, or choose another out"
            )
        _refuse_what_is_no_run(config.out)
        return None
    saved = read_progress(checkpoint)
    changes = changed_keys(saved["config"], config.model_dump(mode="json"))
    changes = [change for change in changes if not change.startswith(_FREE_KEYS)]
    fixed = [change for change in changes if change.startswith(_FIXED_KEYS)]
    if fixed:
        raise TrainingError(
            f"{checkpoint} was made under another configuration and does not fit this one: {'; '.join(fixed)} "
            f"(to go on from its weights: a new run, with start: {config.out / 'best'} and another out)"
        )
    if changes and not allow_changes:
        raise TrainingError(
            f"{checkpoint} was made under another configuration: {'; '.join(changes)} "
            "(--allow-changes goes on all the same)"
        )
    return saved


def _refuse_what_is_no_run(folder: Path) -> None:
    """Let a run start in a folder that it would write into only if nothing there gets lost but a run's beginning."""
    if folder.exists() and not folder.is_dir():
        raise TrainingError(f"{folder}: is a file; out is the folder that the run writes")
    present = [name for name in _RUN_FILES if (folder / name).exists()]
    if not present:
        return
    path = folder / "config.yaml"
    try:
        ours = path.read_text(encoding="utf-8") == dump_training_config(read_training_config(path))
    except (OSError, UnicodeDecodeError, TrainingConfigError):
        ours = False
    if not ours:
        raise TrainingError(f"{folder / present[0]}: is not from a training run and would be lost; choose another out")


def make_batches(config: TrainingConfig, shards: Sequence[Path]) -> SentenceBatches | StreamBatches:
    """Return the batches of the run, from the beginning of the text."""
    text = ShuffledText(
        shards,
        seed=config.seed,
        window_words=config.text.window_words,
        max_sentence_words=config.text.max_sentence_words,
    )
    if config.text.regime == "sentences":
        return SentenceBatches(text, config.text.words_per_step)
    return StreamBatches(text, config.text.rows, config.text.unroll_steps)


def load_start(config: TrainingConfig) -> BiLM | None:
    """Load the model to start from, if there is to be one."""
    if config.start is None:
        return None
    start = load_model(config.start)
    if start.output is not None and config.vocabulary != VocabularyConfig():
        logger.warning("the vocabulary of %s is kept; the key vocabulary is not used", config.start)
    return start


def make_model(config: TrainingConfig, shards: Sequence[Path], start: BiLM | None, *, resume: bool) -> BiLM:
    """Make the network with its vocabulary: random, or the one to start from, if need be with a new output layer."""
    if start is not None and start.output is not None:
        return start
    path = config.out / "vocab.txt"
    if distributed.rank() == 0 and not (resume and path.exists()):
        _make_vocabulary(config.vocabulary, shards).write(path)
    distributed.barrier()
    vocabulary = Vocabulary.read(path)
    if start is None:
        return BiLM(config.bilm_config(), seed=config.seed, vocabulary=vocabulary)
    start.vocabulary = vocabulary
    start.output = OutputLayer(len(vocabulary), start.config.lstm.projection_dim)
    start.output.reset_parameters(torch.Generator().manual_seed(config.seed))
    return start


def _make_vocabulary(wanted: VocabularyConfig, shards: Sequence[Path]) -> Vocabulary:
    if wanted.file is not None:
        return Vocabulary.read(wanted.file)
    logger.info("counting the words of %d files", len(shards))
    return Vocabulary.count(_sentences(shards), max_size=wanted.size, min_count=wanted.min_count)


def total_words(config: TrainingConfig, shards: Sequence[Path], saved: dict[str, Any] | None) -> int | None:
    """Return the words of the whole training, where its end is known in words."""
    stop = config.stop
    totals = [] if stop.words is None else [stop.words]
    if stop.epochs is not None:
        if saved is not None and _end_in_words(saved["config"]["stop"]) == _end_in_words(stop.model_dump()):
            return int(saved["total_words"])
        n_words = sum(len(sentence) for sentence in _sentences(shards))
        if not n_words:
            raise TextError(f"no sentence in {', '.join(map(str, shards))}")
        totals.append(stop.epochs * n_words)
    return min(totals, default=None)


def _end_in_words(stop: dict[str, Any]) -> tuple[int | None, int | None]:
    return stop["epochs"], stop["words"]


def make_optimizer(model: BiLM, config: OptimizerConfig) -> torch.optim.Optimizer:
    """Return the optimizer that the configuration asks for."""
    if config.name == "adagrad":
        return torch.optim.Adagrad(
            model.parameters(), lr=config.rate, initial_accumulator_value=config.initial_accumulator
        )
    return torch.optim.AdamW(
        model.parameters(),
        lr=config.rate,
        betas=config.betas,
        eps=config.epsilon,
        weight_decay=config.weight_decay,
        fused=True,
    )


def _sentences(shards: Sequence[Path]) -> Iterator[Sentence]:
    for shard in shards:
        yield from (tuple(sentence) for sentence in read_sentences(shard) if sentence)


def read_all(shards: Sequence[Path]) -> list[Sentence]:
    """Read a validation text.

    Raises
    ------
    TrainingError
        If it has no sentence.
    """
    sentences = list(_sentences(shards))
    if not sentences:
        raise TrainingError(f"no sentence to validate on in {', '.join(map(str, shards))}")
    return sentences
