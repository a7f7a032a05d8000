"""WordNet's ``index.sense`` -> an inventory of senses, and what a sense key says of itself without any dictionary."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from probing.corpora.raganato import numbered_lines
from probing.corpora.sentence import CorpusError

# lemma%ss_type:lex_filenum:lex_id:head_word:head_id; only satellite adjectives (5) have a head.
_SENSE_KEY = re.compile(r"([^%\s]+)%([1-5]):([0-9]{2}):[0-9]{2}:[^:\s]*:[0-9]*")

# A satellite adjective (5) is an adjective like any other (3) to a tagger, and the two are numbered together.
_POS_BY_TYPE = {"1": "NOUN", "2": "VERB", "3": "ADJ", "4": "ADV", "5": "ADJ"}

# The lexicographer files 00 to 44, as `lexnames(5WN)` numbers them.
_LEXICOGRAPHER_FILES = (
    *("adj.all", "adj.pert", "adv.all"),
    *("noun.Tops", "noun.act", "noun.animal", "noun.artifact", "noun.attribute", "noun.body", "noun.cognition"),
    *("noun.communication", "noun.event", "noun.feeling", "noun.food", "noun.group", "noun.location", "noun.motive"),
    *("noun.object", "noun.person", "noun.phenomenon", "noun.plant", "noun.possession", "noun.process"),
    *("noun.quantity", "noun.relation", "noun.shape", "noun.state", "noun.substance", "noun.time"),
    *("verb.body", "verb.change", "verb.cognition", "verb.communication", "verb.competition", "verb.consumption"),
    *("verb.contact", "verb.creation", "verb.emotion", "verb.motion", "verb.perception", "verb.possession"),
    *("verb.social", "verb.stative", "verb.weather"),
    "adj.ppl",
)


@dataclass(frozen=True)
class Inventory:
    """The senses that each lemma has.

    Parameters
    ----------
    senses : mapping of (str, str) to tuple of str
        The sense keys of each lemma and part of speech, first sense first. Copied, and read-only from then on.
    """

    senses: Mapping[tuple[str, str], tuple[str, ...]]
    _keys: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        read_only = MappingProxyType({group: tuple(keys) for group, keys in self.senses.items()})
        object.__setattr__(self, "senses", read_only)
        object.__setattr__(self, "_keys", frozenset(key for keys in read_only.values() for key in keys))

    def candidates(self, lemma: str, pos: str) -> tuple[str, ...]:
        """Return the sense keys of a lemma, first sense first; none if the lemma is unknown.

        Parameters
        ----------
        lemma : str
            In lower case, its words joined with an underscore.
        pos : str
            NOUN, VERB, ADJ or ADV.
        """
        return self.senses.get((lemma, pos), ())

    def __contains__(self, key: object) -> bool:
        return key in self._keys


def sense_pos(key: str) -> str:
    """Return the part of speech of a sense key: NOUN, VERB, ADJ or ADV; a satellite adjective is an ADJ.

    Raises
    ------
    CorpusError
        If `key` is no sense key.
    """
    return _POS_BY_TYPE[_match(key)[2]]


def supersense(key: str) -> str:
    """Return the lexicographer file that a sense is in, such as "noun.person": it is a part of the sense key.

    Raises
    ------
    CorpusError
        If `key` is no sense key.

    References
    ----------
    https://wordnet.princeton.edu/documentation/lexnames5wn
    """
    number = int(_match(key)[3])
    if number >= len(_LEXICOGRAPHER_FILES):
        raise CorpusError(f"'{key}': there is no lexicographer file {number}")
    return _LEXICOGRAPHER_FILES[number]


def read_index_sense(path: Path) -> Inventory:
    """Read WordNet's index of sense keys.

    Parameters
    ----------
    path : Path
        A file ``index.sense``; each line is a sense key, the offset of its synset, its sense number, its tag count.

    Raises
    ------
    CorpusError
        If the file cannot be read, has no sense, or a line is not such a line, repeats a key, or gives a lemma a second
        sense of the same number. The message names file and line.

    References
    ----------
    https://wordnet.princeton.edu/documentation/senseidx5wn
    """
    numbered: dict[tuple[str, str], dict[int, str]] = {}
    for number, line in numbered_lines(path):
        fields = line.split(" ")
        key = _SENSE_KEY.fullmatch(fields[0])
        if len(fields) != 4 or key is None or not all(text.isdecimal() for text in fields[1:]):
            raise CorpusError(f"{path}:{number}: {line[:60]!r} is not 'sense_key synset_offset sense_number tag_cnt'")
        senses = numbered.setdefault((key[1], _POS_BY_TYPE[key[2]]), {})
        sense = int(fields[2])
        if sense in senses:
            raise CorpusError(f"{path}:{number}: {fields[0]} is sense {sense}, as {senses[sense]} was before")
        senses[sense] = fields[0]
    if not numbered:
        raise CorpusError(f"{path}: no sense in this file")
    return Inventory({group: tuple(senses[n] for n in sorted(senses)) for group, senses in numbered.items()})


def _match(key: str) -> re.Match[str]:
    match = _SENSE_KEY.fullmatch(key)
    if match is None:
        raise CorpusError(f"{key[:60]!r} is no sense key, such as 'art%1:06:00::'")
    return match
