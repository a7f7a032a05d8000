"""Sentences -> Examples. A new task is one new file here and one line in `TASKS`."""

from probing.tasks.base import Example, Split, Task, TaskError
from probing.tasks.coarsewsd import CoarseWsdTask
from probing.tasks.homographs import HomographsTask
from probing.tasks.pos import PosTask
from probing.tasks.subjectivity import SubjectivityTask
from probing.tasks.supersense import SupersenseTask
from probing.tasks.wsd import WsdTask

TASKS: dict[str, type[Task]] = {
    "pos": PosTask,
    "wsd": WsdTask,
    "coarsewsd": CoarseWsdTask,
    "supersense": SupersenseTask,
    "homographs": HomographsTask,
    "subjectivity": SubjectivityTask,
}

__all__ = [
    "TASKS",
    "CoarseWsdTask",
    "Example",
    "HomographsTask",
    "PosTask",
    "Split",
    "SubjectivityTask",
    "SupersenseTask",
    "Task",
    "TaskError",
    "WsdTask",
]
