"""Sentences -> Examples. A new task is one new file here and one line in `TASKS`."""

from probing.tasks.base import Example, Split, Task, TaskError, subsets
from probing.tasks.pos import PosTask

TASKS: dict[str, type[Task]] = {"pos": PosTask}

__all__ = ["TASKS", "Example", "PosTask", "Split", "Task", "TaskError", "subsets"]
