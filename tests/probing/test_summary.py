"""What ends a run: a line for each verdict, a plain word where nothing beats chance, and the picture's place."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from probing.claims import Judged, write_claims
from probing.results import COLUMNS, write_rows
from probing.summary import at_chance, main_picture, summary, verdicts

CLAIM = Judged(
    "", "tags read better from layer 1 than from layer 2", "pos-upos", "toy", "small-en", "linear", "score", "all",
    "1", "2", 0.9835, 0.9804, 0.0031, 0.0011, 0.005, 0.001, 0.003, 0.002, 800, "supported",
)  # fmt: skip


def table(*changes: dict[str, Any]) -> pd.DataFrame:
    """Return rows of test scores of word senses; each of `changes` is a row."""
    common: dict[str, Any] = dict.fromkeys(COLUMNS, "") | {
        "experiment": "toy", "task": "homographs", "corpus": "toy", "split": "test", "subset": "all", "metric": "f1",
        "train_percent": "100", "n": 600,
    }  # fmt: skip
    return pd.DataFrame([common | change for change in changes], columns=list(COLUMNS))


def score(view: str, value: float, half: float = 0.04, **change: Any) -> dict[str, Any]:
    """Return a layer's score with an interval of `half` to each side."""
    about = {"view": view, "probe": "nearest", "encoder": "small-en"}
    return about | {"value": value, "ci_low": value - half, "ci_high": value + half} | change


BASELINE = score("", 0.5, encoder="", probe="most-frequent-sense")


def test_a_verdict_is_a_line_of_claim_difference_interval_and_p() -> None:
    assert list(verdicts([CLAIM])) == [
        "supported: tags read better from layer 1 than from layer 2, +0.31 points [+0.11, +0.50], p_holm 0.003"
    ]
    (line,) = verdicts([CLAIM._replace(p_holm=0.0001, verdict="refuted")])
    assert line.startswith("refuted: ") and line.endswith("p_holm < 0.001")


def test_networks_are_named_where_there_are_several() -> None:
    lines = list(verdicts([CLAIM, CLAIM._replace(encoder="mine")]))
    assert ["than from layer 2 (small-en), +" in lines[0], "than from layer 2 (mine), +" in lines[1]] == [True, True]


def test_where_no_layer_beats_the_most_frequent_sense_a_line_says_so() -> None:
    (line,) = at_chance(table(BASELINE, score("0", 0.49), score("1", 0.535), score("2", 0.52, probe="linear")))
    assert line == (
        "homographs (toy): no layer of small-en beats the most frequent sense (50.00 %): the best, layer 1 read by "
        "nearest, has F1 53.50 % [49.50, 57.50]. This model is too weak to tell layers apart on this task"
    )


@pytest.mark.parametrize(
    "rows",
    [
        [BASELINE, score("1", 0.51), score("2", 0.56)],  # one layer is above
        [BASELINE, score("1", 0.51), score("2", 0.56, probe="linear")],  # by another probe
        [score("1", 0.51)],  # no baseline: the task has no senses
        [BASELINE],  # nothing read a layer
    ],
)
def test_no_line_where_a_layer_beats_it_or_there_is_nothing_to_beat(rows: list[dict[str, Any]]) -> None:
    assert list(at_chance(table(*rows))) == []


@pytest.mark.parametrize(
    "change",
    [
        {"encoder": "small-en (untrained)", "encoder_seed": "0"},
        {"view": "mean"},
        {"split": "dev"},
        {"subset": "nouns"},
        {"train_percent": "10"},
        {"metric": "f1_macro"},
    ],
)
def test_only_a_trained_networks_layer_on_all_of_test_counts(change: dict[str, str]) -> None:
    rows = table(BASELINE, score("1", 0.51), score("2", 0.9) | change)
    assert len(list(at_chance(rows))) == 1


def test_each_network_is_judged_by_itself_and_the_first_sense_serves_without_the_most_frequent_one() -> None:
    first = BASELINE | {"probe": "first-sense"}
    lines = list(at_chance(table(first, score("1", 0.51), score("1", 0.9, encoder="good"))))
    assert len(lines) == 1 and "no layer of small-en beats the first sense (50.00 %)" in lines[0]


def test_a_folder_is_summed_up_in_verdicts_what_is_at_chance_and_the_picture(tmp_path: Path) -> None:
    write_rows(table(BASELINE, score("1", 0.51)), tmp_path / "results.csv")
    assert [line.partition(" ")[0] for line in summary(tmp_path)] == ["homographs"]
    write_claims([CLAIM], tmp_path / "claims.csv")
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "pos-toy-linear-layers.png").touch()
    assert [line.partition(" ")[0] for line in summary(tmp_path)] == ["supported:", "homographs", "picture:"]


def test_the_picture_of_all_tasks_goes_before_that_of_one(tmp_path: Path) -> None:
    assert main_picture(tmp_path) is None
    figures = tmp_path / "figures"
    figures.mkdir()
    (figures / "a-toy-linear-layers.png").touch()
    assert main_picture(tmp_path) == figures / "a-toy-linear-layers.png"
    (figures / "layers.png").touch()
    assert main_picture(tmp_path) == figures / "layers.png"
