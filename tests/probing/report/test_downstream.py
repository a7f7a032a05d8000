"""Synthetic rows of a downstream model: five seeds a condition, two tasks, four shares of train."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.container import ErrorbarContainer

from probing.report import page
from probing.report.document import Table, plain
from probing.report.downstream import conditions_table, fits_table, placement, shares_table, what_was_trained
from probing.report.page import write_report
from probing.report.series import downstream_probes
from probing.report.shares import sample_efficiency
from probing.results import COLUMNS
from probing.statistics import t_interval
from tests.probing.report.conftest import all_rows, baseline_rows, filled, one_row

HERE = ("pos-upos", "toy-corpus")
STEPS = (-0.002, -0.001, 0.0, 0.001, 0.002)
"""Of the five seeds: standard deviation 0.158 points."""


OURS = "92.00 (91.80–92.20) [91.85, 92.15]"
"""How five seeds around 0.92 are written, with the interval of 90 % that the config of `filled` asks for."""


def scores_of(view: str, mean: float, **more: Any) -> list[dict[str, Any]]:
    """Return the rows of five seeds around `mean` on test and 0.01 higher on dev, with intervals of 0.4 points."""
    common = {"half": 0.004} | more
    return [
        one_row(view, "bilstm", "accuracy", mean + higher + step, split=split, seed=str(seed), **common)
        for split, higher in (("dev", 0.01), ("test", 0.0))
        for seed, step in enumerate(STEPS)
    ]


def frame_of(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=list(COLUMNS))


def placed(*names: str) -> pd.DataFrame:
    """Return rows of conditions, each 0.01 above the one before it, and of a baseline."""
    rows = baseline_rows("majority", 0.4)
    for index, name in enumerate(names):
        rows += scores_of(name, 0.9 + 0.01 * index)
    return frame_of(*rows)


def line_of(table: Table, condition: str) -> dict[str, str]:
    (found,) = [row for row in table.rows if row[1] == condition]
    return dict(zip(table.header, map(plain, found), strict=True))


@pytest.fixture
def unsaved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "save", lambda figure, folder, stem: '<svg viewBox="0 0 1 1"></svg>')


def test_a_probe_is_a_downstream_model_where_its_views_are_no_layers_and_no_way_to_join_them() -> None:
    assert downstream_probes(all_rows()) == []
    assert downstream_probes(pd.concat([all_rows(), placed("none", "both lambda=1")])) == ["bilstm"]


def test_the_table_has_mean_deviation_and_both_intervals_of_each_condition() -> None:
    table = conditions_table(placed("none", "input", "output", "both"), *HERE, "bilstm")
    assert [row[1] for row in table.rows] == ["–", "none", "input", "output", "both"]
    low, high = t_interval([0.91 + step for step in STEPS])
    assert line_of(table, "input") == {
        "network": "net",
        "condition": "input",
        "seeds": "5",
        "dev (n = 2,000)": "92.00",
        "dev, SD": "0.16",
        "test (n = 2,000)": "91.00",
        "test, SD": "0.16",
        "test, seeds [95 %]": f"[{100 * low:.2f}, {100 * high:.2f}]",
        "test, sentences [95 %]": "[90.60, 91.40]",
        "test, less none": "+1.00",
    }
    assert (low, high) == pytest.approx((0.91 - 0.001963, 0.91 + 0.001963), abs=1e-6)
    assert line_of(table, "none")["test, less none"] == "–"
    baseline = line_of(table, "–")
    assert (baseline["network"], baseline["seeds"], baseline["test (n = 2,000)"]) == ("majority class", "–", "40.00")


def test_conditions_stay_in_the_order_of_the_config() -> None:
    names = ("none", "input top", "input 1", "input lambda=1", "input")
    assert [row[1] for row in conditions_table(placed(*names), *HERE, "bilstm").rows][1:] == list(names)


def test_one_seed_has_no_deviation_and_no_interval_of_a_mean() -> None:
    rows = frame_of(one_row("input", "bilstm", "accuracy", 0.9, half=0.01))
    line = line_of(conditions_table(rows, *HERE, "bilstm"), "input")
    assert list(line.values())[2:] == ["–", "–", "–", "90.00", "–", "–", "[89.00, 91.00]", "–"]


def test_models_trained_on_a_part_of_train_are_in_the_table_of_shares_alone() -> None:
    whole = placed("none", "input")
    rows = pd.concat([whole, frame_of(*scores_of("none", 0.6, train_percent="10"))])
    assert conditions_table(rows, *HERE, "bilstm") == conditions_table(whole, *HERE, "bilstm")
    assert shares_table(whole, *HERE, "bilstm") is None
    table = shares_table(rows, *HERE, "bilstm")
    assert table
    assert table.header == ("network", "condition", "10 %", "100 %")
    assert line_of(table, "none")["10 %"] == "60.00 (59.80–60.20) [59.80, 60.20]"
    assert line_of(table, "input")["10 %"] == "–"


@pytest.mark.usefixtures("unsaved")
def test_an_experiment_on_parts_of_train_alone_has_the_table_of_shares(tmp_path: Path) -> None:
    rows = [row for share in ("1", "10") for row in scores_of("none", 0.7, train_percent=share)]
    write_report(filled(frame_of(*rows), tmp_path))
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "| network | condition | 1 % | 10 % |" in text
    assert "by condition, in %, mean of the seeds" not in text
    assert "linear probe by view" not in text


def test_the_facts_of_the_fits_are_a_table_with_the_weights_of_each_mix() -> None:
    rows = placed("none", "input")
    assert fits_table(rows, *HERE, "bilstm") is None
    facts = {"epochs": 7.0, "input_weight_0": 0.25, "input_weight_1": 0.75, "l2_penalty": 0.1}
    more = [one_row("input", "bilstm", name, value, split="train") for name, value in facts.items()]
    more.append(one_row("none", "bilstm", "epochs", 9.0, split="train"))
    table = fits_table(pd.concat([rows, frame_of(*more)]), *HERE, "bilstm")
    assert table
    assert table.header == ("network", "condition", "epochs", "input weight 0", "input weight 1")
    assert table.rows == (("net", "input", "7", "0.250", "0.750"), ("net", "none", "9", "–", "–"))


def test_the_words_name_the_best_condition_beside_the_model_alone() -> None:
    assert what_was_trained(placed("none", "input", "output"), HERE[0], "bilstm") == (
        "A bilstm model was trained for universal parts of speech in each condition; the network's layers are frozen. "
        "With net, output has the highest test score: 92.00 % as the mean of 5 seeds; none has 90.00 % as the mean of "
        "5 seeds."
    )


def test_the_figure_has_a_dot_for_each_seed_and_beside_them_their_mean_with_student_s_interval() -> None:
    found = placement(placed("none", "input"))
    assert found
    (axes,) = found.figure.axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["none", "input"]
    dots = [np.asarray(line.get_ydata()) for line in axes.lines if line.get_label() == "one seed"]
    assert dots == [pytest.approx([mean + 100 * step for step in STEPS]) for mean in (90, 91)]
    means = [line for line in axes.lines if line.get_label() == "net"]
    assert [float(np.asarray(line.get_ydata())[0]) for line in means] == pytest.approx([90, 91])
    bars = [one for one in axes.containers if isinstance(one, ErrorbarContainer)]
    ends = [segment[:, 1] for bar in bars for segment in bar.lines[2][0].get_segments()]
    expected = [100 * np.array(t_interval([mean + step for step in STEPS])) for mean in (0.90, 0.91)]
    np.testing.assert_allclose(ends, expected)
    for dotted, mean in zip((line for line in axes.lines if line.get_label() == "one seed"), means, strict=True):
        assert np.asarray(dotted.get_xdata()).max() < np.asarray(mean.get_xdata()).min(), "nothing covers a dot"
    assert "net: none 90.0, input 91.0" in found.told


def test_each_task_has_a_panel_and_layers_alone_have_no_such_figure(rows: pd.DataFrame) -> None:
    assert placement(rows) is None
    both = pd.concat([placed("none", "input"), placed("none", "input").assign(task="subjectivity")])
    found = placement(both)
    assert found
    titles = [axes.get_title(loc="left").split("\n")[0] for axes in found.figure.axes]
    assert titles == ["Universal parts of speech, bilstm", "Subjectivity, bilstm"]


def test_conditions_over_shares_of_train_are_lines_with_the_range_of_seeds() -> None:
    rows = placed("none", "input", "both")
    for share, lower in (("0.1", 0.4), ("1", 0.2), ("10", 0.1)):
        rows = pd.concat(
            [rows, *(frame_of(*scores_of(name, 0.9 - lower, train_percent=share)) for name in ("none", "input"))]
        )
    found = sample_efficiency(rows)
    assert found
    (axes,) = found.figure.axes
    assert [line.get_label() for line in axes.lines] == ["none", "input"], "both was trained on all of train alone"
    assert [line.get_linestyle() for line in axes.lines] == ["--", "-"]
    assert np.asarray(axes.lines[1].get_xydata()) == pytest.approx(np.array([[0.1, 50], [1, 70], [10, 80], [100, 91]]))
    assert axes.get_xscale() == "log"
    assert "several seeds" in " ".join(text.get_text() for text in found.figure.texts)


@pytest.mark.usefixtures("unsaved")
def test_a_downstream_model_beside_probes_changes_nothing_of_what_the_report_says_of_them(tmp_path: Path) -> None:
    texts = []
    for name, rows in (("alone", all_rows()), ("beside", pd.concat([all_rows(), placed("none", "input")]))):
        (tmp_path / name).mkdir()
        write_report(filled(rows, tmp_path / name))
        texts.append((tmp_path / name / "report.md").read_text(encoding="utf-8"))
    alone, beside = texts
    kept = [line for line in alone.split("\n") if line.startswith("| net")]
    assert kept
    assert [line for line in beside.split("\n") if line in kept] == kept
    assert "figures/placement.png" in beside
    assert "figures/pos-upos-toy-corpus-bilstm-layers.png" not in beside
    assert "scores of the bilstm model by condition" in beside
    assert "**Downstream model**" in beside
    assert "Downstream model" not in alone


@pytest.mark.usefixtures("unsaved")
@pytest.mark.parametrize(
    ("key", "names", "line"),
    [
        (
            "table2-regularisation",
            ("none", "both top"),
            f"| last layer only | both top | {OURS} | 84.7 | 89.1 | 84.1 |",
        ),
        ("table2-regularisation", ("none", "input lambda=0.001"), f"λ = 0.001 | input lambda=0.001 | {OURS} | 85.2 |"),
        (
            "table2-regularisation",
            ("none", "input"),
            f"| all layers, λ = 0.001 | input | {OURS} | 85.2 | 89.5 | 84.8 |",
        ),
        ("table2-regularisation", ("none", "input"), "| all layers, λ = 1 | – | – | 85.0 | 89.3 | 84.6 |"),
        ("table3-placement", ("none", "output"), f"| output only | output | {OURS} | 84.8 | 88.7 | 80.9 |"),
        ("table3-placement", ("none", "input top"), f"| – | input top | {OURS} | – | – | – |"),
        ("table3-placement", ("none", "input top"), "| input only | – | – | 85.1 | 88.9 | 84.7 |"),
    ],
)
def test_the_paper_s_settings_stand_beside_the_conditions_that_they_are_like(
    key: str, names: tuple[str, ...], line: str, tmp_path: Path
) -> None:
    folder = filled(placed(*names), tmp_path)
    with (folder / "config.yaml").open("a", encoding="utf-8") as file:
        file.write(f"published: {key}\n")
    write_report(folder)
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert line in text
    assert "Digits cannot be compared; only the direction can" in text
