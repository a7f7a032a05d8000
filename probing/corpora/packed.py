"""Folders that may also be there as a zip, as NLTK's downloader leaves them: `<folder>.zip`, with the folder inside."""

import zipfile
from pathlib import Path

from probing.corpora.sentence import CorpusError


def folder_or_zip(folder: Path) -> Path:
    """Return the folder, or the zip beside it where there is only that."""
    packed = folder.with_name(f"{folder.name}.zip")
    return packed if packed.is_file() and not folder.exists() else folder


def opened(path: Path) -> Path | zipfile.Path:
    """Return the folder, or the one of its own name that a zip holds: what `/`, `is_file` and `open` work with.

    Raises
    ------
    CorpusError
        If the zip is damaged or cannot be read.
    """
    if not path.is_file():
        return path
    try:
        return zipfile.Path(path, f"{path.stem}/")
    except zipfile.BadZipFile as error:
        raise CorpusError(f"{path}: damaged, or no zip: {error}") from error
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read ({error.strerror or error})") from error
