"""What can be had, where, under what terms, and what its files look like once they are here.

Nothing is downloaded or read here. The checksums of `checksums.txt` are of the files, in their final layout, that this
project's numbers were measured on. No checksum of an archive is known: what comes out of it is verified.
"""

import difflib
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import NamedTuple

from bilm.errors import UserError
from probing.corpora.registry import CORPORA


class File(NamedTuple):
    """A file in its place: its size in bytes and its sha256, each None where it is not known."""

    size: int | None
    sha256: str | None


@dataclass(frozen=True)
class Download:
    """One thing to download: a file, or an archive whose files are found by the ends of their paths.

    Parameters
    ----------
    path : str
        A file's path in the entry's folder, or an archive's file name, which ends in .zip or .tar.gz.
    address : str
        Where it is.
    otherwise : str, optional
        Another address, asked where the first has nothing.
    otherwise_differs : bool
        `otherwise` has another state of the file: of ours are then the counts, not the checksum.
    headers : mapping of str to str
        What `address` needs to be asked with.
    """

    path: str
    address: str
    otherwise: str | None = None
    otherwise_differs: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_archive(self) -> bool:
        """Whether it has to be unpacked."""
        return self.path.endswith((".zip", ".tar.gz"))


@dataclass(frozen=True)
class Entry:
    """A corpus or a model that can be had.

    Parameters
    ----------
    name : str
        What `probing data fetch` calls it.
    kind : str
        "corpus", "model" or "licensed" (which no program may download).
    folder : str
        Where it belongs, relative to the data folder.
    description, licence, source, citation, size : str
        One line each; `size` in counts or parameters.
    downloads : tuple of Download
    max_bytes : int
        What comes out of an archive may take no more than this.
    files : mapping of str to File
        What must be there, by path in `folder`.
    counts : mapping of str to int
        How many sentences each split has (senses, in a dictionary): what has these is accepted, with a warning, where
        the checksums differ. Empty: nothing but the checksums counts.
    note : str
        What a user should know before fetching: addresses that may be dead, states that may differ, where it goes.
    """

    name: str
    kind: str
    folder: str
    description: str
    licence: str
    source: str
    citation: str
    size: str
    downloads: tuple[Download, ...]
    max_bytes: int
    files: Mapping[str, File]
    counts: Mapping[str, int] = field(default_factory=dict)
    note: str = ""

    @property
    def unverifiable(self) -> bool:
        """Whether no checksum of any file is known."""
        return all(file.sha256 is None for file in self.files.values())


@functools.cache
def known_files() -> dict[str, File]:
    """Return size and sha256 of each file of `checksums.txt` by its path in the data folder."""
    text = resources.files("probing.data").joinpath("checksums.txt").read_text(encoding="utf-8")
    rows = (line.split(" ", 2) for line in text.splitlines() if not line.startswith("#"))
    return {path: File(int(size), sha256) for sha256, size, path in rows}


def _in_folder(folder: str) -> dict[str, File]:
    prefix = f"{folder}/"
    return {path.removeprefix(prefix): file for path, file in known_files().items() if path.startswith(prefix)}


_MEGABYTE = 10**6


def _corpus(
    name: str,
    citation: str,
    downloads: tuple[Download, ...],
    counts: Mapping[str, int],
    *,
    megabytes: int = 200,
    note: str = "",
) -> Entry:
    known = CORPORA[name]
    return Entry(
        name=name,
        kind="corpus",
        folder=known.folder,
        description=known.description,
        licence=known.licence,
        source=known.source,
        citation=citation,
        size=known.size,
        downloads=downloads,
        max_bytes=megabytes * _MEGABYTE,
        files=_in_folder(known.folder),
        counts=counts,
        note=note,
    )


