"""The checkpoint of a training run: one file that is replaced in one step, so that it is never half written."""

import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from bilm.errors import UserError
from bilm.files import atomic_path
from bilm.model import BiLM, BiLMState


class CheckpointError(UserError):
    """A checkpoint that cannot be used."""


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


def save_checkpoint(
    path: Path, model: BiLM, optimizer: torch.optim.Optimizer, state: BiLMState | None, progress: dict[str, Any]
) -> None:
    """Write weights, optimizer, carried LSTM state and everything else (`progress`, as JSON can hold it).

    Random numbers need no state of their own: every step draws from the run's seed and its own number.

    Raises
    ------
    UserError
        If the file cannot be written; an older one at the same place survives.
    """
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for index, values in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": torch.as_tensor(value) for name, value in values.items()}
    if state is not None:
        for direction, part in state._asdict().items():
            tensors |= {f"state.{direction}.{name}": tensor.clone() for name, tensor in part._asdict().items()}
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with atomic_path(path) as temporary:
        try:
            save_file(tensors, temporary, metadata={"progress": json.dumps(progress)})
        except SafetensorError as error:  # a full disk, for example
            raise CheckpointError(f"{path}: cannot be written ({error}); the checkpoint before it is kept") from error
        with temporary.open("rb") as file:
            os.fsync(file.fileno())


def read_progress(path: Path) -> dict[str, Any]:
    """Read a checkpoint's `progress` alone.

    Raises
    ------
    CheckpointError
        If the file is missing or damaged.
    """
    if not path.exists():
        raise CheckpointError(f"{path}: no checkpoint to go on from: there is no such file (start without --resume)")
    try:
        with safe_open(path, framework="pt") as file:
            progress: dict[str, Any] = json.loads(file.metadata()["progress"])
            return progress
    except (OSError, SafetensorError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: no checkpoint to go on from: {error}") from error


def load_checkpoint(path: Path, model: BiLM, optimizer: torch.optim.Optimizer) -> BiLMState | None:
    """Fill model and optimizer from a checkpoint and return the carried state.

    Raises
    ------
    CheckpointError
        If the file is missing or damaged, or holds another network.
    """
    sections: dict[str, dict[str, Tensor]] = {"model": {}, "optimizer": {}, "state": {}}
    try:
        with safe_open(path, framework="pt") as file:
            for key in file.keys():  # noqa: SIM118
                section, name = key.split(".", maxsplit=1)
                sections[section][name] = file.get_tensor(key)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: no checkpoint to go on from: {error}") from error
    try:
        model.load_state_dict(sections["model"])
    except RuntimeError as error:
        raise CheckpointError(f"{path}: holds another network: {' '.join(str(error).split())[:200]}") from error
    values: dict[int, dict[str, Tensor]] = {}
    for key, tensor in sections["optimizer"].items():
        index, name = key.split(".")
        values.setdefault(int(index), {})[name] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": values})
    if not sections["state"]:
        return None
    zero = model.zero_state(0)
    forward, backward = (
        type(part)(*(sections["state"][f"{direction}.{name}"].to(model.device) for name in part._fields))
        for direction, part in zip(zero._fields, zero, strict=True)
    )
    return BiLMState(forward, backward)
