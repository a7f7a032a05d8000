"""From a name to a verified folder in the data folder: download, unpack, verify, and only then put in place."""

import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pooch

from bilm.errors import UserError
from probing.corpora.registry import data_folder
from probing.data.archive import ArchiveError, by_ending, unpack
from probing.data.catalogue import Download, Entry, File
from probing.data.check import check, counts_are_right, place_of, presence
from probing.data.download import Downloader, DownloadError
from probing.data.treebank import convert_treebank

_log = logging.getLogger(__name__)

UNKNOWN = File(None, None)
"""Of an archive, and of another state of a file, nothing is known beforehand."""


def terms(entry: Entry) -> str:
    """Return what is to be known before a download: licence, source, citation, notes."""
    lines = [
        f"{entry.name}: {entry.description}",
        f"  licence:  {entry.licence}",
        f"  source:   {entry.source}",
        f"  cite:     {entry.citation}",
    ]
    return "\n".join([*lines, f"  note:     {entry.note}"] if entry.note else lines)


def fetch(entry: Entry, *, tries: int = 4, pause: float = 1.0) -> Path:
    """Download an entry into the data folder and return its folder; nothing is done where all of it is there.

    What has come of an interrupted download is kept in ``.fetch-<name>`` beside it, and the next call goes on from it.
    Of two calls at once, in whatever processes, the second waits for the first.

    Parameters
    ----------
    entry : Entry
    tries, pause :
        As in `Downloader`.

    Raises
    ------
    UserError
        If it may not be downloaded, cannot be reached, is not what it should be, or cannot be written.
    """
    if not entry.downloads:
        raise UserError(f"{entry.name} cannot be fetched: {entry.note} ({entry.source})")
    root = data_folder()
    folder = root / entry.folder
    there = folder.exists()  # asked first: what another fetch puts there from now on is complete
    if presence(entry, root) == "here":
        return place_of(entry, root)
    if there:
        raise UserError(
            f"{folder}: is there, but not complete (`probing data check {entry.name}` says what is missing); "
            "move it away and fetch again"
        )
    work = root / f".fetch-{entry.name}"
    with _writing(root), _alone(work):
        if presence(entry, root) == "here":  # another fetch, which was waited for, has brought it
            shutil.rmtree(work, ignore_errors=True)
            return folder
        (work / "downloads").mkdir(exist_ok=True)
        got = [
            _download(
                entry, download, work / "downloads", f"{entry.name} {number}/{len(entry.downloads)}", tries, pause
            )
            for number, download in enumerate(entry.downloads, start=1)
        ]
        new = work / "new"
        shutil.rmtree(new, ignore_errors=True)
        (new / entry.folder).mkdir(parents=True)
        _arrange(entry, got, new)
        _verify(entry, got, new)
        folder.parent.mkdir(parents=True, exist_ok=True)
        (new / entry.folder).rename(folder)
        shutil.rmtree(work, ignore_errors=True)
    return folder


