from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bilm.errors import UserError
from probing.results import COLUMNS, Measured, measured, ordered_views, read_rows, select, trained_label, write_rows

HEADER = (
    "experiment,task,corpus,split,subset,encoder,encoder_seed,view,probe,seed,train_percent,metric,value,n,"
    "ci_low,ci_high"
)


def row(**changes: object) -> dict[str, object]:
    """One row of a toy experiment."""
    texts = ("toy", "pos-upos", "toy-corpus", "test", "all", "net", "", "1", "linear", "", "100", "accuracy")
    return dict(zip(COLUMNS, (*texts, 0.75, 4, 0.5, 1.0), strict=True)) | changes


def frame(*rows: dict[str, object]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(COLUMNS))


def test_a_row_is_written_as_exactly_these_bytes(tmp_path: Path) -> None:
    rows = frame(row(value=2 / 3), row(metric="l2_penalty", value=10.0, ci_low=np.nan, ci_high=np.nan, split="train"))
    write_rows(rows, tmp_path / "results.csv")
    assert (tmp_path / "results.csv").read_bytes().decode() == (
        f"{HEADER}\n"
        "toy,pos-upos,toy-corpus,test,all,net,,1,linear,,100,accuracy,0.666667,4,0.500000,1.000000\n"
        "toy,pos-upos,toy-corpus,train,all,net,,1,linear,,100,l2_penalty,10.000000,4,,\n"
    )


def test_rows_come_back_in_the_order_and_with_the_values_and_types_they_had(tmp_path: Path) -> None:
    rows = frame(row(view="2", value=0.25), row(view="0"), row(view="1", ci_low=np.nan, ci_high=np.nan, n=0))
    write_rows(rows, tmp_path / "results.csv")
    back = read_rows(tmp_path / "results.csv")
    pd.testing.assert_frame_equal(back, rows, check_dtype=False)
    assert [str(back[column].dtype) for column in ("value", "n", "ci_low")] == ["float64", "int64", "float64"]


@pytest.mark.parametrize("text", ["NA", "null", "None", "nan", "", '"', "a,b", "a\nb", " a ", "1e5", "Zürich"])
def test_a_text_that_looks_like_something_else_stays_that_text_P11(text: str, tmp_path: Path) -> None:
    write_rows(frame(row(encoder=text), row(corpus=text)), tmp_path / "results.csv")
    back = read_rows(tmp_path / "results.csv")
    assert back["encoder"].tolist() == [text, "net"]
    assert back["corpus"].tolist() == ["toy-corpus", text]


def test_a_penalty_smaller_than_six_decimals_is_not_rounded_to_nothing(tmp_path: Path) -> None:
    write_rows(frame(row(value=1e-7), row(value=0.0), row(value=3.1622776e-5)), tmp_path / "results.csv")
    assert read_rows(tmp_path / "results.csv")["value"].tolist() == [1e-7, 0.0, 3.16228e-5]


def test_no_rows_are_still_a_results_file(tmp_path: Path) -> None:
    write_rows(frame(), tmp_path / "results.csv")
    assert len(read_rows(tmp_path / "results.csv")) == 0


def test_writing_what_was_read_gives_the_same_bytes(tmp_path: Path) -> None:
    write_rows(frame(row(value=1 / 3), row(view="mean", ci_low=np.nan)), tmp_path / "a.csv")
    write_rows(read_rows(tmp_path / "a.csv"), tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_rows_that_cannot_be_written_leave_the_file_that_was_there(tmp_path: Path) -> None:
    write_rows(frame(row()), tmp_path / "results.csv")
    before = (tmp_path / "results.csv").read_bytes()
    with pytest.raises(ValueError, match="'encoder'"):
        write_rows(frame(row(encoder=None)), tmp_path / "results.csv")
    with pytest.raises(ValueError, match="columns"):
        write_rows(frame(row()).drop(columns="n"), tmp_path / "results.csv")
    assert (tmp_path / "results.csv").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["results.csv"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (HEADER.replace(",n,", ",") + "\n", "column 'n' is missing"),
        (HEADER + ",more\n", "its columns are"),
        ("", "column 'experiment' is missing"),
        (f"{HEADER}\n{'a,' * 12}0.5,4,,\n{'a,' * 12}half,4,,\n", "results.csv:3: value is 'half'"),
        (f"{HEADER}\n{'a,' * 12}0.5,4.5,,\n", "results.csv:2: n is '4.5'"),
        (f"{HEADER}\na,b\n", "results.csv:2: 2 fields"),
        (f"{HEADER}\n{'a,' * 20}\n", "results.csv:2: 21 fields"),
        ('"', "not a results file"),
    ],
)
def test_a_file_that_holds_no_results_is_named_in_the_error(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=r"results\.csv") as error:
        read_rows(tmp_path / "results.csv")
    assert message in str(error.value)


def test_a_file_that_is_missing_or_not_utf_8_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.csv: cannot be read \(No such file"):
        read_rows(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes(b"\xe9\n")
    with pytest.raises(UserError, match=r"latin\.csv: not a results file"):
        read_rows(tmp_path / "latin.csv")


def test_one_row_is_shown_with_its_interval_and_several_seeds_with_their_mean_and_range() -> None:
    rows = frame(*(row(encoder_seed=str(seed), value=value) for seed, value in enumerate((0.5, 0.75, 0.25))))
    assert measured(rows[:1]) == Measured(value=0.5, low=0.5, high=1.0, n=4, seeds=1)
    assert measured(rows) == Measured(value=0.5, low=0.25, high=0.75, n=4, seeds=3)


def test_a_cell_without_a_value_is_not_shown() -> None:
    assert measured(frame()) is None
    assert measured(frame(row(value=np.nan, n=0))) is None


def test_selected_rows_equal_all_that_is_wanted() -> None:
    rows = frame(row(), row(view="2"), row(view="2", split="dev"))
    assert select(rows, view="2", split="test").index.tolist() == [1]
    assert len(select(rows)) == 3


def test_layers_are_ordered_by_number_and_stand_before_the_views_of_all_layers() -> None:
    assert ordered_views(["mean", "10", "2", "", "concat", "0", "2"]) == ["0", "2", "10", "mean", "concat"]


def test_a_network_and_the_same_network_untrained_share_a_label() -> None:
    assert trained_label("net (untrained)") == trained_label("net") == "net"


def test_a_file_that_ends_within_a_number_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    write_rows(frame(row(), row()), path)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(UserError, match=r"results\.csv:3: the file is cut off in this line"):
        read_rows(path)
