"""The unified framework: what is a target, which keys are its gold, and what is refused."""

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from probing.corpora.raganato import SENSE_COLUMNS, read_raganato
from probing.corpora.registry import load_split
from probing.corpora.sentence import CorpusError, Sentence
from probing.corpora.wordnet import read_index_sense

TOY = """\
<?xml version="1.0" encoding="UTF-8" ?>
<corpus lang="en" source="toy">
<text id="d000">
<sentence id="d000.s000">
<wf lemma="they" pos="PRON">They</wf>
<instance id="d000.s000.t000" lemma="take_part" pos="VERB">took part</instance>
<wf lemma="in" pos="ADP">in</wf>
<instance id="d000.s000.t001" lemma="art" pos="NOUN">art</instance>
<wf lemma="." pos=".">.</wf>
</sentence>
</text>
<text id="d001">
<sentence id="d001.s000">
<wf lemma="nothing" pos="NOUN">Nothing</wf>
</sentence>
</text>
</corpus>
"""
GOLD = """\
d000.s000.t000 take_part%2:41:00::
d000.s000.t001 art%1:06:00:: art%1:04:00::
"""


def write(folder: Path, xml: str | bytes = TOY, gold: str | bytes = GOLD) -> Path:
    path = folder / "toy.data.xml"
    path.write_bytes(xml if isinstance(xml, bytes) else xml.encode())
    (folder / "toy.gold.key.txt").write_bytes(gold if isinstance(gold, bytes) else gold.encode())
    return path


def read(folder: Path, xml: str | bytes = TOY, gold: str | bytes = GOLD) -> list[Sentence]:
    return list(read_raganato(write(folder, xml, gold)))


def one_sentence(*elements: str) -> str:
    words = "\n".join(elements)
    return f'<corpus><text id="d0"><sentence id="d0.s0">\n{words}\n</sentence></text></corpus>'


def refusal(folder: Path, xml: str | bytes = TOY, gold: str | bytes = GOLD) -> str:
    with pytest.raises(CorpusError) as error:
        read(folder, xml, gold)
    message = str(error.value)
    assert "\n" not in message
    return message.replace(f"{folder}/", "")


# What is a target


def test_the_columns_are_those_of_the_file_with_the_gold_keys(tmp_path: Path) -> None:
    first = read(tmp_path)[0]
    assert first.tokens == ("They", "took", "part", "in", "art", ".")
    assert tuple(first.columns) == SENSE_COLUMNS
    assert dict(first.columns) == {
        "lemma": ("they", "take_part", "take_part", "in", "art", "."),
        "pos": ("PRON", "VERB", "VERB", "ADP", "NOUN", "."),
        "target": ("", "d000.s000.t000", "d000.s000.t000", "", "d000.s000.t001", ""),
        "senses": ("", "take_part%2:41:00::", "take_part%2:41:00::", "", "art%1:06:00:: art%1:04:00::", ""),
    }


def test_only_instances_are_targets_even_where_other_words_have_lemma_and_part_of_speech_P47(tmp_path: Path) -> None:
    sentences = read(tmp_path)
    targets = [target for sentence in sentences for target in sentence.columns["target"] if target]
    assert Counter(targets) == {"d000.s000.t000": 2, "d000.s000.t001": 1}
    assert sentences[1].columns["senses"] == ("",)


@pytest.mark.parametrize("text", ["took part", "took_part", " took\n part "])
def test_an_instance_of_several_words_is_several_tokens_of_one_target_P54(text: str, tmp_path: Path) -> None:
    sentence = read(tmp_path, TOY.replace("took part", text))[0]
    assert sentence.tokens[1:3] == ("took", "part")
    assert sentence.columns["target"][1:3] == ("d000.s000.t000",) * 2


def test_spaces_inside_words_and_an_underscore_alone_part_nothing(tmp_path: Path) -> None:
    (sentence,) = read(tmp_path, one_sentence("<wf>_</wf>", "<wf>10\u00a0000</wf>", "<wf>over-all</wf>"), gold="")
    assert sentence.tokens == ("_", "10\u00a0000", "over-all")


def test_the_order_of_attributes_makes_no_difference_P55(tmp_path: Path) -> None:
    expected = read(tmp_path)
    swapped = TOY.replace(
        'id="d000.s000.t001" lemma="art" pos="NOUN"', "pos='NOUN'\n new=''  lemma = 'art' id='d000.s000.t001'"
    )
    assert [dict(sentence.columns) for sentence in read(tmp_path, swapped)] == [dict(s.columns) for s in expected]


