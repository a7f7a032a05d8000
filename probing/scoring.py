"""Scores of word sense disambiguation, as the official scorer of Raganato et al. 2017 counts them."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bilm.errors import UserError

logger = logging.getLogger(__name__)


class Score(NamedTuple):
    """Precision, recall and their harmonic mean, as fractions; precision is not a number where nothing was answered."""

    precision: float
    recall: float
    f1: float


def f1(right: float, answered: float, total: int) -> Score:
    """Return the scores of `right` points on `answered` of `total` instances."""
    precision = right / answered if answered else float("nan")
    recall = right / total if total else float("nan")
    both = precision + recall
    return Score(precision, recall, 0.0 if both == 0 else 2 * precision * recall / both)


def score_answers(gold: Mapping[str, frozenset[str]], system: Mapping[str, frozenset[str]]) -> Score:
    """Score a system's answers.

    Any gold sense of an instance is right. Of several answers for one instance each counts its share. Answers for
    instances that gold lacks are ignored.

    Parameters
    ----------
    gold, system : mapping of instance id to senses

    References
    ----------
    Raganato et al. 2017; `Scorer.java` of the evaluation framework.
    """
    right = answered = 0.0
    for instance, senses in system.items():
        if instance in gold and senses:
            share = len(senses & gold[instance]) / len(senses)
            right += share
            answered += share + len(senses - gold[instance]) / len(senses)
    return f1(right, answered, len(gold))


def read_keys(path: Path) -> dict[str, frozenset[str]]:
    """Read a key file: an instance id and its senses on each line, separated by spaces.

    Order, blank lines, trailing spaces and CRLF do not matter; lines with the same id are joined. A line without a
    sense is named in a warning and passed over, as the official scorer does.

    Raises
    ------
    UserError
        If the file cannot be read.
    """
    found: dict[str, frozenset[str]] = {}
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 at byte {error.start + 1}") from error
    for number, line in enumerate(text.split("\n"), start=1):
        instance, *senses = line.split() or [""]
        if instance and not senses:
            logger.warning("%s:%d: the instance %s has no sense and is passed over", path, number, instance)
        elif instance:
            found[instance] = found.get(instance, frozenset()) | frozenset(senses)
    return found
