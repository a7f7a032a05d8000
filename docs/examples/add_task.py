"""A task of one's own: the part of speech of the word before, which layer 0 sees nothing of."""

from collections.abc import Mapping, Sequence
from typing import Literal

from probing.corpora import SPLITS, Sentence, corpus_files, load_split
from probing.tasks import TASKS, Example, Split, Task


class PreviousPosTask(Task):
    """The universal part of speech of the word before; the first word of a sentence is no example.

    Attributes
    ----------
    corpus : str or mapping
        A registered name, or one's own CoNLL-U files by split.
    """

    task: Literal["previous-pos"] = "previous-pos"
    corpus: str | dict[str, str]

    @property
    def name(self) -> str:
        """What the task is called in results."""
        return "previous-pos"

    @property
    def corpus_name(self) -> str:
        """What the corpus is called in results."""
        return self.corpus if isinstance(self.corpus, str) else "my treebank"

    def check(self) -> None:
        """See that the files are here, without reading them."""
        corpus_files(self.corpus)

    def load(self) -> Mapping[str, Split]:
        """Read the three splits."""
        return {split: _split(load_split(self.corpus, split)) for split in SPLITS}


def _split(sentences: Sequence[Sentence]) -> Split:
    examples = [
        Example(index, place, place + 1, labels=(sentence.columns["upos"][place - 1],), form=sentence.tokens[place])
        for index, sentence in enumerate(sentences)
        for place in range(1, len(sentence.tokens))
    ]
    return Split(sentences, examples)


TASKS["previous-pos"] = PreviousPosTask
