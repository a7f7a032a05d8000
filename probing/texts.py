"""The words of an experiment's tasks as plain text: what another tool makes vectors of, for the encoder `hdf5`."""

from pathlib import Path
from typing import NamedTuple

from probing.config import ExperimentConfig
from probing.corpora import SPLITS
from probing.corpora.plain import write_plain


class Written(NamedTuple):
    """A file, and how many sentences it has."""

    path: Path
    n_sentences: int


def write_texts(config: ExperimentConfig, folder: Path) -> list[Written]:
    """Write `TASK.SPLIT.txt` into `folder` for each task and split: line i + 1 is sentence i, as `plain_word` has it.

    Tasks on the same text get a file each, all alike: any one of them will do.

    Raises
    ------
    UserError
        If a corpus is missing or cannot be used, or a file cannot be written.
    """
    for task in config.tasks:
        task.check()
    written = []
    for task in config.tasks:
        splits = task.load()
        for split in SPLITS:
            path = folder / f"{task.name}.{split}.txt"
            n_sentences = write_plain((sentence.tokens for sentence in splits[split].sentences), path)
            written.append(Written(path, n_sentences))
    return written
