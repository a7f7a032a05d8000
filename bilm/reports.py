"""What a training run writes down: `metrics.csv`, a progress line, and TensorBoard's file where it is wanted.

`metrics.csv` holds nothing that depends on the clock, so that a resumed run writes the same bytes as an undisturbed
one.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bilm.errors import UserError

logger = logging.getLogger(__name__)

COLUMNS = (
    "step",
    "words",
    "epoch",
    "rate",
    "forward_sampled_loss",
    "backward_sampled_loss",
    "gradient_norm",
    "valid_forward_perplexity",
    "valid_backward_perplexity",
)


class Reports:
    """Writes rows; made by the first process only.

    Parameters
    ----------
    folder : Path
    length : int
        Bytes of metrics.csv to keep: what a resumed run's checkpoint knows of.
    tensorboard : bool
    """

    def __init__(self, folder: Path, length: int, *, tensorboard: bool = False) -> None:
        self.path = folder / "metrics.csv"
        with self._explained():
            self._file = self.path.open("ab")
            if (found := self._file.tell()) < length:  # someone cut it; to fill it up with zeros would be worse
                logger.warning("%s: rows are missing that the run had written", self.path)
            kept = min(found, length)
            self._file.truncate(kept)
            if not kept:
                self._file.write((",".join(COLUMNS) + "\n").encode())
                self._file.flush()
        self._writer: Any = _tensorboard_writer(folder) if tensorboard else None
        self._words: int | None = None
        self._time = time.monotonic()

    def row(self, values: dict[str, float | int | None], left: float | None) -> int:
        """Write one row and the progress line; return the length of metrics.csv.

        Parameters
        ----------
        values : dict
            By column; None is an empty field.
        left : float, optional
            Fraction of the training that is left over what is done, to tell the time left.
        """
        fields = [values[column] for column in COLUMNS]
        text = ",".join(
            "" if field is None else f"{field:.8g}" if isinstance(field, float) else str(field) for field in fields
        )
        with self._explained():
            self._file.write((text + "\n").encode())
            self._file.flush()
        if self._writer is not None:
            for column in COLUMNS[3:]:
                if values[column] is not None:
                    self._writer.add_scalar(column, values[column], values["step"])
        logger.info("%s", self._line(values, left))
        return self._file.tell()

    def close(self) -> None:
        """Close the files."""
        with suppress(OSError):  # what could not be written was told already
            self._file.close()
        if self._writer is not None:
            self._writer.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UserError(
                f"{self.path}: cannot be written ({error.strerror}); the last checkpoint, if there is one, is kept"
            ) from error

    def _line(self, values: dict[str, Any], left: float | None) -> str:
        now = time.monotonic()
        words = f"{values['words'] / 1e6:.2f} M" if values["words"] >= 1e6 else f"{values['words']:,}"
        parts = [f"step {values['step']:,}", f"{words} words", f"rate {values['rate']:.2g}"]
        if values["forward_sampled_loss"] is not None:
            parts.append(f"loss {values['forward_sampled_loss']:.3f} fwd {values['backward_sampled_loss']:.3f} bwd")
        if values["valid_forward_perplexity"] is not None:
            forward, backward = values["valid_forward_perplexity"], values["valid_backward_perplexity"]
            parts.append(f"validation perplexity {forward:.1f} fwd {backward:.1f} bwd")
        if self._words is not None and values["words"] > self._words:
            speed = (values["words"] - self._words) / (now - self._time)
            parts.append(f"{speed:,.0f} words/s")
            if left is not None:
                parts.append(f"{left * values['words'] / speed / 60:,.0f} min left")
        self._words, self._time = values["words"], now
        return " | ".join(parts)


def check_tensorboard() -> None:
    """See that TensorBoard's file can be written, before hours of training.

    Raises
    ------
    UserError
        If the package is missing.
    """
    if find_spec("tensorboard") is None:
        raise UserError("report.tensorboard needs the package tensorboard: pip install tensorboard")


def _tensorboard_writer(folder: Path) -> Any:
    check_tensorboard()
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder / "tensorboard"))