# GitHub serves a file by the id of its content, so that it is this state or nothing.
_EWT_BLOBS = {
    "train": "34731d23bafeeff233fdcee18ffc0254b1aa0e28",
    "dev": "a994b6990643429070ecc6e236d26ad6a04bfefb",
    "test": "c59667960ae967636606f47bc35f132a5557ad39",
}
_EWT_FILES = tuple(
    Download(
        f"en_ewt-ud-{split}.conllu",
        f"https://api.github.com/repos/UniversalDependencies/UD_English-EWT/git/blobs/{blob}",
        otherwise="https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT/r2.16/"
        f"en_ewt-ud-{split}.conllu",
        otherwise_differs=True,
        headers={"Accept": "application/vnd.github.raw+json"},
    )
    for split, blob in _EWT_BLOBS.items()
)

_GITHUB = "https://raw.githubusercontent.com"
_COARSEWSD = f"{_GITHUB}/danlou/bert-disambiguation/e1b829108b03c374a52e8b9ddf070925e41f2382/data/CoarseWSD-20"
_GOLDEN = "golden/allennlp-elmo"
_ELMO_PAPER = "Peters et al. 2018, Deep contextualized word representations, NAACL"
_ELMO_SOURCE = "https://allennlp.org/elmo"


def _elmo(name: str, stem: str, description: str, parameters: str, weights: int | None = None) -> Entry:
    address = f"https://allennlp.s3.amazonaws.com/models/elmo/{stem}/elmo_{stem}_"
    mirror = f"https://s3-us-west-2.amazonaws.com/allennlp/models/elmo/{stem}/elmo_{stem}_"  # the same store's old name
    sizes = {"options.json": None, "weights.hdf5": weights}
    return Entry(
        name=name,
        kind="model",
        folder=f"models/{name}",
        description=description,
        licence="none stated for the weights; the code they came with is Apache-2.0",
        source=_ELMO_SOURCE,
        citation=_ELMO_PAPER,
        size=f"{parameters} million parameters",
        downloads=tuple(Download(file, address + file, otherwise=mirror + file) for file in sizes),
        max_bytes=0,
        files={file: File(size, None) for file, size in sizes.items()},
        note="checksum: not known; it is verified that the weights open and have the shapes of the options. AllenNLP "
        "is no longer maintained, and its store may close.",
    )


