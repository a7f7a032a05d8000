"""Ctrl-C and SIGTERM as a wish that a long loop asks for, so that it can save first."""

import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

logger = logging.getLogger(__name__)


@contextmanager
def stop_requests() -> Iterator[Callable[[], bool]]:
    """Turn Ctrl-C and SIGTERM into a wish: what is given tells whether one has come. A second one stops at once."""
    received: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        received.append(number)
        logger.warning("stopping after this step (again to stop at once)")
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
