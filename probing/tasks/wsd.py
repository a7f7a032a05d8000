"""Word sense disambiguation of all words: train on SemCor, test on the sets of Raganato et al. 2017, as ELMo was."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from probing.corpora import Inventory, Sentence, corpus_files, read_index_sense, sense_pos
from probing.tasks.base import Example, Split, TaskError
from probing.tasks.senses import AllWordsTask, Target, set_name, targets

logger = logging.getLogger(__name__)

_PARTS_OF_SPEECH = {"nouns": "NOUN", "verbs": "VERB", "adjectives": "ADJ", "adverbs": "ADV"}


class WsdTask(AllWordsTask):
    """The sense of each annotated word, among those that its lemma and part of speech have.

    Attributes
    ----------
    inventory : str or None
        The dictionary that lists each lemma's senses, the most frequent first. None: the senses that train has, the
        most frequent there first.
    """

    metric: ClassVar[Literal["accuracy", "f1"]] = "f1"
    pooled: ClassVar[bool] = True

    task: Literal["wsd"] = "wsd"
    inventory: Literal["wordnet-3.0"] | None = "wordnet-3.0"

    def check(self) -> None:
        """See that corpora and dictionary are here."""
        super().check()
        if self.inventory:
            corpus_files(self.inventory)

    def load(self) -> Mapping[str, Split]:
        """Read train, dev and test; training targets without a sense of the inventory are left out."""
        self.check()
        sentences = self.sentences()
        found = list(targets(sentences["train"]))
        if self.inventory:
            inventory = read_index_sense(corpus_files(self.inventory)["index"])
            found = _known(found, inventory)
        else:
            inventory = _inventory_of(found)
        train = Split(sentences["train"], [_example(target, *_first_key(target), inventory) for target in found])
        return {"train": train} | {split: _evaluated(sentences[split], inventory, split) for split in ("dev", "test")}

    def subsets(self, train: Split, split: Split) -> dict[str, NDArray[np.bool_]]:
        """Tell which examples of `split` are in each subset that is reported apart.

        Returns
        -------
        dict of bool arrays, shape (n_examples,)
            "all"; each set by its name, where there are several; each part of speech; "polysemous": more than one
            candidate; "first-sense" and "other-sense": whether the inventory's first sense is right; "unseen lemma":
            the lemma has no example in train.
        """
        examples = split.examples
        sets = np.array([set_name(split.sentences[example.sentence]) for example in examples])
        names = list(dict.fromkeys(sets.tolist()))
        found = {"all": np.ones(len(examples), dtype=bool)}
        found |= {name: sets == name for name in names if len(names) > 1}
        pos = np.array([str(example.group).rpartition(".")[2] for example in examples])
        found |= {name: pos == tag for name, tag in _PARTS_OF_SPEECH.items()}
        first = np.array([any(sense in example.labels for sense in example.candidates[:1]) for example in examples])
        known = {example.group for example in train.examples}
        return found | {
            "polysemous": np.array([len(example.candidates) > 1 for example in examples]),
            "first-sense": first,
            "other-sense": ~first,
            "unseen lemma": np.array([example.group not in known for example in examples]),
        }


def _first_key(target: Target) -> tuple[str, str]:
    """Return lemma and part of speech of a training target's first sense key: taggers and dictionaries disagree."""
    key = target.senses[0]
    return key.partition("%")[0], sense_pos(key)


def _example(target: Target, lemma: str, pos: str, inventory: Inventory) -> Example:
    candidates = inventory.candidates(lemma, pos)
    return Example(target.sentence, target.start, target.stop, target.senses, target.form, f"{lemma}.{pos}", candidates)


def _known(found: Sequence[Target], inventory: Inventory) -> list[Target]:
    """Keep the sense keys that the inventory has, and the targets that have such a key."""
    kept = [t._replace(senses=keys) for t in found if (keys := tuple(key for key in t.senses if key in inventory))]
    if len(kept) < len(found):
        lost = len(found) - len(kept)
        logger.warning("wsd: %d of %d training targets have no sense of the inventory: left out", lost, len(found))
    if not kept:
        raise TaskError("wsd: no training target has a sense of the inventory: is it of another version of WordNet?")
    return kept


def _inventory_of(found: Sequence[Target]) -> Inventory:
    """Return the senses that training targets have, a lemma's most frequent first; of equals, the first in the text."""
    logger.warning("wsd: without a dictionary, a lemma's candidates are the senses that train has")
    counts: dict[tuple[str, str], Counter[str]] = {}
    for target in found:
        for key in target.senses:
            counts.setdefault((key.partition("%")[0], sense_pos(key)), Counter())[key] += 1
    return Inventory({group: tuple(key for key, _ in senses.most_common()) for group, senses in counts.items()})


def _evaluated(sentences: Sequence[Sentence], inventory: Inventory, split: str) -> Split:
    examples = [_example(target, target.lemma, target.pos, inventory) for target in targets(sentences)]
    unknown = sorted({key for example in examples for key in example.labels if key not in inventory})
    if unknown:
        shown = ", ".join(unknown[:10]) + (", ..." if len(unknown) > 10 else "")
        logger.warning(
            "wsd, %s: %d gold senses are not in the inventory, so unreachable: %s", split, len(unknown), shown
        )
    return Split(sentences, examples)