def test_entities_are_the_characters_that_they_name_P55(tmp_path: Path) -> None:
    xml = one_sentence(
        '<wf lemma="at&amp;t" pos="NOUN">AT&amp;T</wf>',
        "<wf lemma=\"&apos;s\" pos='PRT'>&apos;s</wf>",
        "<wf>&#233;</wf>",
    )
    (sentence,) = read(tmp_path, xml, gold="")
    assert sentence.tokens == ("AT&T", "'s", "\u00e9")
    assert sentence.columns["lemma"] == ("at&t", "'s", "\u00e9")


def test_where_no_lemma_is_given_the_lower_cased_form_stands_in_P55(tmp_path: Path) -> None:
    xml = one_sentence('<instance id="i" pos="VERB">Take part</instance>', "<wf>In</wf>")
    (sentence,) = read(tmp_path, xml, gold="i take_part%2:41:00::\n")
    assert sentence.columns["lemma"] == ("take_part", "take_part", "in")
    assert sentence.columns["pos"] == ("VERB", "VERB", "")


def test_lemmas_are_lower_cased_and_forms_are_not(tmp_path: Path) -> None:
    sentence = read(tmp_path, TOY.replace('lemma="art"', 'lemma="ART"').replace(">art<", ">ART<"))[0]
    assert (sentence.tokens[4], sentence.columns["lemma"][4]) == ("ART", "art")


@pytest.mark.parametrize("word", ["NA", "null", "nan", "None", '"', "'"])
def test_words_that_look_like_missing_values_or_quotes_are_words_P11(word: str, tmp_path: Path) -> None:
    (sentence,) = read(tmp_path, one_sentence(f"<wf>{word}</wf>", "<wf>after</wf>"), gold="")
    assert sentence.tokens == (word, "after")


def test_a_sentence_knows_its_document_its_file_and_the_line_where_it_starts(tmp_path: Path) -> None:
    sentences = read(tmp_path)
    assert [(s.id, s.document, s.line) for s in sentences] == [("d000.s000", "d000", 4), ("d001.s000", "d001", 13)]
    assert {sentence.source for sentence in sentences} == {str(tmp_path / "toy.data.xml")}


def test_a_sentence_without_an_id_is_counted_under_the_files_stem(tmp_path: Path) -> None:
    xml = TOY.replace('<sentence id="d001.s000">', "<sentence>").replace('<text id="d001">', "<text>")
    second = read(tmp_path, xml)[1]
    assert (second.id, second.document) == ("toy:2", None)


# Which keys are gold


def test_the_order_of_the_key_file_blank_lines_spaces_and_line_ends_make_no_difference_P53(tmp_path: Path) -> None:
    expected = read(tmp_path)
    for reverse, line_end, blank, spaces in itertools.product([0, 1], ["\n", "\r\n"], ["", " \n\n"], ["", "  ", "\t"]):
        lines = GOLD.splitlines()[:: -1 if reverse else 1]
        gold = "".join(f"{line}{spaces}\n{blank}" for line in lines).replace("\n", line_end)
        assert read(tmp_path, gold=gold) == expected
        assert read(tmp_path, gold="\ufeff" + gold.rstrip()) == expected


def test_the_keys_of_an_id_that_comes_twice_are_put_together_as_the_official_scorer_does(tmp_path: Path) -> None:
    gold = GOLD + "d000.s000.t001 art%1:09:00:: art%1:06:00::\n"
    assert read(tmp_path, gold=gold)[0].columns["senses"][4] == "art%1:06:00:: art%1:04:00:: art%1:09:00::"


def test_an_instance_without_a_gold_key_is_an_error_naming_id_and_place(tmp_path: Path) -> None:
    message = refusal(tmp_path, gold=GOLD.splitlines()[0])
    assert message == (
        "toy.data.xml:8 (sentence d000.s000): instance d000.s000.t001 has no gold key in toy.gold.key.txt"
    )


def test_a_key_without_an_instance_is_an_error_naming_id_and_place(tmp_path: Path) -> None:
    message = refusal(tmp_path, gold=GOLD + "\nd009.s000.t000 art%1:06:00::\n")
    assert message == "toy.gold.key.txt:4: there is no instance d009.s000.t000 in toy.data.xml"


