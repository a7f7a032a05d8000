"""What a training run starts from: its folder, vocabulary, network and optimizer."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from bilm import distributed
from bilm.batches import Sentence
from bilm.checkpoint import load_model
from bilm.errors import UserError
from bilm.model import BiLM
from bilm.softmax import OutputLayer
from bilm.text import read_sentences
from bilm.training_checkpoint import read_progress
from bilm.training_config import OptimizerConfig, TrainingConfig, VocabularyConfig, changed_keys
from bilm.vocabulary import Vocabulary

logger = logging.getLogger(__name__)

_FREE_KEYS = ("out", "stop.", "report.", "device", "optimizer.decay_words", "half_precision_output")
"""What a resumed run may change: it does not touch the steps already made."""


class TrainingError(UserError):
    """Training that cannot start or go on; the message says what to try."""


def check_folder(
    config: TrainingConfig, checkpoint: Path, *, resume: bool, allow_changes: bool
) -> dict[str, Any] | None:
    """Return what the checkpoint says, or None for a fresh start.

    Raises
    ------
    TrainingError
        If a fresh start would write over another run, or a resumed run's configuration has changed.
    CheckpointError
        If there is nothing to resume.
    """
    if not resume:
        if checkpoint.exists():
            raise TrainingError(
                f"{config.out} holds a training run already: go on with --resume, or choose another out"
            )
        return None
    saved = read_progress(checkpoint)
    changes = changed_keys(saved["config"], config.model_dump(mode="json"))
    changes = [change for change in changes if not change.startswith(_FREE_KEYS)]
    if changes and not allow_changes:
        raise TrainingError(
            f"{checkpoint} was made under another configuration: {'; '.join(changes)} "
            "(--allow-changes goes on all the same)"
        )
    return saved


def make_model(config: TrainingConfig, shards: Sequence[Path], *, resume: bool) -> BiLM:
    """Make the network with its vocabulary: random, or from the model to start from."""
    start = None if config.start is None else load_model(config.start)
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
        if saved is not None and saved["config"]["stop"]["epochs"] == stop.epochs and stop.words is None:
            return int(saved["total_words"])
        totals.append(stop.epochs * sum(len(sentence) for sentence in _sentences(shards)))
    return min(totals, default=None)


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
