"""Settings from a YAML file and `-o key.path=value`, read into pydantic models: every mistake is one line.

The line names the file (or the override), the key and what is allowed there. The schemas themselves are elsewhere:
`bilm.training_config` for a training run, `probing.config` for an experiment.
"""

import copy
import difflib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from bilm.errors import UserError

Seed = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
"""What a random number generator starts from."""

_Model = TypeVar("_Model", bound=BaseModel)


class Section(BaseModel):
    """Some keys that belong together: frozen, and a key that is not among them is an error that offers the nearest."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _known_keys_only(cls, values: Any) -> Any:
        if isinstance(values, Mapping):
            refuse_unknown_keys(cls, values)
        return values


def refuse_unknown_keys(model: type[BaseModel], values: Mapping[str, Any]) -> None:
    """See that `model` has every key of `values`.

    Raises
    ------
    ValidationError
        That names each unknown key and offers the nearest one; inside a validator it becomes part of the whole error.
    """
    faults = [
        InitErrorDetails(
            type=PydanticCustomError("unknown_key", "unknown key; {hint}", {"hint": nearest(key, model.model_fields)}),
            loc=(key,),
            input=value,
        )
        for key, value in values.items()
        if key not in model.model_fields
    ]
    if faults:
        raise ValidationError.from_exception_data(model.__name__, faults)


def nearest(name: str, known: Iterable[str]) -> str:
    """Offer the known name that is nearest, or all of them."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]}?" if close else f"known here: {', '.join(names)}"


def read_settings(
    path: Path, model: type[_Model], overrides: Sequence[str] = (), *, error: type[UserError] = UserError
) -> _Model:
    """Read a YAML file, apply overrides, and check the result against a model.

    Parameters
    ----------
    path : Path
        Read with a safe loader; a key that stands twice is refused.
    model : pydantic model
        Its keys are the top level's.
    overrides : sequence of str
        `key.path=value`, the value being YAML; `tasks.0.column=xpos` reaches into a list. Missing sections are made.
    error : type of exception
        What is raised.

    Raises
    ------
    `error`
        One line.
    """
    try:
        values = _parse(path.read_text(encoding="utf-8-sig"))
    except OSError as caught:
        raise error(f"{path}: cannot be read ({caught.strerror})") from caught
    except UnicodeDecodeError as caught:
        raise error(f"{path}: not UTF-8 at byte {caught.start + 1}") from caught
    except YAML_ERRORS as caught:
        raise error(f"{path}{_line(caught)}: not valid YAML: {_problem(caught)}") from caught
    if not isinstance(values, dict):
        required = [name for name, field in model.model_fields.items() if field.is_required()]
        found = "an empty file" if values is None else f"a {type(values).__name__}"
        raise error(f"{path}: expected keys such as {', '.join(required)}; found {found}")
    return check_settings(values, model, overrides, source=str(path), error=error)


def check_settings(
    values: Mapping[str, Any],
    model: type[_Model],
    overrides: Sequence[str] = (),
    *,
    source: str,
    error: type[UserError] = UserError,
) -> _Model:
    """Apply overrides to settings that are not from a file, and check them against a model.

    Parameters and errors are those of `read_settings`; `source` is what messages call `values`, which are left as they
    are.
    """
    changed = copy.deepcopy(dict(values))
    for override in overrides:
        try:
            _apply(changed, override)
        except _OverrideError as caught:
            raise error(f"-o {override}: {caught}") from caught
    try:
        return model.model_validate(changed)
    except ValidationError as caught:
        raise error(f"{source}: {_explain(caught)}") from caught


class _UniqueKeyLoader(yaml.SafeLoader):
    """A safe loader that refuses a key that stands twice, where YAML would let the last one win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":  # `<<: *anchor`, which the safe loader resolves
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} is no text", key_node.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


YAML_ERRORS = (yaml.YAMLError, ValueError, RecursionError)
"""Beside its own errors YAML lets through those of Python, for a date that does not exist, for example."""


class _OverrideError(Exception):
    """What is wrong with an override, without its text."""


def _parse(text: str) -> Any:
    return yaml.load(text, _UniqueKeyLoader)


def _line(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    return f":{mark.line + 1}" if mark else ""


def _problem(error: Exception) -> str:
    return " ".join(str(getattr(error, "problem", None) or error).split())


def _apply(values: dict[str, Any], override: str) -> None:
    """Set one key from `key.path=value`."""
    path, equals, text = override.partition("=")
    keys = path.split(".")
    if not equals or not all(keys):
        raise _OverrideError("expected key.path=value")
    try:
        value = _parse(text)
    except YAML_ERRORS as error:
        raise _OverrideError(f"the value is not valid YAML ({_problem(error)})") from error
    place: Any = values
    for depth, key in enumerate(keys):
        index = _place_in(place, key, ".".join(keys[:depth]))
        if depth == len(keys) - 1:
            place[index] = value
        else:
            if isinstance(place, dict) and place.get(key) is None:
                place[key] = {}
            place = place[index]


def _place_in(place: Any, key: str, name: str) -> str | int:
    """Return what `place`, which is called `name`, is to be indexed with."""
    if isinstance(place, dict):
        return key
    if not isinstance(place, list):
        raise _OverrideError(f"{name} is a value, not a section")
    if not (key.isascii() and key.isdecimal() and len(key) < 10 and int(key) < len(place)):
        raise _OverrideError(f"{name} is a list of {len(place)}, counted from 0: it has no {key}")
    return int(key)


def _explain(error: ValidationError) -> str:
    """Say the first fault: the key, what is wrong, and what is allowed."""
    fault = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in fault["loc"])
    message = fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "missing":
        message = "is missing"
    elif fault["type"] == "model_type":  # pydantic's words would name a class
        message = f"expected keys and values, not {fault['input']!r}"
    elif fault["type"].endswith("_type"):  # YAML reads `on` as true: only the value tells what happened
        message += f", not {repr(fault['input'])[:80]}"
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{key}: {message}{more}" if key else f"{message}{more}"
