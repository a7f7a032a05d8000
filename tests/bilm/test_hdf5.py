"""HDF5 on a full disk: an error in words, never a crash of the library."""

import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from bilm.hdf5 import hdf5_writer
from tests.probing.toy import save_network

WITH_A_LIMIT = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)  # no file may grow beyond that
from bilm.cli import main
main()
"""


def test_what_is_added_is_what_is_read(tmp_path: Path) -> None:
    arrays = {str(index): np.full((3, index, 2), index, dtype=np.float32) for index in range(4)}
    with hdf5_writer(tmp_path / "a.hdf5", libver="latest") as add:
        for name, array in arrays.items():
            add(name, array)
    with h5py.File(tmp_path / "a.hdf5") as file:
        assert {name: file[name][()].tolist() for name in file} == {n: array.tolist() for n, array in arrays.items()}


@pytest.mark.parametrize(
    ("command", "limit"), [("embed", 10), ("embed", 1_000), ("embed", 60_000), ("convert", 10), ("convert", 10_000)]
)
def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path, command: str, limit: int) -> None:
    network = save_network(tmp_path / "tiny")
    text = tmp_path / "text.txt"
    text.write_text("the goose sinks\n" * 300, encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    out = tmp_path / "out"
    words = ["embed", network, text, "--out", out] if command == "embed" else ["convert", network, out]
    line = [sys.executable, "-c", WITH_A_LIMIT, str(limit), *map(str, words)]
    run = subprocess.run(line, capture_output=True, encoding="utf-8", check=False)
    assert run.returncode == 1, run.stderr
    assert run.stderr.count("\n") == 1 and "cannot be written (File too large)" in run.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file() and network not in str(path)] == [text]
    assert sorted(path for path in tmp_path.iterdir() if path != out) == before