def test_an_id_without_a_key_on_its_line_is_an_error(tmp_path: Path) -> None:
    message = refusal(tmp_path, gold=GOLD + "d000.s000.t002 \n")
    assert message == "toy.gold.key.txt:3: 'd000.s000.t002' stands without a sense key"


def test_a_second_instance_of_the_same_id_and_one_without_id_are_errors(tmp_path: Path) -> None:
    message = refusal(tmp_path, TOY.replace("d000.s000.t001", "d000.s000.t000"))
    assert message == "toy.data.xml:8 (sentence d000.s000): a second instance d000.s000.t000"
    message = refusal(tmp_path, TOY.replace('id="d000.s000.t001" ', ""))
    assert message == "toy.data.xml:8 (sentence d000.s000): instance 'art' has no id"


# What is refused


def test_another_name_and_missing_files_are_errors_naming_them(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"toy\.xml: the name of such a file ends in '\.data\.xml'$"):
        list(read_raganato(tmp_path / "toy.xml"))
    path = write(tmp_path)
    path.unlink()
    with pytest.raises(CorpusError, match=r"toy\.data\.xml: cannot be read \(No such file"):
        list(read_raganato(path))
    (tmp_path / "toy.gold.key.txt").unlink()
    with pytest.raises(CorpusError, match=r"toy\.gold\.key\.txt: cannot be read \(No such file"):
        list(read_raganato(path))


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE corpus [<!ENTITY a "bbbb"><!ENTITY c "&a;&a;&a;&a;">]>',
        '<!DOCTYPE corpus [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE corpus SYSTEM "http://localhost/corpus.dtd">',
    ],
)
def test_declarations_that_could_expand_or_fetch_are_refused_unread(declaration: str, tmp_path: Path) -> None:
    message = refusal(tmp_path, TOY.replace("<corpus", f"{declaration}<corpus"))
    assert message == "toy.data.xml:2: a DOCTYPE or entity declaration, which is refused; delete it"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (">in</wf>", ">in", "8: <instance> inside <wf>"),
        (".</wf>", ".", "10: not well-formed XML (mismatched tag)"),
        (">art<", "> <", "8 (sentence d000.s000): a word without text"),
        (">art<", "><b>art</b><", "8: <b> inside <instance>"),
        (">art<", ">a&nbsp;b<", "8: not well-formed XML (undefined entity)"),
        ("</sentence>", "\n\nmore  </sentence>", "12: text 'more' outside of a word"),
        ('<wf lemma="in" pos="ADP">in</wf>', "<w>in</w>", "7 (sentence d000.s000): <w> is neither <wf> nor <instance>"),
        ("UTF-8", "klingon", "1: not XML in a known encoding (unknown encoding: klingon)"),
        ("UTF-8", "utf-7", "1: not XML in a known encoding (multi-byte encodings are not supported)"),
    ],
)
def test_damage_is_an_error_naming_file_and_line(old: str, new: str, problem: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, TOY.replace(old, new, 1)) == f"toy.data.xml:{problem}"


def test_a_file_that_breaks_off_and_one_that_is_not_utf_8_are_errors_naming_the_line(tmp_path: Path) -> None:
    assert refusal(tmp_path, TOY[: TOY.index("in</wf>")]).startswith("toy.data.xml:7: not well-formed XML (")
    assert refusal(tmp_path, TOY.encode().replace(b">art<", b">\xe9<")).startswith(
        "toy.data.xml:8: not well-formed XML ("
    )
    assert refusal(tmp_path, gold=GOLD.encode() + b"\xe9 a\n") == "toy.gold.key.txt:3: not UTF-8 (byte 0xe9)"


@pytest.mark.parametrize("xml", ["", "<corpus/>", "<corpus><text><s/></text></corpus>"])
def test_a_file_without_a_sentence_is_an_error(xml: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, xml, gold="") == "toy.data.xml: no <sentence> in this file"


def test_words_outside_of_sentences_are_an_error_rather_than_dropped(tmp_path: Path) -> None:
    assert refusal(tmp_path, TOY.replace("sentence", "s")) == "toy.data.xml:5: text 'They' outside of a word"


