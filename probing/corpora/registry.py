"""Corpora by name, or a user's own files: which file holds which split, which reader reads it, and where it comes from.

A reader for a new format is one new file in this folder and one line in `FORMATS`; a new corpus is one entry in
`CORPORA`.
"""

import difflib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import platformdirs

from probing.corpora.coarsewsd import read_coarsewsd
from probing.corpora.conllu import read_conllu
from probing.corpora.packed import folder_or_zip
from probing.corpora.raganato import DATA_SUFFIX, read_raganato
from probing.corpora.semcor import read_semcor
from probing.corpora.sentence import CorpusError, Sentence
from probing.corpora.subjectivity import read_subjectivity

SPLITS = ("train", "dev", "test")

# A reader is told the split too, since one folder may hold several.
FORMATS: dict[str, Callable[[Path, str], Iterator[Sentence]]] = {
    "conllu": lambda path, _: read_conllu(path),
    "raganato": lambda path, _: read_raganato(path),
    "semcor": lambda path, _: read_semcor(path),
    "coarsewsd": read_coarsewsd,
    "subjectivity": read_subjectivity,
}
DICTIONARY = "dictionary"
"""The format of what has no sentences, but says what words can mean; `read_index_sense` reads it."""

SHIPPED = Path(__file__).parent
"""The folder of the corpora that come with the package."""


@dataclass(frozen=True)
class Corpus:
    """What is known of a corpus without reading it.

    Parameters
    ----------
    name : str
        The name in configs, and of the corpus's folder.
    description : str
        One line.
    format : str
        A key of `FORMATS`, or `DICTIONARY`.
    files : mapping of str to str
        The file or folder of each split, relative to `data_folder()` or `SHIPPED`. Splits may have any names.
    licence : str
        Under what terms it may be used.
    source : str
        Where the public finds it.
    size : str
        One line of counts.
    shipped : bool
        Whether it comes with the package: its files lie beside this module and not in `data_folder()`.
    packed : bool
        Whether a zip may stand in the folder's place; see `probing.corpora.packed`.
    """

    name: str
    description: str
    format: str
    files: Mapping[str, str]
    licence: str
    source: str
    size: str
    shipped: bool = False
    packed: bool = False

    @property
    def folder(self) -> str:
        """The corpus's folder, relative to `data_folder()`: what of its files' paths ends in its name."""
        parts = PurePosixPath(next(iter(self.files.values()))).parts
        return "/".join(parts[: parts.index(self.name) + 1])

    def paths(self) -> dict[str, Path]:
        """Return where the file or folder of each split lies, whether or not it is there."""
        folder = SHIPPED if self.shipped else data_folder()
        paths = {split: folder / file for split, file in self.files.items()}
        return {split: folder_or_zip(path) for split, path in paths.items()} if self.packed else paths


def _conllu_corpus(
    name: str, stem: str, *, description: str, licence: str, source: str, size: str, shipped: bool = False
) -> Corpus:
    """Describe a corpus whose splits are the files ``<name>/<stem>-<split>.conllu``."""
    files = {split: f"{name}/{stem}-{split}.conllu" for split in SPLITS}
    return Corpus(name, description, "conllu", files, licence, source, size, shipped)


_WSD_SETS = ("senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015")

CORPORA: dict[str, Corpus] = {
    corpus.name: corpus
    for corpus in (
        _conllu_corpus(
            "ud-english-ewt",
            "en_ewt-ud",
            description="Universal Dependencies, English Web Treebank: weblogs, newsgroups, email, reviews, answers",
            licence="CC BY-SA 4.0",
            source="https://github.com/UniversalDependencies/UD_English-EWT",
            size="sentences / words: train 12,544 / 204,577, dev 2,001 / 25,147, test 2,077 / 25,094",
        ),
        _conllu_corpus(
            "wsj-sample",
            "wsj-sample",
            description="The sample of the Penn Treebank that comes with NLTK, XPOS only, split by document 80/10/10",
            licence="non-commercial use, for illustration",
            source="https://www.nltk.org/nltk_data (treebank), written as CoNLL-U",
            size="sentences / words: train 3,396 / 81,793, dev 273 / 6,327, test 245 / 5,964",
        ),
        Corpus(
            name="semcor3.0",
            description="SemCor 3.0: a part of the Brown Corpus, each word with its sense in WordNet 3.0",
            format="semcor",
            files={"train": "semcor3.0"},
            licence="Princeton WordNet licence",
            source="https://web.eecs.umich.edu/~mihalcea/downloads.html (SemCor 3.0)",
            size="sentences / targets: train 37,176 / 234,136, of which 226,036 have a sense in WordNet 3.0",
        ),
        Corpus(
            name="wsd-evaluation-framework",
            description="Raganato et al. 2017: five test sets for word sense disambiguation of all words",
            format="raganato",
            files={name: f"wsd-evaluation-framework/Evaluation_Datasets/{name}/{name}.data.xml" for name in _WSD_SETS},
            licence="research use",
            source="http://lcl.uniroma1.it/wsdeval",
            size="targets: senseval2 2,282, senseval3 1,850, semeval2007 455, semeval2013 1,644, semeval2015 1,022",
        ),
        Corpus(
            name="coarsewsd-20",
            description="CoarseWSD-20: 20 nouns in sentences of Wikipedia, two to five clearly different senses each",
            format="coarsewsd",
            files={"train": "coarsewsd-20", "test": "coarsewsd-20"},
            licence="CC BY-NC 4.0",
            source="https://github.com/danlou/bert-disambiguation",
            size="sentences, one target each: train 23,370, test 10,196",
        ),
        Corpus(
            name="wordnet-3.0",
            description="The sense keys of WordNet 3.0: a dictionary, which says what senses a lemma has",
            format=DICTIONARY,
            files={"index": "wordnet-3.0/index.sense"},
            licence="Princeton WordNet licence",
            source="https://wordnet.princeton.edu/download/current-version (Debian: wordnet-sense-index)",
            size="senses: 206,941",
        ),
        Corpus(
            name="subjectivity",
            description="Pang & Lee 2004: sentences of film reviews (subjective) and of plot summaries (objective)",
            format="subjectivity",
            files=dict.fromkeys(SPLITS, "nltk_data/corpora/subjectivity"),
            licence="CC BY 4.0",
            source="https://www.cs.cornell.edu/people/pabo/movie-review-data (in UTF-8: NLTK data, subjectivity)",
            size="sentences / words: train 8,000 / 192,682, dev 1,000 / 23,716, test 1,000 / 24,177",
            packed=True,
        ),
        _conllu_corpus(
            "homographs",
            "homographs",
            description="Our own sentences for 48 words of two senses each, with parts of speech; in the package",
            licence="CC0 1.0",
            source="written for this project",
            size="sentences / words: train 960 / 12,172, dev 288 / 3,690, test 672 / 8,495",
            shipped=True,
        ),
    )
}