CATALOGUE: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        _corpus(
            "ud-english-ewt",
            "Silveira et al. 2014, A Gold Standard Dependency Corpus for English, LREC",
            _EWT_FILES,
            {"train": 12544, "dev": 2001, "test": 2077},
            note="The state of May 2025 that our numbers were measured on, by the ids of its files; where GitHub no "
            "longer has it, release 2.16 of the same month, which has the same sentences but differs in details.",
        ),
        _corpus(
            "wsj-sample",
            "Marcus et al. 1993, Building a Large Annotated Corpus of English: The Penn Treebank, Computational "
            "Linguistics",
            (Download("treebank.zip", f"{_GITHUB}/nltk/nltk_data/gh-pages/packages/corpora/treebank.zip"),),
            {"train": 3396, "dev": 273, "test": 245},
            megabytes=50,
            note="Made here from NLTK's parsed files: words and tags, traces dropped, split by document 80/10/10.",
        ),
        _corpus(
            "semcor3.0",
            "Miller et al. 1993, A Semantic Concordance, HLT; mapped to WordNet 3.0 by R. Mihalcea",
            (
                Download(
                    "semcor3.0.tar.gz",
                    "https://web.eecs.umich.edu/~mihalcea/downloads/semcor/semcor3.0.tar.gz",
                    otherwise="http://web.eecs.umich.edu/~mihalcea/downloads/semcor/semcor3.0.tar.gz",
                ),
            ),
            {"train": 37176},
        ),
        _corpus(
            "wsd-evaluation-framework",
            "Raganato et al. 2017, Word Sense Disambiguation: A Unified Evaluation Framework and Empirical Comparison, "
            "EACL",
            (
                Download(
                    "WSD_Evaluation_Framework.zip", "http://lcl.uniroma1.it/wsdeval/data/WSD_Evaluation_Framework.zip"
                ),
            ),
            {"senseval2": 242, "senseval3": 352, "semeval2007": 135, "semeval2013": 306, "semeval2015": 138},
            megabytes=2000,
            note="The server offers http only; what it sends is compared by sha256.",
        ),
        _corpus(
            "coarsewsd-20",
            "Loureiro et al. 2021, Analysis and Evaluation of Language Models for Word Sense Disambiguation, "
            "Computational Linguistics",
            tuple(Download(path, f"{_COARSEWSD}/{path}") for path in _in_folder("coarsewsd-20")),
            {"train": 23370, "test": 10196},
        ),
        _corpus(
            "wordnet-3.0",
            "Fellbaum 1998, WordNet: An Electronic Lexical Database, MIT Press",
            (
                Download(
                    "WNdb-3.0.tar.gz",
                    "https://wordnetcode.princeton.edu/3.0/WNdb-3.0.tar.gz",
                    otherwise=f"{_GITHUB}/nltk/nltk_data/gh-pages/packages/corpora/wordnet.zip",
                ),
            ),
            {"index": 206941},
            note="Where Princeton's server has it no longer, it is taken from NLTK's copy.",
        ),
        _corpus(
            "subjectivity",
            "Pang and Lee 2004, A Sentimental Education: Sentiment Analysis Using Subjectivity Summarization Based on "
            "Minimum Cuts, ACL",
            (Download("subjectivity.zip", f"{_GITHUB}/nltk/nltk_data/gh-pages/packages/corpora/subjectivity.zip"),),
            {"train": 8000, "dev": 1000, "test": 1000},
            megabytes=50,
            note="The folder is NLTK's own: what NLTK's downloader has left there, packed or not, will do.",
        ),
        Entry(
            name="allennlp-elmo",
            kind="model",
            folder=_GOLDEN,
            description="AllenNLP's tiny ELMo for tests, with 30 sentences and the activations it must give",
            licence="Apache-2.0",
            source="https://github.com/allenai/allennlp (test_fixtures/elmo)",
            citation=_ELMO_PAPER,
            size="2 layers of 2 x 16",
            downloads=tuple(
                Download(path, f"{_GITHUB}/allenai/allennlp/v2.10.1/test_fixtures/elmo/{path}")
                for path in _in_folder(_GOLDEN)
            ),
            max_bytes=0,
            files=_in_folder(_GOLDEN),
        ),
        _elmo("elmo-small", "2x1024_128_2048cnn_1xhighway", "ELMo, small: 1 Billion Word Benchmark", "13.6"),
        _elmo("elmo-medium", "2x2048_256_2048cnn_1xhighway", "ELMo, medium: 1 Billion Word Benchmark", "28.0"),
        _elmo(
            "elmo-original",
            "2x4096_512_2048cnn_2xhighway",
            "ELMo, original: 1 Billion Word Benchmark; the model of the paper",
            "93.6",
            weights=374434792,
        ),
        _elmo(
            "elmo-5.5B",
            "2x4096_512_2048cnn_2xhighway_5.5B",
            "ELMo, original (5.5B): Wikipedia and news, 5.5 billion tokens",
            "93.6",
        ),
        Entry(
            name="penn-treebank-wsj",
            kind="licensed",
            folder="penn-treebank-wsj",
            description="The whole Wall Street Journal part of the Penn Treebank 3",
            licence="LDC User Agreement (paid)",
            source="https://catalog.ldc.upenn.edu/LDC99T42",
            citation="Marcus et al. 1999, Treebank-3, LDC99T42",
            size="about 49,000 sentences",
            downloads=(),
            max_bytes=0,
            files={},
            note="It needs a licence of the LDC and cannot be fetched. Put CoNLL-U files with XPOS anywhere and name "
            "them in a config: corpus: {train: wsj-00-18.conllu, dev: wsj-19-21.conllu, test: wsj-22-24.conllu}.",
        ),
    )
}


def find_entry(name: str) -> Entry:
    """Return the entry of that name.

    Raises
    ------
    UserError
        If there is none; the message offers the names nearest to it.
    """
    if name in CATALOGUE:
        return CATALOGUE[name]
    if name in CORPORA:
        raise UserError(f"corpus '{name}' comes with this package: there is nothing to fetch or check")
    near = difflib.get_close_matches(name, dict.fromkeys([*CATALOGUE, *CORPORA]))
    offer = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(CATALOGUE)}"
    raise UserError(f"unknown corpus or model '{name}'; {offer}")
