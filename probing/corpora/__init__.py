"""Files -> Sentences: readers by format, and the registry that knows corpora by name."""

from probing.corpora.conllu import read_conllu
from probing.corpora.registry import (
    CORPORA,
    FORMATS,
    SPLITS,
    Corpus,
    corpus_files,
    data_folder,
    duplicate_sentences,
    find_corpus,
    load_split,
)
from probing.corpora.sentence import CorpusError, Sentence

__all__ = [
    "CORPORA",
    "FORMATS",
    "SPLITS",
    "Corpus",
    "CorpusError",
    "Sentence",
    "corpus_files",
    "data_folder",
    "duplicate_sentences",
    "find_corpus",
    "load_split",
    "read_conllu",
]
