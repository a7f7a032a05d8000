"""Subjectivity: which line is in which split, from a folder or a zip of it, and what is refused."""

import zipfile
from pathlib import Path

import pytest

from probing.corpora.registry import CORPORA, SPLITS, load_split
from probing.corpora.sentence import CorpusError, Sentence
from probing.corpora.subjectivity import FILES, read_subjectivity

N_LINES = 21


def write(folder: Path) -> Path:
    """Write a sentence a line: `good film 1 .` or `a man 1 .`."""
    folder.mkdir(parents=True)
    for name, words in ((FILES["subjective"], "good film"), (FILES["objective"], "a man")):
        text = "".join(f"{words} {number} . \n" for number in range(1, N_LINES + 1))
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def pack(folder: Path) -> Path:
    """Write the zip of a folder beside it, as NLTK's is."""
    packed = folder.with_name(f"{folder.name}.zip")
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir(folder.name)
        for file in folder.iterdir():
            archive.write(file, f"{folder.name}/{file.name}")
    return packed


def read(path: Path, split: str = "train") -> list[Sentence]:
    return list(read_subjectivity(path, split))


def refusal(path: Path) -> str:
    with pytest.raises(CorpusError) as error:
        read(path)
    message = str(error.value)
    assert "\n" not in message
    return message.replace(f"{path.parent}/", "")


def test_the_tenth_line_of_ten_is_test_the_ninth_dev_and_the_classes_take_turns(tmp_path: Path) -> None:
    folder = write(tmp_path / "subjectivity")
    found = {split: [sentence.id for sentence in read(folder, split)] for split in SPLITS}
    assert found["test"] == ["subjective.10", "objective.10", "subjective.20", "objective.20"]
    assert found["dev"] == ["subjective.9", "objective.9", "subjective.19", "objective.19"]
    assert found["train"][:3] == ["subjective.1", "objective.1", "subjective.2"]
    assert len({one for split in SPLITS for one in found[split]}) == 2 * N_LINES


def test_a_sentence_knows_its_words_its_class_its_file_and_its_line(tmp_path: Path) -> None:
    folder = write(tmp_path / "subjectivity")
    second = read(folder, "dev")[1]
    assert second.tokens == ("a", "man", "9", ".")
    assert dict(second.columns) == {"class": ("objective",) * 4}
    assert second.place() == f"{folder / FILES['objective']}:9 (sentence objective.9)"


def test_a_zip_is_read_as_the_folder_that_it_holds(tmp_path: Path) -> None:
    folder = write(tmp_path / "subjectivity")
    packed = pack(folder)
    assert [one.tokens for one in read(packed)] == [one.tokens for one in read(folder)]
    assert read(packed)[0].source == str(packed / FILES["subjective"])


def test_what_nltk_leaves_is_found_packed_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBING_DATA", str(tmp_path))
    folder = write(tmp_path / "nltk_data" / "corpora" / "subjectivity")
    assert set(CORPORA["subjectivity"].paths().values()) == {folder}
    packed = pack(folder)
    assert set(CORPORA["subjectivity"].paths().values()) == {folder}
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    assert set(CORPORA["subjectivity"].paths().values()) == {packed}
    assert len(load_split("subjectivity", "dev")) == 4


@pytest.mark.parametrize("nel", ["\x85", "\x96"])
def test_a_control_character_ends_no_sentence(nel: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "subjectivity")
    for name in FILES.values():
        (folder / name).write_text(f"one {nel} two\nthree", encoding="utf-8")
    assert [one.tokens[-1] for one in read(folder)] == ["two", "two", "three", "three"]


def test_damage_is_an_error_naming_file_and_line(tmp_path: Path) -> None:
    folder = write(tmp_path / "subjectivity")
    quotes = folder / FILES["subjective"]
    quotes.write_bytes(quotes.read_bytes() + b"one more\n")
    assert refusal(folder) == (
        "subjectivity: the two files have not the same number of lines: "
        "22 in quote.tok.gt9.5000, 21 in plot.tok.gt9.5000"
    )
    quotes.write_bytes(b"a\n \n" + b"a\n" * (N_LINES - 2))
    assert refusal(folder) == "subjectivity/quote.tok.gt9.5000:2: a blank line, where a sentence should be"
    quotes.write_bytes(b"a\ncaf\xe9\n")
    assert refusal(folder) == "subjectivity/quote.tok.gt9.5000:2: not UTF-8 (byte 0xe9)"
    quotes.unlink()
    assert refusal(folder) == "subjectivity/quote.tok.gt9.5000: cannot be read (No such file or directory)"
    packed = pack(folder)
    assert refusal(packed).startswith("subjectivity.zip/quote.tok.gt9.5000: cannot be read (")
    packed.write_bytes(packed.read_bytes()[:-30])
    assert refusal(packed).startswith("subjectivity.zip: damaged, or no zip: ")
