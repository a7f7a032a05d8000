"""Getting one file over a bad line: goes on where it stopped, tries again, verifies before anyone sees the file."""

import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import pooch
import requests

from bilm import console
from bilm.errors import UserError
from probing.data.catalogue import File

_CHUNK = 1 << 16
_TIMEOUT = (10, 60)
"""Seconds to wait for a connection, and for the next bytes."""


class DownloadError(UserError):
    """An address gave nothing; another one may."""


class WrongFileError(UserError):
    """What came is not what it should be; it is kept aside and not used."""


class Downloader:
    """A downloader for `pooch.retrieve`: what has come of a file is kept in `part`, and the next try asks for the rest.

    Parameters
    ----------
    part : Path
        Holds the bytes that have come; it stays where a download fails, for the next run to go on from.
    expected : File
        Size and sha256, where they are known; a file with others is renamed to ``<name>.wrong`` beside `part`.
    label : str
        What the progress bar says.
    headers : mapping of str to str
        Sent with the request.
    tries : int
        How often in a row a connection may fail without a new byte.
    pause : float
        Seconds before the second try; twice as long before each further one.
    """

    def __init__(
        self,
        part: Path,
        expected: File,
        *,
        label: str = "",
        headers: Mapping[str, str] | None = None,
        tries: int = 4,
        pause: float = 1.0,
    ) -> None:
        self.part = part
        self.expected = expected
        self.label = label
        self.headers = {"Accept-Encoding": "identity", **(headers or {})}
        self.tries = tries
        self.pause = pause

    def __call__(self, url: str, output_file: str, _: Any) -> None:
        """Download `url` to `output_file`.

        Raises
        ------
        DownloadError
            If the server cannot be reached, or has no such file.
        WrongFileError
            If what came has another size or checksum.
        """
        resumed = self.part.exists()
        self._complete(url)
        if resumed and self._fault():  # the beginning may have been of another state of the file
            self.part.unlink()
            self._complete(url)
        if fault := self._fault():
            aside = self.part.with_suffix(".wrong")
            self.part.replace(aside)
            raise WrongFileError(f"{url}: not the file it should be ({fault}); it is not used, and kept as {aside}")
        self.part.replace(output_file)

    def _fault(self) -> str:
        size = self.part.stat().st_size
        if self.expected.size not in (None, size):
            return f"{size:,} bytes instead of {self.expected.size:,}"
        if self.expected.sha256 is not None:
            found = pooch.file_hash(str(self.part), alg="sha256")
            if found != self.expected.sha256:
                return f"sha256 {found} instead of {self.expected.sha256}"
        return ""

    def _complete(self, url: str) -> None:
        failures, farthest = 0, self._size()
        with console.progress_bar() as progress:
            task = progress.add_task(self.label or self.part.stem, total=self.expected.size)

            def show(done: int, total: int | None) -> None:
                progress.update(task, completed=done, total=total)

            while True:
                try:
                    return self._ask(url, show)
                except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
                    failures = 0 if self._size() > farthest else failures + 1
                    farthest = max(farthest, self._size())
                    if failures >= self.tries:
                        _unreachable(url, error)
                    time.sleep(self.pause * 2 ** max(failures - 1, 0))

    def _size(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _ask(self, url: str, show: Callable[[int, int | None], None]) -> None:
        start = self._size()
        headers = self.headers | ({"Range": f"bytes={start}-"} if start else {})
        try:
            with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as answer:
                if answer.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and start:
                    if start != self.expected.size:
                        self.part.unlink()
                        raise requests.ConnectionError("the part that is here is not of this file")
                    return
                if answer.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                    raise requests.ConnectionError(f"the server answers {answer.status_code} {answer.reason}")
                if answer.status_code not in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
                    raise DownloadError(f"{url}: the server answers {answer.status_code} {answer.reason}")
                if not answer.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
                    start = 0  # the server sends the whole file again
                length = answer.headers.get("Content-Length")
                total = start + int(length) if length else self.expected.size
                with self.part.open("ab" if start else "wb") as file:
                    done = start
                    for chunk in answer.iter_content(_CHUNK):
                        file.write(chunk)
                        done += len(chunk)
                        show(done, total)
                if length and done != total:
                    raise requests.ConnectionError(f"the connection ended after {done:,} of {total:,} bytes")
        except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError):
            raise
        except requests.RequestException as error:
            raise DownloadError(f"{url}: {error}") from error


def _unreachable(url: str, error: Exception) -> NoReturn:
    cause: BaseException = error
    while cause.__context__ is not None:  # requests and urllib3 wrap what the system said
        cause = cause.__context__
    reason = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    raise DownloadError(f"{urlsplit(url).netloc} cannot be reached ({reason})") from error
