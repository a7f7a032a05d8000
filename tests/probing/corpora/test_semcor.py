"""SemCor from its SGML and from NLTK's XML: targets, sense keys, tags, and what is refused."""

import html
import itertools
import re
from collections import Counter
from pathlib import Path

import pytest

from probing.corpora.raganato import SENSE_COLUMNS
from probing.corpora.registry import load_split
from probing.corpora.semcor import read_semcor
from probing.corpora.sentence import CorpusError, Sentence
from probing.corpora.wordnet import read_index_sense, sense_pos

TOY = """\
<contextfile concordance=brown>
<context filename=br-z01 paras=yes>
<p pnum=1>
<s snum=1>
<wf cmd=ignore pos=DT>The</wf>
<wf cmd=done rdf=group pos=NNP lemma=group wnsn=1 lexsn=1:03:00:: pn=group>Grand_Jury</wf>
<wf cmd=done pos=VB lemma=say wnsn=1 lexsn=2:32:00::>said</wf>
<wf cmd=done pos=JJ lemma=several wnsn=1 lexsn=5:00:00:some(a):00>several</wf>
<wf cmd=done pos=NN lemma=record wnsn=5;4 lexsn=1:10:02::;1:04:01::>records</wf>
<wf cmd=done pos=IN ot=complexprep>in_view_of</wf>
<wf cmd=done pos=VB lemma=take_place wnsn=0 lexsn=2:30:99::>took_place</wf>
<punc>.</punc>
</s>
</p>
<p pnum=2>
<s snum=3>
<wf cmd=tag pos=NN>Rain</wf>
<punc>&</punc>
<wf cmd=done rdf= pos=NN ot=notag>65</wf>
<wf cmd=done sep="-" pos=JJ lemma=west wnsn=1 lexsn=3:00:00::>West</wf>
</s>
</p>
</context>
</contextfile>
"""


def as_xml(sgml: str) -> str:
    """Write SGML as NLTK does: quoted values, entities, a declaration, no line ends between words."""
    quoted = re.sub(r'(\w+)="?([^\s">]*)"?(?=[\s>])', r'\1="\2"', sgml)
    escaped = re.sub(r">([^<]+)</", lambda match: f">{html.escape(match[1], quote=False)}</", quoted)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + escaped.replace("\n", "")


def write(folder: Path, text: str | bytes = TOY, name: str = "br-z01") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode("latin-1"))
    return path


def read(folder: Path, text: str | bytes = TOY, name: str = "br-z01") -> list[Sentence]:
    return list(read_semcor(write(folder, text, name)))


def refusal(folder: Path, text: str, name: str = "br-z01") -> str:
    with pytest.raises(CorpusError) as error:
        read(folder, text, name)
    message = str(error.value)
    assert "\n" not in message
    return message.replace(f"{folder}/", "")


def one_word(attributes: str, text: str = "word") -> str:
    return f"<context filename=br-z01>\n<s snum=1>\n<wf {attributes}>{text}</wf>\n</s>\n</context>\n"


# What is a target


def test_words_targets_tags_and_sense_keys_are_those_of_the_file(tmp_path: Path) -> None:
    first, second = read(tmp_path)
    assert first.tokens == (
        "The",
        "Grand",
        "Jury",
        "said",
        "several",
        "records",
        "in",
        "view",
        "of",
        "took",
        "place",
        ".",
    )
    assert tuple(first.columns) == SENSE_COLUMNS
    assert first.columns["lemma"] == (
        *("the", "group", "group", "say", "several", "record"),
        *("in_view_of", "in_view_of", "in_view_of", "take_place", "take_place", "."),
    )
    assert first.columns["pos"] == (
        *("DET", "NOUN", "NOUN", "VERB", "ADJ", "NOUN"),
        *("ADP", "ADP", "ADP", "VERB", "VERB", "."),
    )
    assert first.columns["senses"] == (
        *("", "group%1:03:00::", "group%1:03:00::", "say%2:32:00::", "several%5:00:00:some:00"),
        *("record%1:10:02:: record%1:04:01::", "", "", "", "take_place%2:30:99::", "take_place%2:30:99::", ""),
    )
    assert second.tokens == ("Rain", "&", "65", "West")
    assert second.columns["senses"] == ("", "", "", "west%3:00:00::")


def test_a_target_of_several_words_is_several_tokens_of_one_target_P54(tmp_path: Path) -> None:
    columns = read(tmp_path)[0].columns
    assert columns["target"][9:11] == ("br-z01.s001.t005", "br-z01.s001.t005")


def test_only_words_with_a_lexsn_are_targets_counted_from_1_in_their_sentence_P47(tmp_path: Path) -> None:
    targets = [dict.fromkeys(filter(None, sentence.columns["target"])) for sentence in read(tmp_path)]
    assert list(targets[0]) == [f"br-z01.s001.t{number:03}" for number in range(1, 6)]
    assert list(targets[1]) == ["br-z01.s003.t001"]


def test_a_target_whose_sense_is_lost_keeps_its_key_for_the_task_to_drop(tmp_path: Path) -> None:
    assert "take_place%2:30:99::" in read(tmp_path)[0].columns["senses"]


