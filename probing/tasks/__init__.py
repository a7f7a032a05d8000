"""Sentences -> Examples. A new task is one new file here and one line in `TASKS`."""

from probing.tasks.base import Example, Split, Task, TaskError
from probing.tasks.coarsewsd import CoarseWsdTask
from probing.tasks.pos import PosTask
from probing.tasks.supersense import SupersenseTask
from probing.tasks.wsd import WsdTask

TASKS: dict[str, type[Task]] = {
    "pos": PosTask,
    "wsd": WsdTask,
    "coarsewsd": CoarseWsdTask,
    "supersense": SupersenseTask,
}

__all__ = [
    "TASKS",
    "CoarseWsdTask",
    "Example",
    "PosTask",
    "Split",
    "SupersenseTask",
    "Task",
    "TaskError",
    "WsdTask",
]
