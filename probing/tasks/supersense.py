"""Supersenses: the broad class of a noun or verb in its sentence, read off its sense key."""

from collections.abc import Mapping, Sequence
from typing import Literal

from probing.corpora import Sentence, supersense
from probing.tasks.base import Example, Split
from probing.tasks.senses import AllWordsTask, targets

_CLASSES = ("noun.", "verb.")


class SupersenseTask(AllWordsTask):
    """The lexicographer class ("noun.person", "verb.motion", 41 in all) of each annotated noun and verb.

    The class is part of the sense key, so no dictionary is needed.
    """

    task: Literal["supersense"] = "supersense"

    def load(self) -> Mapping[str, Split]:
        """Read train, dev and test; any of a target's classes is right."""
        self.check()
        return {split: _split(sentences) for split, sentences in self.sentences().items()}


def _split(sentences: Sequence[Sentence]) -> Split:
    examples = []
    for target in targets(sentences):
        classes = tuple(dict.fromkeys(supersense(key) for key in target.senses))
        classes = tuple(name for name in classes if name.startswith(_CLASSES))
        if classes:
            examples.append(Example(target.sentence, target.start, target.stop, classes, target.form))
    return Split(sentences, examples)
