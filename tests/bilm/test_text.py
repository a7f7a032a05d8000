"""Finding and reading text shards."""

import gzip
from pathlib import Path

import pytest

from bilm.text import TextError, find_shards, read_sentences


def test_shards_are_found_once_and_in_order(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.gz"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "folder.txt").mkdir()
    names = [path.name for path in find_shards([f"{tmp_path}/*.txt", f"{tmp_path}/[a-c].*"])]
    assert names == ["a.txt", "b.txt", "c.gz"]


def test_a_pattern_that_matches_nothing_is_named_L39(tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"no file matches .*shard-\*"):
        find_shards(f"{tmp_path}/shard-*")
    with pytest.raises(TextError, match=r"a folder; did you mean .*/\*\?"):
        find_shards(str(tmp_path))


def test_gzip_and_plain_read_alike(tmp_path: Path) -> None:
    data = "\ufeffa goose\r\n\nü ß\n".encode()
    (tmp_path / "plain").write_bytes(data)
    (tmp_path / "packed.gz").write_bytes(gzip.compress(data))
    expected = [["a", "goose"], [], ["ü", "ß"]]
    assert list(read_sentences(tmp_path / "plain")) == list(read_sentences(tmp_path / "packed.gz")) == expected


def test_a_shard_that_is_not_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "latin1.txt"
    path.write_bytes("gut\nschön\n".encode("latin-1"))
    with pytest.raises(TextError, match=r"latin1.txt:2: not UTF-8"):
        list(read_sentences(path))


@pytest.mark.parametrize("damage", [slice(0, 30), slice(10, None)], ids=["cut off", "no gzip"])
def test_a_damaged_gzip_file_is_one_line(tmp_path: Path, damage: slice) -> None:
    path = tmp_path / "damaged.gz"
    path.write_bytes(gzip.compress(bytes(range(32, 127)) * 5)[damage])
    with pytest.raises(TextError, match=r"damaged.gz: cannot be read"):
        list(read_sentences(path))
