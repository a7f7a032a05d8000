"""Writing: a reader sees the old file or the new one, never half of one."""

import errno
import os
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


def test_a_file_never_replaces_a_folder_nor_a_folder_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years", encoding="utf-8")
    with pytest.raises(UserError, match="work: is a folder: it is left as it is"):
        write_text(folder, "text")
    assert (folder / "thesis.tex").read_text(encoding="utf-8") == "years"
    with pytest.raises(UserError, match=r"thesis\.tex: is a file"), atomic_path(folder / "thesis.tex") as temporary:
        temporary.mkdir()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["thesis.tex", "work"]


def test_a_link_is_followed_and_a_pipe_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_text(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text(encoding="utf-8") == "text"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="pipe: not a regular file"):
        write_text(tmp_path / "pipe", "text")
