"""Files -> Sentences: readers by format, the registry that knows corpora by name, and the dictionary of senses."""

from probing.corpora.coarsewsd import coarsewsd_inventory, read_coarsewsd
from probing.corpora.conllu import read_conllu
from probing.corpora.raganato import SENSE_COLUMNS, read_raganato
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
from probing.corpora.semcor import read_semcor
from probing.corpora.sentence import CorpusError, Sentence
from probing.corpora.subjectivity import read_subjectivity
from probing.corpora.wordnet import Inventory, read_index_sense, sense_pos, supersense

__all__ = [
    "CORPORA",
    "FORMATS",
    "SENSE_COLUMNS",
    "SPLITS",
    "Corpus",
    "CorpusError",
    "Inventory",
    "Sentence",
    "coarsewsd_inventory",
    "corpus_files",
    "data_folder",
    "duplicate_sentences",
    "find_corpus",
    "load_split",
    "read_coarsewsd",
    "read_conllu",
    "read_index_sense",
    "read_raganato",
    "read_semcor",
    "read_subjectivity",
    "sense_pos",
    "supersense",
]
