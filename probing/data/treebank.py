"""The sample of the Penn Treebank as NLTK distributes it -> CoNLL-U with XPOS, split by document 80/10/10.

The words and tags are those of the parsed files (`combined/*.mrg`); traces (``-NONE-``) are not words and are dropped.
"""

import re
from collections.abc import Iterator
from pathlib import Path

_BRACKETS_AND_ATOMS = re.compile(r"[()]|[^\s()]+")
_TRACE = "-NONE-"
_SHARES = {"train": 0.8, "dev": 0.1, "test": 0.1}


def convert_treebank(parsed: Path, folder: Path, stem: str = "wsj-sample") -> None:
    """Write ``<stem>-train.conllu``, ``-dev`` and ``-test`` from a folder of ``wsj_NNNN.mrg``.

    Documents keep their order: the first 80 % (rounded) are train, the next 10 % dev, the rest test.
    """
    documents = sorted(parsed.glob("wsj_*.mrg"))
    first = 0
    for split, share in _SHARES.items():
        last = len(documents) if split == "test" else first + round(share * len(documents))
        lines = (line for path in documents[first:last] for line in _document(path))
        text = "".join(f"{line}\n" for line in lines)
        (folder / f"{stem}-{split}.conllu").write_text(text, encoding="utf-8", newline="\n")
        first = last


def tagged_sentences(text: str) -> Iterator[list[tuple[str, str]]]:
    """Yield the words of each tree of a parsed file with their tags, without traces."""
    depth = 0
    sentence: list[tuple[str, str]] = []
    atoms: list[str] = []  # since the last bracket: a leaf is "(tag word)"
    for token in _BRACKETS_AND_ATOMS.findall(text):
        if token == "(":
            depth += 1
            atoms = []
        elif token == ")":
            depth -= 1
            if len(atoms) == 2 and atoms[0] != _TRACE:
                sentence.append((atoms[1], atoms[0]))
            atoms = []
            if depth == 0:
                yield sentence
                sentence = []
        else:
            atoms.append(token)


def _document(path: Path) -> Iterator[str]:
    yield f"# newdoc id = {path.stem}"
    for number, sentence in enumerate(tagged_sentences(path.read_text(encoding="utf-8")), start=1):
        yield f"# sent_id = {path.stem}-{number}"
        for position, (word, tag) in enumerate(sentence, start=1):
            yield f"{position}\t{word}\t_\t_\t{tag}\t_\t_\t_\t_\t_"
        yield ""
