"""Settings from YAML and overrides: what training configurations and experiments have in common."""

from pathlib import Path

import pytest

from bilm.errors import UserError
from bilm.settings import Section, check_settings, nearest, read_settings


class Part(Section):
    size: int
    name: str = "part"


class Whole(Section):
    title: str
    parts: tuple[Part, ...] = ()
    extra: Part | None = None


class WrongError(UserError):
    pass


GOOD = "title: toy\nparts: [{size: 1}, {size: 2}]\n"


def read(folder: Path, text: str, *overrides: str) -> Whole:
    path = folder / "toy.yaml"
    path.write_text(text, encoding="utf-8")
    return read_settings(path, Whole, overrides, error=WrongError)


def test_an_override_reaches_into_lists_makes_sections_and_is_read_as_yaml(tmp_path: Path) -> None:
    whole = read(tmp_path, GOOD, "parts.1.size=7", "extra.size=3", "extra.name=null-like", "title=a=b")
    assert whole == Whole(title="a=b", parts=(Part(size=1), Part(size=7)), extra=Part(size=3, name="null-like"))


def test_an_override_fills_a_section_that_the_file_leaves_empty(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD + "extra:\n", "extra.size=3").extra == Part(size=3)


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("title", "expected key.path=value"),
        ("=x", "expected key.path=value"),
        ("parts..size=1", "expected key.path=value"),
        ("parts.2.size=1", "parts is a list of 2, counted from 0: it has no 2"),
        ("parts.-1.size=1", "parts is a list of 2, counted from 0: it has no -1"),
        ("parts.x=1", "parts is a list of 2"),
        ("title.first=x", "title is a value, not a section"),
        ("parts.0.size.x=1", "parts.0.size is a value, not a section"),
        ("title=[x", "the value is not valid YAML"),
        ("extra={size: 1, size: 2}", "the key 'size' stands twice"),
    ],
)
def test_an_override_that_fits_nowhere_is_named(tmp_path: Path, override: str, told: str) -> None:
    with pytest.raises(WrongError) as caught:
        read(tmp_path, GOOD, override)
    assert str(caught.value).startswith(f"-o {override}: ") and told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (GOOD + "titel: x", ": titel: unknown key; did you mean title?"),
        ("title: toy\nparts: [{sise: 1}]", ": parts.0.sise: unknown key; did you mean size?"),
        (GOOD + "titel: x\nzzz: 1", ": titel: unknown key; did you mean title? (and 1 more)"),
        ("title: toy\nzzz: 1", ": zzz: unknown key; known here: title, parts, extra"),
        (GOOD + "title: again", ":3: not valid YAML: the key 'title' stands twice"),
        (GOOD + "extra: {size: 1, size: 1}", ":3: not valid YAML: the key 'size' stands twice"),
        (GOOD + "yes: 1", ":3: not valid YAML: the key True is no text"),
        ("title: [x", "not valid YAML"),
        ("parts: []", ": title: is missing"),
        ("title: toy\nparts: [3]", ": parts.0: expected keys and values, not 3"),
        ("title: on", ": title: Input should be a valid string, not True"),
        ("- a", ": expected keys such as title; found a list"),
        ("", ": expected keys such as title; found an empty file"),
    ],
)
def test_a_mistake_is_one_line_that_names_file_and_key(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(WrongError) as caught:
        read(tmp_path, text)
    assert told in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "toy.yaml")) and "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(WrongError, match=r"none\.yaml: cannot be read"):
        read_settings(tmp_path / "none.yaml", Whole, error=WrongError)
    (tmp_path / "latin.yaml").write_bytes(b"title: na\xefve")
    with pytest.raises(WrongError, match=r"latin\.yaml: not UTF-8 at byte 10"):
        read_settings(tmp_path / "latin.yaml", Whole, error=WrongError)


def test_the_nearest_name_is_offered_or_all_of_them() -> None:
    assert nearest("lniear", ["linear", "majority"]) == "did you mean linear?"
    assert nearest("x", ["linear", "majority"]) == "known here: linear, majority"


def test_settings_that_are_no_file_are_checked_and_changed_alike_and_left_as_they_were() -> None:
    values = {"title": "toy", "parts": [{"size": 1}]}
    whole = check_settings(values, Whole, ["parts.0.size=2"], source="mine")
    assert whole == Whole(title="toy", parts=(Part(size=2),))
    assert values == {"title": "toy", "parts": [{"size": 1}]}
    with pytest.raises(WrongError, match=r"^mine: titel: unknown key; did you mean title\?"):
        check_settings({"titel": "toy"}, Whole, source="mine", error=WrongError)
