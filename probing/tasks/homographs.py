"""Homographs: one word with several senses in each sentence, from CoNLL-U files that name its sense in MISC."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from probing.corpora import SPLITS, CorpusError, Sentence, corpus_files, load_split
from probing.tasks.base import Example, Split, Task, TaskError

_KEY = "Sense="
_PARTS_OF_SPEECH = {"nouns": "NOUN", "verbs": "VERB", "adjectives": "ADJ", "adverbs": "ADV"}


class HomographsTask(Task):
    """The sense of the one marked word of each sentence, among those that its lemma has in train.

    Attributes
    ----------
    corpus : str or mapping
        The corpus that comes with the package, or one's own CoNLL-U files, `{train: a.conllu, dev: b.conllu, test:
        c.conllu}`: one token of each sentence has `Sense=...` in MISC, and its lemma and UPOS in their columns. A
        sense's name is of one lemma alone, such as `bank.finance`.
    """

    metric: ClassVar[Literal["accuracy", "f1"]] = "f1"
    macro: ClassVar[bool] = True

    task: Literal["homographs"] = "homographs"
    corpus: str | dict[str, str] = "homographs"

    @property
    def name(self) -> str:
        """The task's own name."""
        return "homographs"

    @property
    def corpus_name(self) -> str:
        """The registered name, or the training file's."""
        return self.corpus if isinstance(self.corpus, str) else self.corpus.get("train", "of your own")

    def check(self) -> None:
        """See that there is a file for each of the three splits."""
        missing = [split for split in SPLITS if split not in corpus_files(self.corpus)]
        if missing:
            raise CorpusError(
                f"corpus {self.corpus_name}: no {' and no '.join(missing)} file is named; a task needs all three"
            )

    def load(self) -> Mapping[str, Split]:
        """Read the three splits. A lemma's candidates are its senses in train, the most frequent first, then by name.

        Raises
        ------
        TaskError
            If a sentence has no target or several, a target no lemma, or two lemmas one sense.
        """
        self.check()
        sentences = {split: load_split(self.corpus, split) for split in SPLITS}
        marked = {split: [_target(sentence) for sentence in several] for split, several in sentences.items()}
        senses = _senses_of_groups(sentences, marked)
        return {split: _split(sentences[split], marked[split], senses) for split in SPLITS}

    def subsets(self, train: Split, split: Split) -> dict[str, NDArray[np.bool_]]:
        """Tell which examples of `split` are of each part of speech, where there are several."""
        tags = np.array([str(example.group).rpartition(".")[2] for example in split.examples])
        found = {name: tags == tag for name, tag in _PARTS_OF_SPEECH.items() if (tags == tag).any()}
        return {"all": np.ones(len(tags), dtype=bool)} | (found if len(found) > 1 else {})


def _target(sentence: Sentence) -> tuple[int, str, str]:
    """Return the target's position in the sentence, its group (lemma and part of speech) and its sense."""
    if "misc" not in sentence.columns:
        raise TaskError(f"{sentence.place()}: this file has no MISC column: homographs are read from CoNLL-U")
    found = [
        (position, item.removeprefix(_KEY))
        for position, misc in enumerate(sentence.columns["misc"])
        for item in misc.split("|")
        if item.startswith(_KEY)
    ]
    if len(found) != 1:
        words = ", ".join(f"{position + 1} ({sentence.tokens[position]})" for position, _ in found)
        here = f"{words} have" if words else "none has"
        raise TaskError(f"{sentence.place()}: one token must have {_KEY}... in MISC, here {here}")
    ((position, sense),) = found
    lemma, tag = sentence.columns["lemma"][position], sentence.columns["upos"][position]
    for what, value in (("sense", sense), ("lemma", lemma), ("upos", tag)):
        if value in ("", "_"):
            raise TaskError(f"{sentence.place()}: token {position + 1} ({sentence.tokens[position]}) has no {what}")
    return position, f"{lemma}.{tag}", sense


def _senses_of_groups(
    sentences: Mapping[str, Sequence[Sentence]], marked: Mapping[str, Sequence[tuple[int, str, str]]]
) -> dict[str, tuple[str, ...]]:
    """Return the senses that each group has in train, the most frequent first and those as frequent by name."""
    group_of: dict[str, str] = {}
    for split, found in marked.items():
        for sentence, (_, group, sense) in zip(sentences[split], found, strict=True):
            if group_of.setdefault(sense, group) != group:
                raise TaskError(f"{sentence.place()}: the sense {sense} is of {group_of[sense]} and of {group}")
    counts: dict[str, Counter[str]] = {}
    for _, group, sense in marked["train"]:
        counts.setdefault(group, Counter())[sense] += 1
    return {group: tuple(sorted(seen, key=lambda name: (-seen[name], name))) for group, seen in counts.items()}


def _split(
    sentences: Sequence[Sentence], marked: Sequence[tuple[int, str, str]], senses: Mapping[str, tuple[str, ...]]
) -> Split:
    examples = [
        Example(
            index, position, position + 1, (sense,), sentences[index].tokens[position], group, senses.get(group, ())
        )
        for index, (position, group, sense) in enumerate(marked)
    ]
    return Split(sentences, examples)
