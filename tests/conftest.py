"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of real corpora, or skip the test where there is none."""
    folder = os.environ.get("PROBING_DATA")
    if not folder:
        pytest.skip("PROBING_DATA is not set: real corpora are not here")
    path = Path(folder)
    if not path.is_dir():
        pytest.skip(f"PROBING_DATA={folder} is not a folder")
    return path.resolve()
