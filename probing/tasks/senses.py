"""Sense-annotated text: its targets, and the corpora that the all-words tasks `wsd` and `supersense` read."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from probing.corpora import SPLITS, Sentence, corpus_files, find_corpus, load_split
from probing.tasks.base import Task, TaskError

PAPER_SETS = ("senseval2", "senseval3", "semeval2013", "semeval2015")
"""What Peters et al. 2018 tested on: their figure for WordNet's first sense, 65.9, is that of these four together."""


class Target(NamedTuple):
    """One annotated target.

    Attributes
    ----------
    sentence : int
        Index into the sentences.
    start, stop : int
        Its tokens, from `start` up to and without `stop`; more than one for a multi-word target.
    senses : tuple of str
        Its gold senses; any of them is right.
    lemma, pos : str
        As the corpus gives them, the part of speech as a universal tag.
    form : str
        Its tokens, joined with a space.
    """

    sentence: int
    start: int
    stop: int
    senses: tuple[str, ...]
    lemma: str
    pos: str
    form: str


def targets(sentences: Sequence[Sentence]) -> Iterator[Target]:
    """Yield the targets of all sentences, in their order."""
    for index, sentence in enumerate(sentences):
        columns = sentence.columns
        for target, positions in groupby(range(len(sentence.tokens)), key=columns["target"].__getitem__):
            if target:
                span = list(positions)
                start, stop = span[0], span[-1] + 1
                senses = tuple(columns["senses"][start].split(" "))
                form = " ".join(sentence.tokens[start:stop])
                yield Target(index, start, stop, senses, columns["lemma"][start], columns["pos"][start], form)


class AllWordsTask(Task):
    """A task that trains on SemCor and tests on the sets of Raganato et al. 2017, as was done with ELMo.

    Attributes
    ----------
    train : str
        A registered corpus with a split "train", or one's own `X.data.xml` beside its `X.gold.key.txt`.
    test : str
        The registered benchmark, or one's own `X.data.xml`.
    dev : str
        The benchmark's set that serves as dev, or one's own `X.data.xml`. Hyper-parameters are chosen on it.
    test_sets : list of str
        The benchmark's sets that are tested on, together and each by itself.
    """

    train: str = "semcor3.0"
    test: str = "wsd-evaluation-framework"
    dev: str = "semeval2007"
    test_sets: tuple[str, ...] = PAPER_SETS

    @property
    def name(self) -> str:
        """The task's own name."""
        return self.task

    @property
    def corpus_name(self) -> str:
        """The test corpus."""
        return self.test

    def check(self) -> None:
        """See that the files are here, and that dev is not tested on."""
        own = _is_path(self.test)
        for corpus in dict.fromkeys([self.train, self.test, *([self.dev] if own else [])]):
            corpus_files({"train": corpus} if _is_path(corpus) else corpus)
        if own != _is_path(self.dev):
            raise TaskError(f"{self.task}: dev and test are sets of one benchmark, or both .data.xml files of your own")
        if not own:
            sets = find_corpus(self.test).files
            unknown = [name for name in (self.dev, *self.test_sets) if name not in sets]
            if unknown:
                raise TaskError(f"{self.task}: {self.test} has no set {unknown[0]}; it has {', '.join(sets)}")
        if self.dev in (self.test, *self.test_sets):
            raise TaskError(f"{self.task}: {self.dev} is dev; what is chosen on it cannot be tested on it")

    def sentences(self) -> dict[str, list[Sentence]]:
        """Read the sentences of each split."""
        if _is_path(self.test):
            dev, test = _sentences(self.dev), _sentences(self.test)
        else:
            dev = load_split(self.test, self.dev)
            test = [sentence for name in self.test_sets for sentence in load_split(self.test, name)]
        return dict(zip(SPLITS, (_sentences(self.train), dev, test), strict=True))


def _is_path(corpus: str) -> bool:
    return corpus.endswith(".data.xml")


def _sentences(corpus: str) -> list[Sentence]:
    return load_split({"train": corpus} if _is_path(corpus) else corpus, "train")


def set_name(sentence: Sentence) -> str:
    """Return which set of a benchmark a sentence is from."""
    return Path(sentence.source).name.removesuffix(".data.xml")
