"""Writing: a reader sees the old file or the new one, never half of one."""

import errno
from pathlib import Path

import pytest

from bilm.errors import UserError
from bilm.files import atomic_path, write_text


def test_an_error_keeps_the_old_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    write_text(path, "old")
    with pytest.raises(ZeroDivisionError), atomic_path(path) as temporary:
        temporary.write_text("half", encoding="utf-8")
        raise ZeroDivisionError
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_keeps_the_old_file_and_is_said_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    write_text(path, "old")
    with pytest.raises(UserError, match=r"out\.txt: cannot be written \(No space left on device\)"), atomic_path(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert path.read_text(encoding="utf-8") == "old"


def test_an_error_about_another_file_is_left_to_whoever_reads_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "out.txt"):
        (tmp_path / "input.txt").read_text(encoding="utf-8")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match=r"file/out\.txt: cannot be written"):
        write_text(tmp_path / "file" / "out.txt", "text")


def test_a_folder_is_replaced_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    for name in ("first", "second"):
        with atomic_path(folder) as temporary:
            temporary.mkdir()
            (temporary / name).write_text(name, encoding="utf-8")
    assert [path.name for path in folder.iterdir()] == ["second"]
    assert list(tmp_path.iterdir()) == [folder]
