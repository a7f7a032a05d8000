"""CoarseWSD-20: which token is the target, which class it has, and what is refused."""

import json
from collections import Counter
from pathlib import Path

import pytest

from probing.corpora.coarsewsd import coarsewsd_inventory, read_coarsewsd
from probing.corpora.raganato import SENSE_COLUMNS
from probing.corpora.registry import load_split
from probing.corpora.sentence import CorpusError, Sentence

CLASSES = {"1": "bank_river", "0": "bank_money"}


def write(
    folder: Path,
    noun: str = "bank",
    data: str = "1\tthe bank fell\n0\tbank holiday .",
    gold: str = "1\n0",
    classes: object = None,
    split: str = "train",
) -> Path:
    (folder / noun).mkdir(exist_ok=True)
    text = classes if isinstance(classes, str) else json.dumps(CLASSES if classes is None else classes)
    (folder / noun / "classes_map.txt").write_text(text, encoding="utf-8")
    (folder / noun / f"{split}.data.txt").write_bytes(data.encode())
    (folder / noun / f"{split}.gold.txt").write_bytes(gold.encode())
    return folder


def read(folder: Path, split: str = "train") -> list[Sentence]:
    return list(read_coarsewsd(folder, split))


def refusal(folder: Path) -> str:
    with pytest.raises(CorpusError) as error:
        read(folder)
    message = str(error.value)
    assert "\n" not in message
    return message.replace(f"{folder}/", "")


def test_the_target_is_the_token_at_the_position_counted_from_0(tmp_path: Path) -> None:
    first, second = read(write(tmp_path))
    assert first.tokens == ("the", "bank", "fell")
    assert tuple(first.columns) == SENSE_COLUMNS
    assert dict(first.columns) == {
        "lemma": ("the", "bank", "fell"),
        "pos": ("", "NOUN", ""),
        "target": ("", "bank.train.1", ""),
        "senses": ("", "bank_river", ""),
    }
    assert second.columns["target"] == ("bank.train.2", "", "")
    assert second.columns["senses"] == ("bank_money", "", "")


def test_a_sentence_knows_its_noun_its_file_and_its_line(tmp_path: Path) -> None:
    second = read(write(tmp_path))[1]
    assert (second.id, second.document, second.line) == ("bank.train.2", "bank", 2)
    assert second.source == str(tmp_path / "bank" / "train.data.txt")


def test_nouns_come_in_the_order_of_the_alphabet_each_with_its_own_classes(tmp_path: Path) -> None:
    write(tmp_path, "seal", "0\tseal", "0", {"0": "seal_animal"})
    write(tmp_path, "arm", "0\tarm", "0", {"0": "arm_limb"})
    (tmp_path / "LICENSE").write_text("CC", encoding="utf-8")
    (tmp_path / "notes").mkdir()
    assert [sentence.columns["senses"] for sentence in read(tmp_path)] == [("arm_limb",), ("seal_animal",)]


def test_each_split_has_its_own_files(tmp_path: Path) -> None:
    write(write(tmp_path), data="0\tbank", gold="0", split="test")
    assert [sentence.id for sentence in read(tmp_path, "test")] == ["bank.test.1"]


def test_senses_stand_in_the_order_of_their_numbers_even_past_nine(tmp_path: Path) -> None:
    classes = {str(number): f"bank_{number}" for number in (10, 2, 1, 0, *range(3, 10))}
    assert coarsewsd_inventory(write(tmp_path, classes=classes)) == {"bank": tuple(f"bank_{n}" for n in range(11))}


def test_positions_were_counted_over_tokens_at_any_white_space(tmp_path: Path) -> None:
    (sentence,) = read(write(tmp_path, data="3\t7\u00a01/2  : bank", gold="0"))
    assert sentence.tokens == ("7", "1/2", ":", "bank")


def test_line_ends_and_a_missing_final_line_end_make_no_difference(tmp_path: Path) -> None:
    expected = read(write(tmp_path))
    assert read(write(tmp_path, data="1\tthe bank fell\r\n0\tbank holiday .\r\n", gold="1\r\n0\r\n\r\n")) == expected


