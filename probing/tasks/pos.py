"""Part-of-speech tagging: every token is an example, any column of a CoNLL-U file can be the label."""

from collections.abc import Iterator, Mapping
from typing import Literal

from pydantic import Field

from probing.corpora import SPLITS, CorpusError, Sentence, corpus_files, load_split
from probing.tasks.base import Example, Split, Task, TaskError

_NOT_ANNOTATED = "_"


class PosTask(Task):
    """One label for each token.

    Attributes
    ----------
    corpus : str or mapping
        A registered name, or one's own CoNLL-U files: `{train: a.conllu, dev: b.conllu, test: c.conllu}`.
    column : {"upos", "xpos", "deprel"}
        The column that holds the label: universal part of speech, the treebank's own tags, or the dependency relation
        to the head.
    label : str, optional
        What it is called in results: two treebanks of one experiment need two names.
    """

    task: Literal["pos"] = "pos"
    corpus: str | dict[str, str]
    column: Literal["upos", "xpos", "deprel"] = "upos"
    label: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,40}$")

    @property
    def name(self) -> str:
        """The label, else "pos-" and the column."""
        return self.label or f"pos-{self.column}"

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
        """Read the three splits."""
        self.check()
        return {split: self._load_split(split) for split in SPLITS}

    def _load_split(self, split: str) -> Split:
        sentences = load_split(self.corpus, split)
        examples = [example for index, sentence in enumerate(sentences) for example in self._examples(index, sentence)]
        return Split(sentences, examples)

    def _examples(self, index: int, sentence: Sentence) -> Iterator[Example]:
        if self.column not in sentence.columns:
            raise TaskError(
                f"{sentence.place()}: this file has no {self.column}: parts of speech are read from CoNLL-U"
            )
        for position, (form, label) in enumerate(zip(sentence.tokens, sentence.columns[self.column], strict=True)):
            if label == _NOT_ANNOTATED:
                raise TaskError(
                    f"{sentence.place()}: token {position + 1} ({form}) has no {self.column}: the column is '_'"
                )
            yield Example(sentence=index, start=position, stop=position + 1, labels=(label,), form=form)