def test_a_sentence_without_words_is_an_error_naming_its_line(tmp_path: Path) -> None:
    xml = TOY.replace('<wf lemma="nothing" pos="NOUN">Nothing</wf>\n', "")
    assert refusal(tmp_path, xml) == "toy.data.xml:13 (sentence d001.s000): a sentence without words"


def test_sentences_come_before_the_file_is_read_to_its_end(tmp_path: Path) -> None:
    sentences = "".join(f'<sentence id="s{i}"><wf lemma="a" pos="DET">a</wf></sentence>\n' for i in range(5000))
    stream = read_raganato(write(tmp_path, f"<corpus><text>{sentences}<broken", gold=""))
    assert [sentence.id for sentence in itertools.islice(stream, 1000)] == [f"s{i}" for i in range(1000)]
    with pytest.raises(CorpusError, match="not well-formed"):
        list(stream)


# Real data


def spans(sentences: list[Sentence]) -> Iterator[tuple[Sentence, int, int]]:
    """Yield the first token of each target and the number of its tokens."""
    for sentence in sentences:
        start = 0
        for target, tokens in itertools.groupby(sentence.columns["target"]):
            n_tokens = len(list(tokens))
            if target:
                yield sentence, start, n_tokens
            start += n_tokens


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "sizes", "by_pos", "n_multi_word", "n_multi_gold", "first_sense"),
    [
        ("senseval2", (3, 242, 5_829, 2_282), (1_066, 517, 445, 254), 56, 103, 66.78),
        ("senseval3", (3, 352, 5_640, 1_850), (900, 588, 350, 12), 82, 37, 66.22),
        ("semeval2007", (3, 135, 3_219, 455), (159, 296, 0, 0), 18, 4, 55.16),
        ("semeval2013", (13, 306, 8_533, 1_644), (1_644, 0, 0, 0), 128, 12, 62.96),
        ("semeval2015", (4, 138, 2_643, 1_022), (531, 251, 160, 80), 37, 184, 67.81),
    ],
)
def test_each_set_has_the_published_counts_and_first_sense_score(
    name: str,
    sizes: tuple[int, int, int, int],
    by_pos: tuple[int, int, int, int],
    n_multi_word: int,
    n_multi_gold: int,
    first_sense: float,
    data_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PROBING_DATA", str(data_dir))
    sentences = load_split("wsd-evaluation-framework", name)
    found = list(spans(sentences))
    n_documents = len({sentence.document for sentence in sentences})
    n_tokens = sum(len(sentence.tokens) for sentence in sentences)
    assert (n_documents, len(sentences), n_tokens, len(found)) == sizes
    counts = Counter(sentence.columns["pos"][start] for sentence, start, _ in found)
    assert tuple(counts[pos] for pos in ("NOUN", "VERB", "ADJ", "ADV")) == by_pos
    assert sum(n_words > 1 for _, _, n_words in found) == n_multi_word
    gold = [sentence.columns["senses"][start].split(" ") for sentence, start, _ in found]
    assert sum(len(keys) > 1 for keys in gold) == n_multi_gold
    inventory = read_index_sense(data_dir / "wordnet-3.0" / "index.sense")
    assert all(key in inventory for keys in gold for key in keys)
    firsts = [
        inventory.candidates(sentence.columns["lemma"][start], sentence.columns["pos"][start])[0]
        for sentence, start, _ in found
    ]
    right = sum(first in keys for first, keys in zip(firsts, gold, strict=True))
    assert 100 * right / len(found) == pytest.approx(first_sense, abs=0.005)


@pytest.mark.real_data
def test_all_is_the_five_sets_one_after_another(data_dir: Path) -> None:
    folder = data_dir / "wsd-evaluation-framework" / "Evaluation_Datasets"
    sets = ("senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015")
    single = [s for name in sets for s in read_raganato(folder / name / f"{name}.data.xml")]
    together = list(read_raganato(folder / "ALL" / "ALL.data.xml"))
    assert [s.tokens for s in together] == [s.tokens for s in single]
    assert [s.columns["senses"] for s in together] == [s.columns["senses"] for s in single]
    assert (len(together), sum(len(s.tokens) for s in together)) == (1_173, 25_864)
    assert len(list(spans(together))) == 7_253
    # The files escape it twice (`&amp;amp;`), once in senseval3 and once in semeval2013; a form stays as it is written.
    assert [token for sentence in together for token in sentence.tokens if "&" in token] == ["&amp;", "&amp;"]
