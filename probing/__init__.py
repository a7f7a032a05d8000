"""What does each layer of a language model know? Linear probes on frozen per-layer representations."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from probing.api import Result, run

__all__ = ["Result", "run"]


def __getattr__(name: str) -> Any:
    """Load `probing.api` when one of its names is asked for: PyTorch takes seconds."""
    if name in __all__:
        from probing import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
