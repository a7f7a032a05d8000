"""Taking files out of an archive that nobody vouches for.

Nothing is written but regular files that the caller picks, at paths that the caller chooses; an archive with any member
that points elsewhere is refused as a whole, before anything of it is written. That the contents are right is for the
caller to verify: not every kind of archive has checksums that are read.
"""

import gzip
import lzma
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection
from pathlib import Path, PurePosixPath
from stat import S_IFMT, S_ISDIR, S_ISREG
from typing import IO, NamedTuple

from bilm.errors import UserError

_MAX_MEMBERS = 100_000
_COPY_BYTES = 1 << 20

_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)

Pick = Callable[[str], str | None]
"""From a member's path to the path it gets, or None where it is not wanted."""


class ArchiveError(UserError):
    """An archive that is damaged, or that must not be unpacked."""


class _Member(NamedTuple):
    name: str
    size: int
    open: Callable[[], IO[bytes] | None]


def by_ending(paths: Collection[str]) -> Pick:
    """Pick the members whose path ends in one of `paths`, whatever folders stand before it."""
    wanted = set(paths)

    def pick(name: str) -> str | None:
        parts = PurePosixPath(name).parts
        endings = ("/".join(parts[start:]) for start in range(len(parts)))
        return next((ending for ending in endings if ending in wanted), None)

    return pick


def unpack(archive: Path, folder: Path, pick: Pick, max_bytes: int) -> None:
    """Write the picked files of a zip, or a tar of any compression, into `folder`.

    Raises
    ------
    ArchiveError
        If it is neither, damaged, holds more than `max_bytes`, or has a member with an absolute path, a path through
        ``..``, a link that leads out of the archive, or a device.
    """
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as opened_zip:
                _write(_zip_members(opened_zip, archive, max_bytes), folder, pick, archive)
        elif tarfile.is_tarfile(archive):
            with tarfile.open(archive) as opened_tar:
                _write(_tar_members(opened_tar, archive, max_bytes), folder, pick, archive)
        else:
            raise ArchiveError(f"{archive}: neither zip nor tar")
    except (*_DAMAGED, RuntimeError, NotImplementedError) as error:  # the last two: encrypted, unknown compression
        raise ArchiveError(f"{archive}: damaged or not readable: {error}") from error


class _Guard:
    """Refuse what must not be unpacked, member by member."""

    def __init__(self, archive: Path, max_bytes: int) -> None:
        self.archive, self.max_bytes = archive, max_bytes
        self.bytes = self.members = 0

    def refuse(self, what: str) -> ArchiveError:
        return ArchiveError(f"{self.archive}: refused: {what}")

    def pass_path(self, name: str) -> None:
        if _leads_out(name):
            raise self.refuse(f"{name!r} would be written outside its folder")
        self.members += 1
        if self.members > _MAX_MEMBERS:
            raise self.refuse(f"it has more than {_MAX_MEMBERS:,} members")

    def pass_size(self, size: int) -> None:
        self.bytes += size
        if self.bytes > self.max_bytes:
            raise self.refuse(f"it holds more than {self.max_bytes:,} bytes")


def _leads_out(name: str, start: str = "") -> bool:
    """Whether a path, taken from the folder `start` of the archive, leads out of the archive."""
    if name.startswith(("/", "\\")) or "\\" in name or "\0" in name or name[1:2] == ":":
        return True
    depth = 0
    for part in PurePosixPath(start, name).parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return True
    return False


def _zip_members(opened: zipfile.ZipFile, archive: Path, max_bytes: int) -> list[_Member]:
    guard = _Guard(archive, max_bytes)
    members = []
    for info in opened.infolist():
        guard.pass_path(info.filename)
        if ".." in PurePosixPath(info.filename).parts:
            raise guard.refuse(f"{info.filename!r} leads through '..'")
        kind = S_IFMT(info.external_attr >> 16)
        if kind and not (S_ISREG(kind) or S_ISDIR(kind)):
            raise guard.refuse(f"{info.filename!r} is a link or a device")
        guard.pass_size(info.file_size)
        if not info.is_dir():
            members.append(_Member(info.filename, info.file_size, lambda info=info: opened.open(info)))  # type: ignore[misc]
    return members


def _tar_members(opened: tarfile.TarFile, archive: Path, max_bytes: int) -> list[_Member]:
    guard = _Guard(archive, max_bytes)
    members = []
    for info in opened:  # one by one: a member's size is known before it is unpacked
        guard.pass_path(info.name)
        if ".." in PurePosixPath(info.name).parts:
            raise guard.refuse(f"{info.name!r} leads through '..'")
        if info.issym() and _leads_out(info.linkname, str(PurePosixPath(info.name).parent)):
            raise guard.refuse(f"the link {info.name!r} leads out of the archive")
        if info.islnk() and _leads_out(info.linkname):
            raise guard.refuse(f"the link {info.name!r} leads out of the archive")
        if not (info.isfile() or info.isdir() or info.issym() or info.islnk()):
            raise guard.refuse(f"{info.name!r} is a device")
        guard.pass_size(info.size)
        if info.isfile():
            members.append(_Member(info.name, info.size, lambda info=info: opened.extractfile(info)))  # type: ignore[misc]
    return members


def _write(members: list[_Member], folder: Path, pick: Pick, archive: Path) -> None:
    for member in members:
        path = pick(member.name)
        if path is None:
            continue
        target = folder / path
        if target.exists():
            raise ArchiveError(f"{archive}: refused: it has {path} twice")
        target.parent.mkdir(parents=True, exist_ok=True)
        source = member.open()
        assert source is not None  # a regular file
        with source, target.open("wb") as file:
            shutil.copyfileobj(source, file, _COPY_BYTES)
        if target.stat().st_size != member.size:
            raise ArchiveError(f"{archive}: damaged: {member.name} has not the size that is stated")
