"""What of a corpus or a model is here, and whether it is what it should be."""

import hashlib
import os
import zipfile
import zlib
from pathlib import Path
from typing import IO, Literal, NamedTuple

from bilm.errors import UserError
from bilm.official import load_official
from probing.corpora.packed import folder_or_zip, opened
from probing.corpora.registry import CORPORA, DICTIONARY, FORMATS, data_folder
from probing.corpora.wordnet import read_index_sense
from probing.data.catalogue import Entry, File


class Finding(NamedTuple):
    """What is found of one file; `detail` says how it differs."""

    path: str
    state: Literal["ok", "missing", "differs"]
    detail: str = ""


def presence(entry: Entry, root: Path | None = None) -> Literal["here", "incomplete", "not here"]:
    """Say whether all of an entry's files are in the data folder (or `root`), without reading them."""
    place = place_of(entry, data_folder() if root is None else root)
    if not entry.files or not (place.is_dir() or place.suffix == ".zip"):
        return "not here"
    try:
        folder = opened(place)
    except UserError:
        return "incomplete"
    return "here" if all((folder / path).is_file() for path in entry.files) else "incomplete"


def place_of(entry: Entry, root: Path) -> Path:
    """Return where an entry lies in the data folder `root`, there or not: its folder, or the zip that stands for it."""
    folder = root / entry.folder
    corpus = CORPORA.get(entry.name)
    return folder_or_zip(folder) if corpus and corpus.packed else folder


def check(entry: Entry, root: Path | None = None) -> list[Finding]:
    """Compare every file of an entry in the data folder (or `root`) with size and checksum, a model with its shape."""
    folder = place_of(entry, data_folder() if root is None else root)
    findings = [_check_file(folder, path, file) for path, file in entry.files.items()]
    if entry.kind == "model" and entry.unverifiable and all(finding.state == "ok" for finding in findings):
        options, weights = entry.files
        try:
            load_official(folder / options, folder / weights)
        except UserError as error:
            findings[-1] = Finding(weights, "differs", str(error))
    return findings


def counts_are_right(entry: Entry, root: Path) -> bool:
    """Whether a corpus whose files differ from ours still has the sentences (or senses) it should have.

    Parameters
    ----------
    entry : Entry
    root : Path
        Takes the data folder's place.
    """
    if not entry.counts:
        return False
    corpus = CORPORA[entry.name]
    try:
        for split, expected in entry.counts.items():
            path = root / corpus.files[split]
            path = folder_or_zip(path) if corpus.packed else path
            if corpus.format == DICTIONARY:
                found = sum(len(senses) for senses in read_index_sense(path).senses.values())
            else:
                found = sum(1 for _ in FORMATS[corpus.format](path, split))
            if found != expected:
                return False
    except UserError:
        return False
    return True


def _check_file(folder: Path, path: str, expected: File) -> Finding:
    try:
        file = opened(folder) / path
        if not file.is_file():
            return Finding(path, "missing")
        with file.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            if expected.size not in (None, size):
                return Finding(path, "differs", f"{size:,} bytes instead of {expected.size:,}")
            stream.seek(0)
            if expected.sha256 is not None and _sha256(stream) != expected.sha256:
                return Finding(path, "differs", "its sha256 is another")
    except (OSError, UserError, zipfile.BadZipFile, zlib.error) as error:
        return Finding(path, "differs", f"cannot be read: {getattr(error, 'strerror', None) or error}")
    return Finding(path, "ok")


def _sha256(stream: IO[bytes]) -> str:
    return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]  # those of files and zips will do
