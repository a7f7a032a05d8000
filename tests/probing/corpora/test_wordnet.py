"""The inventory of senses: the order of candidates, what a key says of itself, and damaged lines."""

from collections import Counter
from pathlib import Path

import pytest

from probing.corpora.sentence import CorpusError
from probing.corpora.wordnet import Inventory, read_index_sense, sense_pos, supersense

TOY = """\
art%1:04:00:: 00933420 3 4
art%1:06:00:: 02743547 1 13
art%1:09:00:: 05638987 2 6
cold%3:00:01:: 01251128 1 34
cold%3:00:02:: 01257612 3 5
cold%5:00:00:unemotional:00 00466508 2 6
take_part%2:41:00:: 02450505 1 21
"""


def read(folder: Path, content: str | bytes) -> Inventory:
    path = folder / "index.sense"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_index_sense(path)


def test_candidates_stand_in_the_order_of_sense_numbers_not_of_the_file(tmp_path: Path) -> None:
    assert read(tmp_path, TOY).candidates("art", "NOUN") == ("art%1:06:00::", "art%1:09:00::", "art%1:04:00::")


def test_satellites_stand_among_the_adjectives_by_their_numbers(tmp_path: Path) -> None:
    expected = ("cold%3:00:01::", "cold%5:00:00:unemotional:00", "cold%3:00:02::")
    assert read(tmp_path, TOY).candidates("cold", "ADJ") == expected


@pytest.mark.parametrize("group", [("art", "VERB"), ("artful", "NOUN"), ("art", "X"), ("take part", "VERB"), ("", "")])
def test_a_lemma_or_part_of_speech_that_is_not_there_has_no_candidates(group: tuple[str, str], tmp_path: Path) -> None:
    assert read(tmp_path, TOY).candidates(*group) == ()


def test_an_inventory_knows_its_keys(tmp_path: Path) -> None:
    inventory = read(tmp_path, TOY)
    assert "take_part%2:41:00::" in inventory
    assert "take_part%2:41:01::" not in inventory
    assert None not in inventory


def test_an_inventory_can_be_made_of_senses_at_hand_and_is_read_only() -> None:
    senses = {("apple", "NOUN"): ("apple_inc.", "apple_fruit")}
    inventory = Inventory(senses)
    senses.clear()
    assert inventory.candidates("apple", "NOUN") == ("apple_inc.", "apple_fruit")
    assert "apple_fruit" in inventory
    with pytest.raises(TypeError):
        inventory.senses["apple", "NOUN"] = ()  # type: ignore[index]


@pytest.mark.parametrize("word", ["NA", "null", "nan", "none", '"'])
def test_lemmas_that_look_like_missing_values_or_quotes_are_lemmas_P11(word: str, tmp_path: Path) -> None:
    inventory = read(tmp_path, f"{word}%1:06:00:: 00000001 1 0\n")
    assert inventory.candidates(word, "NOUN") == (f"{word}%1:06:00::",)


def test_line_ends_and_a_missing_final_line_end_make_no_difference(tmp_path: Path) -> None:
    assert read(tmp_path, TOY.replace("\n", "\r\n").rstrip()) == read(tmp_path, TOY)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "art%1:06:01::",
        "art%1:06:01:: 02743547 1",
        "art%1:06:01:: 02743547 1 13 0",
        "art%1:06:01::  02743547 1 13",
        "art%1:06:01:: 02743547 first 13",
        "art%6:06:01:: 02743547 1 13",
        "art%1:6:01:: 02743547 1 13",
        "art 02743547 1 13",
        "%1:06:01:: 02743547 1 13",
    ],
)
def test_a_damaged_line_is_an_error_naming_file_and_line(line: str, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"index\.sense:8: .* is not 'sense_key synset_offset sense_number tag_cnt'$"):
        read(tmp_path, TOY + line + "\n")


def test_a_second_sense_of_the_same_number_is_an_error_naming_both(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"index\.sense:8: art%1:18:00:: is sense 1, as art%1:06:00:: was before$"):
        read(tmp_path, TOY + "art%1:18:00:: 02743547 1 0\n")


def test_a_missing_an_empty_and_a_binary_file_are_errors_naming_it(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"gone: cannot be read \(No such file"):
        read_index_sense(tmp_path / "gone")
    with pytest.raises(CorpusError, match=r"index\.sense: no sense in this file$"):
        read(tmp_path, "")
    with pytest.raises(CorpusError, match=r"index\.sense:1: not UTF-8 \(byte 0xff\)$"):
        read(tmp_path, b"\xff\xfe")


@pytest.mark.parametrize(
    ("key", "pos", "expected"),
    [
        ("man%1:18:00::", "NOUN", "noun.person"),
        ("entity%1:03:00::", "NOUN", "noun.Tops"),
        ("go%2:38:00::", "VERB", "verb.motion"),
        ("cold%3:00:01::", "ADJ", "adj.all"),
        ("cold%5:00:00:unemotional:00", "ADJ", "adj.all"),
        ("european%3:01:00::", "ADJ", "adj.pert"),
        ("spent%3:44:00::", "ADJ", "adj.ppl"),
        ("far%4:02:00::", "ADV", "adv.all"),
    ],
)
def test_part_of_speech_and_supersense_are_read_off_the_key(key: str, pos: str, expected: str) -> None:
    assert (sense_pos(key), supersense(key)) == (pos, expected)


@pytest.mark.parametrize("key", ["", "man", "man.n.01", "man%18", "man%6:18:00::", "man%1:18:00:: ", "bn:00053097n"])
def test_what_is_no_sense_key_has_neither_P49(key: str) -> None:
    for read_off in (sense_pos, supersense):
        with pytest.raises(CorpusError, match=r"is no sense key, such as 'art%1:06:00::'$"):
            read_off(key)


def test_a_lexicographer_file_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(CorpusError, match="there is no lexicographer file 45"):
        supersense("man%1:45:00::")


@pytest.mark.real_data
def test_wordnet_has_the_published_number_of_senses_and_every_supersense_is_of_its_part_of_speech(
    data_dir: Path,
) -> None:
    inventory = read_index_sense(data_dir / "wordnet-3.0" / "index.sense")
    assert sum(len(keys) for keys in inventory.senses.values()) == 206_941
    classes = {"NOUN": "noun", "VERB": "verb", "ADJ": "adj", "ADV": "adv"}
    found = Counter((pos, supersense(key)) for (_, pos), keys in inventory.senses.items() for key in keys)
    assert len(found) == 45
    assert all(name.partition(".")[0] == classes[pos] for pos, name in found)
    assert inventory.candidates("person", "NOUN")[0] == "person%1:03:00::"
    assert inventory.candidates("art", "NOUN") == ("art%1:06:00::", "art%1:04:00::", "art%1:09:00::", "art%1:10:00::")