@pytest.mark.parametrize(
    ("data", "gold", "problem"),
    [
        ("1\tbank", "0", "bank/train.data.txt:1: token 1, counted from 0, is past the last of 1, not 'bank'"),
        ("0\tbank\n1\ta banker", "0\n0", "bank/train.data.txt:2: token 1, counted from 0, is 'banker', not 'bank'"),
        ("0 bank", "0", "bank/train.data.txt:1: not a position, a tab and a sentence"),
        ("-1\tbank", "0", "bank/train.data.txt:1: not a position, a tab and a sentence"),
        ("0\tbank\n\n0\tbank", "0\n0\n0", "bank/train.data.txt:2: not a position, a tab and a sentence"),
        ("0\tbank", "2", "bank/train.gold.txt:1: '2' is no class of 'bank': they are 0 to 1"),
        ("0\tbank", "one", "bank/train.gold.txt:1: 'one' is no class of 'bank': they are 0 to 1"),
        ("0\tbank\n0\tbank", "0", "bank/train.data.txt: 2 lines, but 1 in bank/train.gold.txt"),
    ],
)
def test_damage_is_an_error_naming_file_and_line(data: str, gold: str, problem: str, tmp_path: Path) -> None:
    assert refusal(write(tmp_path, data=data, gold=gold)) == problem


@pytest.mark.parametrize("classes", ["[]", {}, {"1": "a"}, {"0": "a", "two": "b"}, {"0": "a", "00": "b"}])
def test_classes_that_are_not_numbered_from_0_are_an_error(classes: object, tmp_path: Path) -> None:
    assert (
        refusal(write(tmp_path, classes=classes)) == 'bank/classes_map.txt: the classes are not numbered "0", "1", ...'
    )


@pytest.mark.parametrize("name", [3, None, "", "a b", " a"])
def test_a_name_of_a_class_that_is_not_one_word_is_an_error(name: object, tmp_path: Path) -> None:
    problem = f"bank/classes_map.txt: {name!r} is no name of a class, which is a text without spaces"
    assert refusal(write(tmp_path, classes={"0": name})) == problem


def test_what_is_not_json_is_an_error(tmp_path: Path) -> None:
    assert refusal(write(tmp_path, classes="{0: bank}")).startswith("bank/classes_map.txt: not JSON (")


def test_a_folder_without_nouns_and_a_missing_split_are_errors_naming_them(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r": no noun in this folder, such as apple/classes_map\.txt$"):
        read(tmp_path)
    write(tmp_path)
    with pytest.raises(CorpusError, match=r"dev\.data\.txt: cannot be read \(No such file"):
        read(tmp_path, "dev")


@pytest.mark.real_data
def test_coarsewsd_has_the_published_sizes_and_most_frequent_sense_scores(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROBING_DATA", str(data_dir))
    inventory = coarsewsd_inventory(data_dir / "coarsewsd-20")
    assert (len(inventory), sum(len(senses) for senses in inventory.values())) == (20, 53)
    assert inventory["apple"] == ("apple_apple_inc.", "apple_apple")
    counts: dict[str, dict[str, Counter[str]]] = {}
    for split, size in (("train", 23_370), ("test", 10_196)):
        sentences = load_split("coarsewsd-20", split)
        assert len(sentences) == size
        counts[split] = {noun: Counter() for noun in inventory}
        for sentence in sentences:
            (target,) = (position for position, name in enumerate(sentence.columns["target"]) if name)
            noun, sense = sentence.columns["lemma"][target], sentence.columns["senses"][target]
            assert sentence.tokens[target] == noun
            counts[split][noun][sense] += 1
        assert all(set(counts[split][noun]) == set(inventory[noun]) for noun in inventory)
    right = {noun: counts["test"][noun][counts["train"][noun].most_common(1)[0][0]] for noun in inventory}
    micro = sum(right.values()) / 10_196
    macro = sum(right[noun] / counts["test"][noun].total() for noun in inventory) / 20
    assert 100 * micro == pytest.approx(73.43, abs=0.005)
    assert 100 * macro == pytest.approx(66.48, abs=0.005)
