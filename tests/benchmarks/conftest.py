"""Benchmarks run only where they are asked for: `pytest -m benchmark -s`."""

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "benchmark" not in str(config.getoption("-m")):
        for item in items:
            if item.get_closest_marker("benchmark"):
                item.add_marker(pytest.mark.skip(reason="a benchmark: run with -m benchmark -s"))