@contextmanager
def _writing(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename or root
        raise UserError(
            f"{where}: cannot be written ({error.strerror}); the environment variable PROBING_DATA names another folder"
        ) from error


@contextmanager
def _alone(work: Path) -> Iterator[None]:
    """Make the folder `work` and hold it: another process that wants it waits until the block is left."""
    while True:
        work.mkdir(parents=True, exist_ok=True)
        if os.name != "posix":  # no locks of this kind: as on a file system without them
            yield
            return
        try:
            held = os.open(work, os.O_RDONLY)
        except FileNotFoundError:  # whoever held it was done and removed it, just now
            continue
        try:
            _lock(held, work)
            if _is_at(held, work):
                yield
                return
        finally:
            os.close(held)


def _is_at(held: int, work: Path) -> bool:
    """Whether the folder that is held is at `work`: who held it before may have removed it, and others made another."""
    try:
        return os.path.samestat(os.fstat(held), work.stat())
    except FileNotFoundError:
        return False


def _lock(held: int, work: Path) -> None:
    import fcntl  # not everywhere

    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        _log.info("%s: another fetch is at work there; waiting for it", work)
        fcntl.flock(held, fcntl.LOCK_EX)
    except OSError:  # a file system without locks: who fetches twice at once there is told that the checksum is wrong
        pass


def _download(entry: Entry, download: Download, folder: Path, label: str, tries: int, pause: float) -> Path:
    """Return the downloaded file; one that is in `folder` already is taken, if its checksum is right."""
    pooch.get_logger().setLevel(logging.WARNING)  # it would tell each address and checksum
    exact = UNKNOWN if download.is_archive else entry.files[download.path]
    expected = [(download.address, exact, download.headers)]
    if download.otherwise:
        expected.append((download.otherwise, UNKNOWN if download.otherwise_differs else exact, {}))
    target = folder / download.path
    failures = []
    for attempt, (address, file, headers) in enumerate(expected):
        part = target.with_name(f"{target.name}.other.part" if attempt else f"{target.name}.part")
        part.parent.mkdir(parents=True, exist_ok=True)
        try:
            pooch.retrieve(
                address,
                known_hash=f"sha256:{file.sha256}" if file.sha256 else None,
                fname=target.name,
                path=target.parent,
                downloader=Downloader(part, file, label=label, headers=headers, tries=tries, pause=pause),
            )
            return target
        except DownloadError as error:
            failures.append(str(error))
            _log.info("%s", error)
    raise DownloadError(
        f"{entry.name}: {'; '.join(failures)}. Get {download.address} another way, save it as {target}, and fetch "
        f"again; or put the files into {data_folder() / entry.folder} and run `probing data check {entry.name}`"
    )


def _arrange(entry: Entry, got: list[Path], new: Path) -> None:
    """Move or unpack what has come into `new`, in the data folder's layout."""
    folder = new / entry.folder
    for download, path in zip(entry.downloads, got, strict=True):
        if not download.is_archive:
            target = folder / download.path
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
            continue
        try:
            if entry.name == "wsj-sample":
                parsed = new / "parsed"
                unpack(path, parsed, _parsed_file, entry.max_bytes)
                convert_treebank(parsed, folder)
            else:
                unpack(path, folder, by_ending(entry.files), entry.max_bytes)
        except ArchiveError as error:
            raise ArchiveError(f"{error}; it is not used, and kept as {_set_aside(path)}") from error


def _parsed_file(name: str) -> str | None:
    path = Path(name)
    return path.name if path.parent.name == "combined" and path.suffix == ".mrg" else None


def _verify(entry: Entry, got: list[Path], new: Path) -> None:
    wrong = [finding for finding in check(entry, new) if finding.state != "ok"]
    if not wrong:
        return
    if all(finding.state == "differs" for finding in wrong) and counts_are_right(entry, new):
        names = ", ".join(finding.path for finding in wrong[:3]) + (", ..." if len(wrong) > 3 else "")
        _log.warning(
            "%s: %d of %d files differ from those that this project's numbers were measured on (%s), though the counts "
            "are right: numbers may differ a little",
            entry.name,
            len(wrong),
            len(entry.files),
            names,
        )
        return
    archives = [path for path in got if path.exists()]
    kept = [_set_aside(path) for path in archives] or [_set_aside(new / entry.folder)]
    first = wrong[0]
    raise UserError(
        f"{entry.name}: not what it should be: {first.path} {first.state} {first.detail}".rstrip()
        + (f" and {len(wrong) - 1} more files" if len(wrong) > 1 else "")
        + f"; it is not used, and kept as {kept[0]}"
    )


def _set_aside(path: Path) -> Path:
    aside = path.with_name(f"{path.name}.wrong")
    if aside.is_dir():
        shutil.rmtree(aside)
    path.replace(aside)
    return aside
