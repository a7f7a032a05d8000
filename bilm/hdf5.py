"""Writing HDF5 files so that a full disk is an error like any other. Reading needs nothing of this."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import h5py
from numpy.typing import NDArray


class _Sink:
    """A file for the HDF5 library, which crashes the process where a write fails and it then closes what it wrote.

    It never hears of a failure: the first one is kept, for `fail` to raise, and nothing is written after it.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._error: OSError | None = None

    def write(self, data: Any) -> int:
        self._unless_failed(self._file.write, data)
        return len(data)

    def truncate(self, size: int) -> None:
        self._unless_failed(self._file.truncate, size)

    def flush(self) -> None:
        self._unless_failed(self._file.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def fail(self) -> None:
        """Raise the failure that there was, if there was one."""
        if self._error:
            raise self._error

    def _unless_failed(self, call: Callable[..., Any], *arguments: Any) -> None:
        if self._error is None:
            try:
                call(*arguments)
            except OSError as error:
                self._error = error


@contextmanager
def hdf5_writer(path: Path, **settings: Any) -> Iterator[Callable[[str, NDArray[Any]], None]]:
    """Give a function that adds a dataset, by its name, to a new HDF5 file.

    Parameters
    ----------
    path : Path
    **settings
        Passed to `h5py.File`.

    Raises
    ------
    OSError
        If it cannot be written, as soon as that is known.
    """
    with path.open("wb+") as opened:
        sink = _Sink(opened)
        with h5py.File(sink, "w", **settings) as file:

            def add(name: str, data: NDArray[Any]) -> None:
                file.create_dataset(name, data=data)
                sink.fail()

            yield add
        sink.fail()
