"""CoarseWSD-20, 20 nouns with two to five clearly different senses each -> Sentences and the nouns' senses."""

import json
from collections.abc import Iterator
from pathlib import Path

from probing.corpora.raganato import Row, numbered_lines, sense_sentence
from probing.corpora.sentence import CorpusError, Sentence

_CLASSES = "classes_map.txt"


def read_coarsewsd(path: Path, split: str) -> Iterator[Sentence]:
    """Read one split of all nouns, the nouns in the order of the alphabet.

    Each sentence has one target, one token long, which is the noun itself. Its id, which is also the target's, is noun,
    split and line: ``apple.train.12``. The files have neither lemmas nor parts of speech: the noun and NOUN are the
    target's, other tokens are their own lemma and have no part of speech.

    Parameters
    ----------
    path : Path
        The corpus's folder, with one folder for each noun.
    split : str
        "train" or "test", as the files are named.

    Yields
    ------
    Sentence
        With the columns `SENSE_COLUMNS`; `senses` is the name of the class. `document` is the noun.

    Raises
    ------
    CorpusError
        If a file is missing or damaged, data and gold have not the same number of lines, or the token at the position
        that a line gives is not the noun. The message names file and line.

    References
    ----------
    Loureiro et al. 2021, "Analysis and Evaluation of Language Models for Word Sense Disambiguation".
    """
    for noun, senses in coarsewsd_inventory(path).items():
        yield from _read_noun(path / noun, split, senses)


def coarsewsd_inventory(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return each noun's senses in the order of their class numbers, the nouns in the order of the alphabet.

    Raises
    ------
    CorpusError
        If there is no noun in `folder`, or the map of its classes is not from "0", "1", ... to names without spaces.
    """
    files = sorted(folder.glob(f"*/{_CLASSES}"))
    if not files:
        raise CorpusError(f"{folder}: no noun in this folder, such as apple/{_CLASSES}")
    return {file.parent.name: _senses(file) for file in files}


def _senses(path: Path) -> tuple[str, ...]:
    """Return the names of a noun's classes."""
    text = "\n".join(line for _, line in numbered_lines(path))
    try:
        names = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{path}: not JSON ({error})") from error
    if not isinstance(names, dict) or not names or sorted(names) != sorted(str(number) for number in range(len(names))):
        raise CorpusError(f'{path}: the classes are not numbered "0", "1", ...')
    for name in names.values():
        if not isinstance(name, str) or name.split() != [name]:
            raise CorpusError(f"{path}: {name!r} is no name of a class, which is a text without spaces")
    return tuple(names[str(number)] for number in range(len(names)))


def _read_noun(folder: Path, split: str, senses: tuple[str, ...]) -> Iterator[Sentence]:
    """Yield the sentences of one noun."""
    data_path, gold_path = folder / f"{split}.data.txt", folder / f"{split}.gold.txt"
    data, gold = _lines(data_path), _lines(gold_path)
    if len(data) != len(gold):
        raise CorpusError(f"{data_path}: {len(data)} lines, but {len(gold)} in {gold_path}")
    noun = folder.name
    for number, (line, answer) in enumerate(zip(data, gold, strict=True), start=1):
        position, tab, text = line.partition("\t")
        if not tab or not position.isdecimal():
            raise CorpusError(f"{data_path}:{number}: not a position, a tab and a sentence")
        # At all white space, doubled or no-break: the positions were counted so, and only so do all of them fit.
        tokens = text.split()
        target = int(position)
        if target >= len(tokens) or tokens[target] != noun:
            found = f"is {tokens[target][:30]!r}" if target < len(tokens) else f"is past the last of {len(tokens)}"
            raise CorpusError(f"{data_path}:{number}: token {target}, counted from 0, {found}, not '{noun}'")
        if not answer.strip().isdecimal() or int(answer) >= len(senses):
            raise CorpusError(
                f"{gold_path}:{number}: {answer[:30]!r} is no class of '{noun}': they are 0 to {len(senses) - 1}"
            )
        sentence_id = f"{noun}.{split}.{number}"
        rows = [Row(token, token.lower(), "") for token in tokens]
        rows[target] = Row(tokens[target], noun, "NOUN", sentence_id, senses[int(answer)])
        yield sense_sentence(rows, sentence_id, str(data_path), number, noun)


def _lines(path: Path) -> list[str]:
    """Return the lines of a file, without blank ones at its end."""
    lines = [line for _, line in numbered_lines(path)]
    while lines and not lines[-1].strip():
        lines.pop()
    return lines