def expand(path: str) -> Path:
    """Return a path with a leading `~` expanded where there is such a home directory."""
    try:
        return Path(path).expanduser()
    except RuntimeError:  # `~name` of no user here: a folder may be called that
        return Path(path)


def data_folder() -> Path:
    """Return the folder that holds the corpora: the environment's PROBING_DATA, else the user's data directory.

    Raises
    ------
    CorpusError
        If PROBING_DATA names something else than a folder; one that is not there yet will do.
    """
    name = os.environ.get("PROBING_DATA")
    if not name:
        return platformdirs.user_data_path("layer-probing")
    folder = expand(name)
    if folder.exists() and not folder.is_dir():
        raise CorpusError(f"PROBING_DATA={name}: is no folder; it should name the one that holds a folder a corpus")
    return folder


def find_corpus(name: str) -> Corpus:
    """Return the registered corpus of that name.

    Raises
    ------
    CorpusError
        If there is none; the message offers the names nearest to it.
    """
    if name not in CORPORA:
        near = difflib.get_close_matches(name, CORPORA)
        offer = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(CORPORA)}"
        raise CorpusError(f"unknown corpus '{name}'; {offer}")
    return CORPORA[name]


def corpus_files(corpus: str | Mapping[str, str]) -> dict[str, Path]:
    """Return the file, or the folder, of each split.

    Parameters
    ----------
    corpus : str or mapping of str to str
        A registered name, or a user's own files by split, such as ``{"train": "a.conllu", "dev": "b.conllu"}``.

    Raises
    ------
    CorpusError
        If the name is unknown, a split of a user's own is not one of `SPLITS`, or a file is missing; for a registered
        corpus the message says where the file was looked for and how to get it.
    """
    if isinstance(corpus, str):
        known = find_corpus(corpus)
        files = known.paths()
        advice = "\nIt is a part of this package, which should be installed anew."
        if not known.shipped:
            advice = (
                f"\nGet it by: probing data fetch {known.name}; or from {known.source} ({known.licence}) into "
                f"{data_folder() / known.folder}. The environment variable PROBING_DATA names another data folder."
            )
    else:
        files = {split: expand(file) for split, file in corpus.items()}
        advice = ""
        if not files or not set(files) <= set(SPLITS):
            known_splits = ", ".join(SPLITS)
            raise CorpusError(f"a corpus of your own names a file for some of {known_splits}, not for {sorted(files)}")
    for split, path in files.items():
        if not path.exists():
            name = f"corpus '{corpus}'" if isinstance(corpus, str) else "corpus of your own"
            raise CorpusError(f"{name}: there is no {split} file {path}{advice}")
    return files


def load_split(corpus: str | Mapping[str, str], split: str) -> list[Sentence]:
    """Read all sentences of one split.

    Parameters
    ----------
    corpus : str or mapping of str to str
        As in `corpus_files`. A user's own file is read by its name: ``X.data.xml`` as the framework of Raganato et al.
        2017, all else as CoNLL-U.
    split : str
        One of the corpus's splits.

    Raises
    ------
    CorpusError
        If the corpus has no such split, is a dictionary, or a file is missing or cannot be read.
    """
    files = corpus_files(corpus)
    if split not in files:
        raise CorpusError(f"no split '{split}' in this corpus; it has {', '.join(files)}")
    path = files[split]
    name = find_corpus(corpus).format if isinstance(corpus, str) else _own_format(path)
    if name == DICTIONARY:
        raise CorpusError(f"'{corpus}' is a dictionary and has no sentences: name it as a task's inventory")
    return list(FORMATS[name](path, split))


def _own_format(path: Path) -> str:
    """Return the format of a user's own file, told by its name."""
    return "raganato" if path.name.endswith(DATA_SUFFIX) else "conllu"


def duplicate_sentences(train: Iterable[Sentence], other: Iterable[Sentence], *, min_tokens: int = 1) -> int:
    """Count the sentences of `other` whose tokens, in order and case, are also a sentence of `train`.

    Parameters
    ----------
    train, other : sentences
    min_tokens : int
        Only sentences of `other` with at least this many tokens count: short ones ("Thanks!") repeat by nature.
    """
    seen = {sentence.tokens for sentence in train}
    return sum(len(sentence.tokens) >= min_tokens and sentence.tokens in seen for sentence in other)
