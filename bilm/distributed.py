"""One training in many processes, as `torchrun` starts them; without it, one process that agrees with itself."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor

from bilm.lstm import LSTMState
from bilm.model import BiLMState


@contextmanager
def process_group() -> Iterator[None]:
    """Join the processes that torchrun started: nccl where each has a GPU, gloo otherwise."""
    if "RANK" not in os.environ or int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield
    finally:
        dist.destroy_process_group()


def rank() -> int:
    """Return this process's number; 0 writes the files."""
    return dist.get_rank() if dist.is_initialized() else 0


def world_size() -> int:
    """Return the number of processes."""
    return dist.get_world_size() if dist.is_initialized() else 1


def barrier() -> None:
    """Wait for all processes."""
    if dist.is_initialized():
        dist.barrier()


def sum_values(values: Sequence[float], device: torch.device) -> list[float]:
    """Add numbers over all processes."""
    if not dist.is_initialized():
        return list(values)
    total = torch.tensor(values, dtype=torch.float64, device=device)
    dist.all_reduce(total)
    return total.tolist()


def sum_gradients(parameters: Sequence[Tensor]) -> None:
    """Add the gradients of all processes, in one message."""
    if not dist.is_initialized():
        return
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(flat)
    for gradient, part in zip(gradients, torch.split(flat, [gradient.numel() for gradient in gradients]), strict=True):
        gradient.copy_(part.view_as(gradient))


def gather_rows(state: BiLMState) -> BiLMState:
    """Put the rows of all processes after one another."""
    if not dist.is_initialized():
        return state

    def gather(part: Tensor) -> Tensor:
        parts = [torch.empty_like(part) for _ in range(world_size())]
        dist.all_gather(parts, part.contiguous())
        return torch.cat(parts, dim=1)

    forward, backward = (LSTMState(*(gather(part) for part in direction)) for direction in state)
    return BiLMState(forward, backward)