def test_the_marker_of_position_in_a_satellites_head_is_no_part_of_the_key(tmp_path: Path) -> None:
    for marker in ("a", "p", "ip"):
        (sentence,) = read(tmp_path, one_word(f"pos=JJ lemma=up wnsn=2 lexsn=5:00:00:awake({marker}):00"))
        assert sentence.columns["senses"] == ("up%5:00:00:awake:00",)


def test_a_sentence_knows_its_document_its_number_its_file_and_its_line(tmp_path: Path) -> None:
    sentences = read(tmp_path)
    assert [(s.id, s.document, s.line) for s in sentences] == [
        ("br-z01.s001", "br-z01", 4),
        ("br-z01.s003", "br-z01", 16),
    ]
    assert {sentence.source for sentence in sentences} == {str(tmp_path / "br-z01")}


def test_where_a_file_names_neither_document_nor_sentence_its_own_name_and_the_order_stand_in(tmp_path: Path) -> None:
    text = TOY.replace(" filename=br-z01", "").replace(" snum=3", "")
    assert [(s.id, s.document) for s in read(tmp_path, text)] == [("br-z01.s001", "br-z01"), ("br-z01.s002", "br-z01")]


@pytest.mark.parametrize(
    ("tag", "pos"),
    [
        ("NNPS", "NOUN"),
        ("VBD", "VERB"),
        ("MD", "VERB"),
        ("RBR", "ADV"),
        ("PRP$", "PRON"),
        ("TO", "PRT"),
        ("NN|SYM", "NOUN"),
    ],
)
def test_penn_treebank_tags_become_universal_tags_the_first_of_two(tag: str, pos: str, tmp_path: Path) -> None:
    (sentence,) = read(tmp_path, one_word(f"pos={tag}"))
    assert sentence.columns["pos"] == (pos,)


@pytest.mark.parametrize("attributes", ["pos=PR", "cmd=ignore"])
def test_a_tag_of_no_tag_set_and_a_missing_one_become_no_tag(attributes: str, tmp_path: Path) -> None:
    (sentence,) = read(tmp_path, one_word(attributes))
    assert sentence.columns["pos"] == ("",)


@pytest.mark.parametrize(("text", "tokens"), [("_to", ("to",)), ("_", ("_",)), ("a__b_", ("a", "b")), ("<", ("<",))])
def test_underscores_at_the_ends_of_words_make_no_empty_token(
    text: str, tokens: tuple[str, ...], tmp_path: Path
) -> None:
    assert read(tmp_path, one_word("pos=TO", text))[0].tokens == tokens


@pytest.mark.parametrize("word", ["NA", "null", "nan", "None", '"', "'"])
def test_words_that_look_like_missing_values_or_quotes_are_words_P11(word: str, tmp_path: Path) -> None:
    lemma = word.lower()
    (sentence,) = read(tmp_path, one_word(f"lemma={lemma} lexsn=1:06:00::", word))
    assert (sentence.tokens, sentence.columns["senses"]) == ((word,), (f"{lemma}%1:06:00::",))


def test_sgml_is_latin_1_and_its_ampersands_are_ampersands(tmp_path: Path) -> None:
    assert read(tmp_path, one_word("pos=NN", "caf\u00e9_AT&T_&amp;"))[0].tokens == ("caf\u00e9", "AT&T", "&amp;")


def test_line_ends_blank_lines_and_a_missing_final_line_end_make_no_difference(tmp_path: Path) -> None:
    expected = read(tmp_path)
    assert read(tmp_path, TOY.replace("\n", "\r\n")) == expected
    assert read(tmp_path, TOY.rstrip()) == expected


# NLTK's XML


def test_nltks_xml_gives_the_same_sentences_as_the_sgml(tmp_path: Path) -> None:
    sgml, xml = read(tmp_path), read(tmp_path, as_xml(TOY), "br-z01.xml")
    assert [(s.id, s.tokens, dict(s.columns), s.document) for s in xml] == [
        (s.id, s.tokens, dict(s.columns), s.document) for s in sgml
    ]


def test_nltks_xml_is_utf_8_with_entities(tmp_path: Path) -> None:
    text = as_xml(one_word("pos=NN", "caf\u00e9_AT&T_&amp;")).encode()
    assert read(tmp_path, text, "br-z01.xml")[0].tokens == ("caf\u00e9", "AT&T", "&amp;")


def test_xml_that_declares_a_doctype_is_refused(tmp_path: Path) -> None:
    xml = as_xml(TOY).replace("<contextfile", '<!DOCTYPE contextfile [<!ENTITY a "b">]><contextfile')
    assert refusal(tmp_path, xml, "br-z01.xml").startswith("br-z01.xml:2: a DOCTYPE or entity declaration")


# Which files are read


