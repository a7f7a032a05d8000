"""metrics.csv: whole rows, whatever happens to the file."""

import logging
import resource
from pathlib import Path

import pytest

from bilm.errors import UserError
from bilm.reports import COLUMNS, Reports, check_tensorboard

ROW: dict[str, float | int | None] = {**dict.fromkeys(COLUMNS), "step": 1, "words": 10, "epoch": 0, "rate": 0.5}
HEADER = ",".join(COLUMNS) + "\n"


def test_rows_that_the_checkpoint_does_not_know_are_cut_off(tmp_path: Path) -> None:
    reports = Reports(tmp_path, 0)
    length = reports.row(ROW, None)
    reports.row({**ROW, "step": 2}, None)
    reports.close()
    reports = Reports(tmp_path, length)
    assert reports.row({**ROW, "step": 3}, None) == 2 * length - len(HEADER)
    reports.close()
    assert (tmp_path / "metrics.csv").read_text(encoding="utf-8") == HEADER + "1,10,0,0.5,,,,,\n3,10,0,0.5,,,,,\n"


def test_a_new_run_starts_the_file_anew(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text("left by a run without a checkpoint\n", encoding="utf-8")
    Reports(tmp_path, 0).close()
    assert (tmp_path / "metrics.csv").read_text(encoding="utf-8") == HEADER


def test_a_file_that_someone_has_cut_is_not_filled_with_zeros(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        reports = Reports(tmp_path, 1000)
    reports.row(ROW, None)
    reports.close()
    assert "metrics.csv: rows are missing" in caplog.text
    assert (tmp_path / "metrics.csv").read_text(encoding="utf-8") == HEADER + "1,10,0,0.5,,,,,\n"


def test_a_full_disk_is_one_line_that_names_the_file(tmp_path: Path) -> None:
    reports = Reports(tmp_path, 0)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(HEADER), limits[1]))
    try:
        with pytest.raises(UserError, match=r"metrics\.csv: cannot be written .*checkpoint.*kept"):
            reports.row(ROW, None)
        reports.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_tensorboard_that_is_not_installed_is_told_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bilm.reports.find_spec", lambda name: None)
    with pytest.raises(UserError, match="pip install tensorboard"):
        check_tensorboard()
