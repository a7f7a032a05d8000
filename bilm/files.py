"""Writing files so that a reader never sees half of one."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bilm.errors import UserError


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it to `path` when the block succeeds, remove it when it fails.

    The block writes a file there, or makes a folder there and fills it. What exists is replaced only on success, a file
    only by a file and a folder only by a folder; a link is followed.

    Parameters
    ----------
    path : Path
        The final file or folder. The folder that holds it is created where it is missing. Whoever writes a folder makes
        sure first that nothing is lost with the old one.

    Yields
    ------
    Path
        A path in the same folder (so that the rename is atomic) with the same ending.

    Raises
    ------
    UserError
        If it cannot be written, the disk is full, or something of another kind is there; the message names `path`.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UserError(f"{path}: not a regular file: it cannot be replaced")
    if not path.name:
        raise UserError(f"{path}: is a folder")
    # The process id keeps two runs that write the same file from writing into each other's temporary file.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        _replace(temporary, path)
    except OSError as error:
        # An error that names some other file (an input that the block was reading) is not ours to explain.
        ours = (None, str(temporary), str(path), str(path.parent))
        if error.errno is None or (error.filename not in ours and not path.is_relative_to(error.filename)):
            raise
        raise UserError(f"{path}: cannot be written ({error.strerror})") from error
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary)
        elif temporary.exists():
            temporary.unlink()


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` as UTF-8 with LF line ends, atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def _replace(new: Path, old: Path) -> None:
    """Rename `new` to `old`. A full folder cannot be renamed over: the old one steps aside first."""
    if old.exists() and old.is_dir() != new.is_dir():
        raise UserError(f"{old}: is a {'folder' if old.is_dir() else 'file'}: it is left as it is")
    if not old.is_dir():
        new.replace(old)
        return
    aside = new.with_name(f"{new.name}.old")
    old.rename(aside)
    new.rename(old)
    shutil.rmtree(aside)
