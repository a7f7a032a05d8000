"""The examples in docstrings give what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

import bilm
import probing

ROOTS = [Path(package.__file__).parent for package in (bilm, probing) if package.__file__]
MODULES = sorted(
    ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__")
    for root in ROOTS
    for path in root.rglob("*.py")
    if ">>>" in path.read_text(encoding="utf-8")
)


def test_where_users_look_first_there_are_examples() -> None:
    assert set(MODULES) >= {"bilm.characters", "bilm.elmo", "bilm.model", "probing.api"}


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_give_what_they_say(name: str, tmp_path: Path) -> None:
    failed, run = doctest.testmod(
        importlib.import_module(name),
        extraglobs={"folder": tmp_path},
        optionflags=doctest.NORMALIZE_WHITESPACE,
    )
    assert run > 0
    assert failed == 0, "see what doctest printed"
