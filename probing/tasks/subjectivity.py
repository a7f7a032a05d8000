"""Subjectivity: is a sentence an opinion or does it tell facts? The example is the whole sentence."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from probing.corpora import SPLITS, corpus_files, load_split
from probing.tasks.base import Example, Split, Task


class SubjectivityTask(Task):
    """Whether a sentence is subjective (of a film review) or objective (of a plot summary); its vectors' mean is read.

    Half of the sentences are of either class, so that knowing nothing gives 50 %. The classes were not annotated: they
    are where a sentence comes from (Pang & Lee 2004).

    Attributes
    ----------
    corpus : str
        Registered. It has no splits of its own: of ten lines of each class the tenth is test and the ninth dev. Of
        its sentences, 98 % were, without their classes, a part of the text that small-en was trained on.
    """

    task: Literal["subjectivity"] = "subjectivity"
    corpus: Literal["subjectivity"] = "subjectivity"

    @property
    def name(self) -> str:
        """The task's own name."""
        return "subjectivity"

    @property
    def corpus_name(self) -> str:
        """The corpus."""
        return self.corpus

    def check(self) -> None:
        """See that the corpus is here."""
        corpus_files(self.corpus)

    def load(self) -> Mapping[str, Split]:
        """Read the three splits: one example a sentence, over all its tokens."""
        return {split: _split(self.corpus, split) for split in SPLITS}

    def subsets(self, train: Split, split: Split) -> dict[str, NDArray[np.bool_]]:
        """Return "all" alone: nearly every sentence is unseen, and none is a word form with several labels."""
        return {"all": np.ones(len(split.examples), dtype=bool)}


def _split(corpus: str, split: str) -> Split:
    sentences = load_split(corpus, split)
    examples = [
        Example(index, 0, len(sentence.tokens), (sentence.columns["class"][0],), " ".join(sentence.tokens))
        for index, sentence in enumerate(sentences)
    ]
    return Split(sentences, examples)
