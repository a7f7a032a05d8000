"""SemCor 3.0 -> Sentences, from its own SGML files or from NLTK's, which are the same in well-formed XML."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from probing.corpora.raganato import Block, Row, Word, fail, read_xml, sense_sentence, split_words
from probing.corpora.sentence import CorpusError, Sentence

# Where the files are: in the corpus's folder, in one of its three parts, or in the folder of files itself.
_PATTERNS = ("*/tagfiles/br-*", "tagfiles/br-*", "br-*")

# An SGML file has one tag, or one word between its two tags, on each line.
_WORD = re.compile(r"<(wf|punc)((?:\s[^>]*)?)>(.*)</\1>\s*")
_TAG = re.compile(r"<(/?)(contextfile|context|p|s)((?:\s[^<>]*)?)>\s*")
_ATTRIBUTE = re.compile(r'\s+([^\s=]+)=(?:"([^"]*)"|(\S*))')

# ss_type:lex_filenum:lex_id:head_word:head_id
_LEXSN = re.compile(r"[1-5]:[0-9]{2}:[0-9]{2}:[^:\s]*:[0-9]*")
# Heads of satellite adjectives keep the marker of their position in a phrase, which WordNet's keys do not have.
_MARKER = re.compile(r"\((?:a|p|ip)\):")

# The Penn Treebank's tags as the tags of Petrov et al. 2012, which the framework of Raganato et al. 2017 uses.
_UNIVERSAL = {
    tag: universal
    for universal, tags in {
        "NOUN": "NN NNS NNP NNPS NP NPS",
        "VERB": "VB VBD VBG VBN VBP VBZ MD",
        "ADJ": "JJ JJR JJS",
        "ADV": "RB RBR RBS WRB",
        "PRON": "PRP PRP$ WP WP$ PP",
        "DET": "DT PDT WDT EX",
        "ADP": "IN",
        "CONJ": "CC",
        "NUM": "CD",
        "PRT": "TO RP POS",
        "X": "FW LS SYM UH",
    }.items()
    for tag in tags.split()
}
_PUNCTUATION = "."


def read_semcor(path: Path) -> Iterator[Sentence]:
    """Read SemCor 3.0, one file at a time; brown1, brown2 and brownv, where only verbs are annotated.

    A target is a word with a `lexsn`; its sense keys are its lemma and each of its `lexsn`. No target is dropped: those
    whose senses WordNet 3.0 has lost (`wnsn` is 0) keep a key that its inventory does not have. Words joined by
    underscores, targets or not, are several tokens. As the files have no ids for them, the seventh target of sentence 3
    of br-a01 is called ``br-a01.s003.t007``.

    Parameters
    ----------
    path : Path
        The corpus's folder, one of its parts, or one file. Files whose names end in ``.xml`` are read as NLTK's XML,
        others as Latin-1 SGML.

    Yields
    ------
    Sentence
        With the columns `SENSE_COLUMNS`. `pos` is the universal tag of the file's Penn Treebank tag, "" for one that is
        not of that tag set. `document` is the Brown Corpus's name of the text.

    Raises
    ------
    CorpusError
        If there is no such file, one cannot be read, or something in it is not SemCor. The message names file, line and
        sentence.

    References
    ----------
    Miller et al. 1993, "A semantic concordance"; `wnsn` and `lexsn`: cntlist(5WN), senseidx(5WN).
    """
    for file in _files(path):
        blocks = read_xml(file, "s") if file.suffix == ".xml" else _read_sgml(file)
        for ordinal, block in enumerate(blocks, start=1):
            document = block.parents.get("context", {}).get("filename") or file.stem
            sentence_id = f"{document}.s{block.attributes.get('snum') or ordinal:0>3}"
            yield sense_sentence(_rows(block, file, sentence_id), sentence_id, str(file), block.line, document)


def _files(path: Path) -> list[Path]:
    """Return the files to read, in the order of their names."""
    if not path.is_dir():
        return [path]
    for pattern in _PATTERNS:
        if files := sorted(file for file in path.glob(pattern) if file.is_file()):
            return files
    raise CorpusError(f"{path}: no file of SemCor in this folder, such as brown1/tagfiles/br-a01")


def _rows(block: Block, file: Path, sentence_id: str) -> list[Row]:
    """Return the tokens of a sentence with their annotation."""
    rows: list[Row] = []
    n_targets = 0
    for word in block.words:
        if word.tag not in ("wf", "punc"):
            fail(file, word.line, sentence_id, f"<{word.tag}> is neither <wf> nor <punc>")
        tokens = split_words(word.text)
        if not tokens:
            fail(file, word.line, sentence_id, "a word without text")
        lemma = word.attributes.get("lemma", "").lower() or "_".join(tokens).lower()
        # Where annotators left two tags (NN|SYM), the first stands.
        tag = word.attributes.get("pos", "").partition("|")[0]
        pos = _PUNCTUATION if word.tag == "punc" else _UNIVERSAL.get(tag, "")
        target, senses = "", ""
        if word.attributes.get("lexsn"):
            n_targets += 1
            target = f"{sentence_id}.t{n_targets:03}"
            senses = " ".join(_keys(word, file, sentence_id))
        rows += [Row(token, lemma, pos, target, senses) for token in tokens]
    return rows


def _keys(word: Word, file: Path, sentence_id: str) -> list[str]:
    """Return the sense keys of a target, each once."""
    lemma = word.attributes.get("lemma", "").lower()
    if not lemma or " " in lemma:
        fail(file, word.line, sentence_id, f"{word.text[:30]!r} has a lexsn but no lemma to go with it")
    senses = _MARKER.sub(":", word.attributes["lexsn"]).split(";")
    for sense in senses:
        if not _LEXSN.fullmatch(sense):
            fail(file, word.line, sentence_id, f"{sense[:30]!r} is no lexsn, such as '1:06:00::'")
    return [f"{lemma}%{sense}" for sense in dict.fromkeys(senses)]


def _read_sgml(path: Path) -> Iterator[Block]:
    """Read the sentences of one file as it came from Princeton: Latin-1, values without quotes, no entities."""
    parents: dict[str, Mapping[str, str]] = {}
    sentence: tuple[Mapping[str, str], int] | None = None
    words: list[Word] = []
    number = n_sentences = 0
    for number, line in enumerate(_latin_1(path).split("\n"), start=1):
        where = f"{path}:{number}"
        if word := _WORD.fullmatch(line):
            if sentence is None:
                raise CorpusError(f"{where}: a word outside of a sentence")
            words.append(Word(word[1], _attributes(word[2], where), word[3], number))
        elif tag := _TAG.fullmatch(line):
            name, opens = tag[2], not tag[1]
            if name != "s":
                if sentence is not None:
                    raise CorpusError(f"{where}: {line.strip()} inside a sentence; is </s> missing?")
                if opens:
                    parents[name] = _attributes(tag[3], where)
            elif opens == (sentence is not None):
                raise CorpusError(f"{where}: {line.strip()} where {'</s>' if opens else '<s>'} is due")
            elif sentence is None:
                sentence = (_attributes(tag[3], where), number)
            else:
                yield Block(*sentence, dict(parents), tuple(words))
                n_sentences += 1
                sentence, words = None, []
        elif line.strip():
            raise CorpusError(f"{where}: {line[:60]!r} is neither a tag nor a word of SemCor")
    if sentence is not None:
        raise CorpusError(f"{path}:{number}: the file ends inside the sentence that starts in line {sentence[1]}")
    if not n_sentences:
        raise CorpusError(f"{path}: no <s> in this file")


def _latin_1(path: Path) -> str:
    try:
        return path.read_bytes().decode("latin-1")
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read ({error.strerror or error})") from error


def _attributes(text: str, where: str) -> dict[str, str]:
    """Return the attributes in a tag; values may be in double quotes."""
    if left := _ATTRIBUTE.sub("", text).strip():
        raise CorpusError(f"{where}: {left[:30]!r} is no attribute, such as pos=NN")
    return {name: quoted or plain for name, quoted, plain in _ATTRIBUTE.findall(text)}
