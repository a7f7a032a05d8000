"""Where ELMo is added: the conditions that a config may name."""

import pytest

from probing.downstream.placement import Placement, parse_placement


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none", Placement(False, False, None, 0.001)),
        ("input", Placement(True, False, None, 0.001)),
        ("output", Placement(False, True, None, 0.001)),
        ("both", Placement(True, True, None, 0.001)),
        ("input top", Placement(True, False, -1, 0.001)),
        ("both 1", Placement(True, True, 1, 0.001)),
        ("output lambda=1", Placement(False, True, None, 1.0)),
        ("input lambda=1e-5", Placement(True, False, None, 1e-5)),
    ],
)
def test_a_condition_says_place_layers_and_penalty(text: str, expected: Placement) -> None:
    assert parse_placement(text) == expected


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("inside", "unknown placement 'inside': none, input, output or both"),
        ("input  top", "unknown placement"),
        ("none top", "where there is no ELMo, there are no layers to choose"),
        ("input top lambda=1", "one layer has no mix"),
        ("input lambda=1.2.3", "lambda is a number of 0 or more, not '1.2.3'"),
        ("input lambda=-1", "lambda is a number of 0 or more, not '-1'"),
        ("input lambda=1e999", "lambda is a number of 0 or more, not '1e999'"),
    ],
)
def test_what_is_no_condition_is_refused_with_what_is_allowed(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint.replace("(", r"\(")):
        parse_placement(text)
