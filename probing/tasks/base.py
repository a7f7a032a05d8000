"""What a task is: it turns a corpus into Examples of three splits. One Example type serves every task."""

import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from bilm.errors import UserError
from probing.corpora import Sentence


class TaskError(UserError):
    """A corpus that cannot serve as this task's data; the message names file, line and sentence."""


@dataclass(frozen=True, slots=True)
class Example:
    """One thing to classify.

    Attributes
    ----------
    sentence : int
        Index into the split's sentences.
    start, stop : int
        The tokens, from `start` up to and without `stop`. A part of speech has a span of one token.
    labels : tuple of str
        The gold labels; any of them is right.
    form : str
        The surface form, tokens joined with a space.
    group : str or None
        What it competes in (lemma and part of speech, for word senses); None where every label of the task is allowed.
    candidates : tuple of str
        The labels that its group allows, the inventory's first sense first; empty where nothing is known of the group.
    """

    sentence: int
    start: int
    stop: int
    labels: tuple[str, ...]
    form: str
    group: str | None = None
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True)
class Split:
    """The sentences of train, dev or test, and the examples in them, in the order of the sentences."""

    sentences: Sequence[Sentence]
    examples: Sequence[Example]

    @property
    def labels(self) -> NDArray[np.str_]:
        """The first gold label of each example, shape (n_examples,)."""
        return np.array([example.labels[0] for example in self.examples], dtype=np.str_)

    @property
    def has_groups(self) -> bool:
        """Whether examples compete within groups, as word senses do."""
        return any(example.group is not None for example in self.examples)

    @property
    def has_word_forms(self) -> bool:
        """Whether examples are words, whose forms recur and can tell the label; whole sentences hardly ever do."""
        return any(e.stop - e.start < len(self.sentences[e.sentence].tokens) for e in self.examples)

    @property
    def forms(self) -> NDArray[np.object_]:
        """The surface form of each example, shape (n_examples,). Objects: one very long word widens no other."""
        return np.array([example.form for example in self.examples], dtype=np.object_)

    @cached_property
    def content(self) -> str:
        """A hash of the words and the spans: what features depend on, besides the encoder."""
        digest = hashlib.sha256()
        for sentence in self.sentences:
            # Lengths keep ("a b", "c") and ("a", "b c") apart; a lone surrogate has no UTF-8 bytes but must count.
            digest.update(str([len(token) for token in sentence.tokens]).encode())
            digest.update("".join(sentence.tokens).encode("utf-8", "surrogatepass"))
        for example in self.examples:
            digest.update(f" {example.sentence}:{example.start}-{example.stop}".encode())
        return digest.hexdigest()

    @cached_property
    def annotated_content(self) -> str:
        """A hash of words, spans, labels and candidates: what predictions depend on, besides the model."""
        digest = hashlib.sha256(self.content.encode())
        for example in self.examples:
            digest.update(repr((example.labels, example.group, example.candidates)).encode())
        return digest.hexdigest()

    @property
    def sentence_index(self) -> NDArray[np.int64]:
        """The sentence of each example, shape (n_examples,): what intervals resample."""
        return np.array([example.sentence for example in self.examples], dtype=np.int64)

    def by_token(self) -> "Split":
        """Return the same sentences with every token as an example, without a label."""
        words = [sentence.tokens for sentence in self.sentences]
        examples = [Example(s, t, t + 1, (), form) for s, own in enumerate(words) for t, form in enumerate(own)]
        return Split(self.sentences, examples)

    def of_sentences(self, chosen: Sequence[int]) -> tuple["Split", NDArray[np.int64]]:
        """Return the part of the split in the `chosen` sentences (indices, rising), and the rows of its examples here.

        The part keeps the words of no other sentence: its examples' `sentence` counts within `chosen`.
        """
        place = {sentence: new for new, sentence in enumerate(chosen)}
        rows = [row for row, example in enumerate(self.examples) if example.sentence in place]
        examples = [replace(self.examples[row], sentence=place[self.examples[row].sentence]) for row in rows]
        return Split([self.sentences[index] for index in chosen], examples), np.array(rows, dtype=np.int64)


class Task(BaseModel):
    """The keys of a task in a config, and how its data are made. One subclass a task, registered in `TASKS`.

    Attributes
    ----------
    metric : {"accuracy", "f1"}
        What the share of right answers is called: where each instance gets one answer, F1 is the accuracy.
    pooled : bool
        Whether dev and test are also reported together: the word sense benchmark's "ALL" has its dev set in it.
    macro : bool
        Whether the mean over groups is also reported, each group counting the same.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    metric: ClassVar[Literal["accuracy", "f1"]] = "accuracy"
    pooled: ClassVar[bool] = False
    macro: ClassVar[bool] = False

    task: str

    @property
    @abstractmethod
    def name(self) -> str:
        """What the task is called in results."""

    @property
    @abstractmethod
    def corpus_name(self) -> str:
        """What the corpus is called in results."""

    @abstractmethod
    def check(self) -> None:
        """Raise an error if the data are not here, without reading them."""

    @abstractmethod
    def load(self) -> Mapping[str, Split]:
        """Read the data: splits "train", "dev" and "test"."""

    def subsets(self, train: Split, split: Split) -> dict[str, NDArray[np.bool_]]:
        """Tell which examples of `split` are in each subset that is reported apart.

        Returns
        -------
        dict of bool arrays, shape (n_examples,)
            "all"; "ambiguous": the word form has more than one label in train; "unseen": it does not occur in train. On
            all other examples the word form, which is case-sensitive, gives the answer alone: context can show its
            worth in these two only.
        """
        labels_of: dict[str, set[str]] = {}
        for example in train.examples:
            labels_of.setdefault(example.form, set()).update(example.labels)
        n_labels = np.array([len(labels_of.get(example.form, ())) for example in split.examples])
        return {"all": np.ones(len(n_labels), dtype=bool), "ambiguous": n_labels > 1, "unseen": n_labels == 0}
