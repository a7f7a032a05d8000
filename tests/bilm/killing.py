"""A program that starts a toy run, kills it at random moments and resumes it, until it has been killed often enough.

It is a process of its own, which forks: the children need not import everything again, and none of them inherits
threads.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import torch._dynamo  # noqa: F401  (optimizers import it when they are made: seconds, in each child again)

from bilm.training import train
from bilm.training_config import TrainingConfig


def main(values: str, n_kills: int) -> None:
    """Kill the run that `values` (JSON) describes `n_kills` times while it runs, then let it end."""
    config = TrainingConfig.model_validate_json(values)
    moments = random.Random(0)
    n_killed = 0
    while n_killed < n_kills:
        child = start(config)
        # Sometimes it is still starting, most of the time at work, with a checkpoint or more of its own behind it.
        if moments.random() < 0.8:
            wait_for_change(config.out / "checkpoint.safetensors")
        time.sleep(moments.uniform(0, 0.15))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            n_killed += 1
        elif os.waitstatus_to_exitcode(status):
            sys.exit("a resumed run failed")
        else:
            sys.exit(f"the run ended after {n_killed} kills: make it longer")
    _, status = os.waitpid(start(config), 0)
    if status:
        sys.exit("the last stretch failed")


def wait_for_change(path: Path) -> None:
    """Wait until the file has been replaced."""

    def inode() -> int:
        return path.stat().st_ino if path.exists() else 0

    before = inode()
    while inode() == before:
        time.sleep(0.002)


def start(config: TrainingConfig) -> int:
    """Fork a child that starts or resumes the run."""
    child = os.fork()
    if child:
        return child
    train(config, resume=(config.out / "checkpoint.safetensors").exists())
    os._exit(0)


if __name__ == "__main__":
    for path, count in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        main(Path(path).read_text(encoding="utf-8"), int(count))
