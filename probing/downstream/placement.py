"""Where a downstream model takes ELMo in, and which layers: the conditions of Peters et al. 2018, Tables 2 and 3."""

import math
import re
from typing import NamedTuple

_PATTERN = re.compile(r"(none|input|output|both)(?: (top|[0-9]{1,3}))?(?: lambda=([0-9.e+-]{1,12}))?", re.ASCII)
DEFAULT_PENALTY = 0.001
"""The paper's lambda for a mix that is free to move."""


class Placement(NamedTuple):
    """One condition.

    Attributes
    ----------
    at_input : bool
        Whether ELMo stands beside the word vectors that the BiLSTM reads.
    at_output : bool
        Whether ELMo stands beside what the BiLSTM gives; its mix is another one than that at the input.
    layer : int or None
        The one layer that is taken, -1 for the top one; None for a learned mix of all layers.
    penalty : float
        The mix penalty lambda.
    """

    at_input: bool
    at_output: bool
    layer: int | None
    penalty: float


def parse_placement(text: str) -> Placement:
    """Read a condition: `PLACE [top | LAYER] [lambda=X]`.

    Parameters
    ----------
    text : str
        PLACE is none, input, output or both. Then the last layer alone ("top") or another one by its number, or all
        layers with the mix penalty X, 0.001 unless it is given.

    Raises
    ------
    ValueError
        If it is none of these.
    """
    found = _PATTERN.fullmatch(text)
    if not found:
        raise ValueError(
            f"unknown placement {text[:40]!r}: none, input, output or both; then, of one layer, top or its number, "
            'or, of the mix of all layers, lambda=X, as in "input", "input top", "both lambda=1"'
        )
    place, layer, penalty = found.groups()
    if (layer or penalty) and place == "none":
        raise ValueError(f"{text!r}: where there is no ELMo, there are no layers to choose")
    if layer and penalty:
        raise ValueError(f"{text!r}: one layer has no mix whose weights could be penalised")
    strength = DEFAULT_PENALTY if penalty is None else _number(penalty)
    if not 0 <= strength < math.inf:
        raise ValueError(f"{text!r}: lambda is a number of 0 or more, not {penalty!r}")
    return Placement(
        at_input=place in ("input", "both"),
        at_output=place in ("output", "both"),
        layer=None if layer is None else -1 if layer == "top" else int(layer),
        penalty=strength,
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
