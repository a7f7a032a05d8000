"""CoarseWSD-20: twenty nouns, each with a few clearly different senses and many examples."""

from collections import Counter
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from probing.corpora import SPLITS, Sentence, corpus_files, load_split
from probing.tasks.base import Example, Split, Task
from probing.tasks.senses import Target, targets

DEV_EVERY = 10
"""Every so manieth training sentence of a noun is held out as dev: the corpus has none."""


class CoarseWsdTask(Task):
    """The sense of one of twenty nouns, coarse senses from Wikipedia.

    Attributes
    ----------
    corpus : str
        Registered. Every tenth training sentence of each noun serves as dev.
    """

    metric: ClassVar[Literal["accuracy", "f1"]] = "f1"
    macro: ClassVar[bool] = True

    task: Literal["coarsewsd"] = "coarsewsd"
    corpus: Literal["coarsewsd-20"] = "coarsewsd-20"

    @property
    def name(self) -> str:
        """The task's own name."""
        return "coarsewsd"

    @property
    def corpus_name(self) -> str:
        """The corpus."""
        return self.corpus

    def check(self) -> None:
        """See that the corpus is here."""
        corpus_files(self.corpus)

    def load(self) -> Mapping[str, Split]:
        """Read train, dev and test. A noun's candidates are its senses, the most frequent in train first."""
        sentences = {"train": load_split(self.corpus, "train"), "test": load_split(self.corpus, "test")}
        found = {split: list(targets(several)) for split, several in sentences.items()}
        seen: Counter[str] = Counter()
        held_out = set()
        for target in found["train"]:
            seen[target.lemma] += 1
            if seen[target.lemma] % DEV_EVERY == 0:
                held_out.add(target.sentence)
        parts = {
            "train": [target for target in found["train"] if target.sentence not in held_out],
            "dev": [target for target in found["train"] if target.sentence in held_out],
            "test": found["test"],
        }
        counts: dict[str, Counter[str]] = {}
        for target in parts["train"]:
            counts.setdefault(target.lemma, Counter()).update(target.senses)
        senses = {lemma: tuple(sense for sense, _ in counted.most_common()) for lemma, counted in counts.items()}
        sentences["dev"] = sentences["train"]
        return {split: _split(sentences[split], parts[split], senses) for split in SPLITS}

    def subsets(self, train: Split, split: Split) -> dict[str, NDArray[np.bool_]]:
        """Tell which examples are of each noun, and for which the noun's most frequent sense is (not) right."""
        groups = np.array([str(example.group) for example in split.examples])
        first = np.array([any(sense in e.labels for sense in e.candidates[:1]) for e in split.examples])
        found = {"all": np.ones(len(groups), dtype=bool), "first-sense": first, "other-sense": ~first}
        return found | {noun: groups == noun for noun in sorted(set(groups.tolist()))}


def _split(sentences: list[Sentence], found: list[Target], senses: Mapping[str, tuple[str, ...]]) -> Split:
    """Keep the sentences of some targets, and number them anew."""
    kept = [sentences[target.sentence] for target in found]
    examples = [
        Example(index, t.start, t.stop, t.senses, t.form, t.lemma, senses.get(t.lemma, ()))
        for index, t in enumerate(found)
    ]
    return Split(kept, examples)