@pytest.mark.parametrize("suffix", ["", ".xml"])
def test_the_files_of_all_three_parts_are_read_in_order_and_nothing_else(suffix: str, tmp_path: Path) -> None:
    for part, name in itertools.product(("brownv", "brown2", "brown1"), ("b", "a")):
        text = one_word("pos=NN", f"{part}-{name}")
        write(tmp_path, as_xml(text) if suffix else text, f"{part}/tagfiles/br-{name}{suffix}")
        write(tmp_path, "no corpus", f"{part}/tagfiles/.DS_Store")
    write(tmp_path, "no corpus", "README")
    parts = {part: [f"{part}-a", f"{part}-b"] for part in ("brown1", "brown2", "brownv")}
    assert [s.tokens[0] for s in read_semcor(tmp_path)] == [word for words in parts.values() for word in words]
    assert [s.tokens[0] for s in read_semcor(tmp_path / "brown2")] == parts["brown2"]
    assert [s.tokens[0] for s in read_semcor(tmp_path / "brownv" / "tagfiles")] == parts["brownv"]


def test_a_folder_without_such_files_and_a_missing_one_are_errors_naming_it(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r": no file of SemCor in this folder, such as brown1/tagfiles/br-a01$"):
        list(read_semcor(tmp_path))
    with pytest.raises(CorpusError, match=r"gone: cannot be read \(No such file"):
        list(read_semcor(tmp_path / "gone"))


# What is refused


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            ">said</wf>",
            ">said",
            "7: '<wf cmd=done pos=VB lemma=say wnsn=1 lexsn=2:32:00::>said' is neither a tag nor a word",
        ),
        ("pos=VB lemma=say", "pos=VB say", "7: 'say' is no attribute, such as pos=NN"),
        ("lemma=say ", "", "7 (sentence br-z01.s001): 'said' has a lexsn but no lemma to go with it"),
        ("lexsn=2:32:00::", "lexsn=2:32", "7 (sentence br-z01.s001): '2:32' is no lexsn, such as '1:06:00::'"),
        ("lexsn=1:10:02::;", "lexsn=;", "9 (sentence br-z01.s001): '' is no lexsn"),
        (">said<", "><", "7 (sentence br-z01.s001): a word without text"),
        ("<s snum=1>\n", "", "4: a word outside of a sentence"),
        ("<s snum=3>", "<s snum=3>\n<s snum=4>", "17: <s snum=4> where </s> is due"),
        ("</s>\n", "", "13: </p> inside a sentence; is </s> missing?"),
        ("</s>", "</s>\n</s>", "14: </s> where <s> is due"),
        ("<s snum=3>", "stray\n<s snum=3>", "16: 'stray' is neither a tag nor a word of SemCor"),
        ("<s snum=3>", "<s snum=2>\n</s>\n<s snum=3>", "16 (sentence br-z01.s002): a sentence without words"),
    ],
)
def test_damage_is_an_error_naming_file_and_line(old: str, new: str, problem: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, TOY.replace(old, new, 1)).startswith(f"br-z01:{problem}")


def test_a_file_that_breaks_off_is_an_error_naming_the_sentence_it_breaks_off_in(tmp_path: Path) -> None:
    message = refusal(tmp_path, TOY[: TOY.index("<punc>&")])
    assert message == "br-z01:18: the file ends inside the sentence that starts in line 16"


@pytest.mark.parametrize("text", ["", "\n", "<contextfile>\n</contextfile>\n"])
def test_a_file_without_a_sentence_is_an_error(text: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, text) == "br-z01: no <s> in this file"


def test_another_element_inside_a_sentence_of_xml_is_an_error(tmp_path: Path) -> None:
    xml = as_xml(TOY).replace("punc>", "w>")
    assert refusal(tmp_path, xml, "br-z01.xml") == "br-z01.xml:2 (sentence br-z01.s001): <w> is neither <wf> nor <punc>"


# Real data


@pytest.mark.real_data
def test_semcor_has_the_published_counts_and_keeps_226036_targets_by_the_inventory(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROBING_DATA", str(data_dir))
    sentences = load_split("semcor3.0", "train")
    assert (len({sentence.document for sentence in sentences}), len(sentences)) == (352, 37_176)
    assert len({sentence.id for sentence in sentences}) == 37_176
    assert sum(len(sentence.tokens) for sentence in sentences) == 820_410
    targets = {
        target: (pos, senses.split(" "))
        for sentence in sentences
        for target, pos, senses in zip(*(sentence.columns[name] for name in ("target", "pos", "senses")), strict=True)
        if target
    }
    assert len(targets) == 234_136
    assert Counter(pos for pos, _ in targets.values()) == {"VERB": 89_825, "NOUN": 88_058, "ADJ": 35_664, "ADV": 20_589}
    assert all(sense_pos(key) == pos for pos, keys in targets.values() for key in keys)
    verbs_only = {s.document for s in sentences if "/brownv/" in s.source}
    assert len(verbs_only) == 166
    assert {pos for name, (pos, _) in targets.items() if name.partition(".")[0] in verbs_only} == {"VERB"}
    # What is dropped is what has `wnsn=0`: 8,100 targets whose sense of WordNet 1.6 has none in WordNet 3.0.
    inventory = read_index_sense(data_dir / "wordnet-3.0" / "index.sense")
    assert sum(any(key in inventory for key in keys) for _, keys in targets.values()) == 226_036
