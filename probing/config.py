"""The YAML of an experiment, as typed and checked models: what is not allowed is an error that names the key."""

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializeAsAny,
    ValidationError,
    model_validator,
)

from bilm.errors import UserError
from probing.encoders import ENCODERS, EncoderConfig
from probing.probes import PROBES, ProbeConfig
from probing.tasks import TASKS, Task


class ExperimentError(UserError):
    """A config that cannot be run; the message names the file, the key and what is allowed."""


_Model = TypeVar("_Model", bound=BaseModel)


def _task(value: Any) -> Any:
    return _one_of(TASKS, "task", value)


def _probe(value: Any) -> Any:
    return _one_of(PROBES, "probe", {"probe": value} if isinstance(value, str) else value)


def _one_of(registry: dict[str, Any], key: str, value: Any) -> Any:
    """Read an entry as the model that its `key` names."""
    if isinstance(value, BaseModel):
        return value
    if not isinstance(value, dict) or key not in value:
        raise ValueError(f"expected {{{key}: ...}} with one of {', '.join(registry)}")
    if not isinstance(value[key], str) or value[key] not in registry:
        raise ValueError(f"unknown {key} {value[key]!r}: {_nearest(str(value[key]), registry)}")
    return _read(registry[value[key]], value)


def _encoder(value: Any) -> Any:
    """Read an encoder as the model whose own key it has: `{bilm: ...}`."""
    if isinstance(value, BaseModel):
        return value
    kinds = [kind for kind in ENCODERS if isinstance(value, dict) and kind in value]
    if len(kinds) != 1:
        raise ValueError(f"expected {{KIND: MODEL, ...}} with one of {', '.join(ENCODERS)} as KIND")
    return _read(ENCODERS[kinds[0]], value)


def _read(model: type[_Model], value: dict[str, Any]) -> _Model:
    """Validate `value`, with the nearest key offered for one that the model does not have."""
    for key in value:
        if key not in model.model_fields:
            raise ValueError(f"unknown key {key!r}: {_nearest(str(key), model.model_fields)}")
    return model.model_validate(value)


def _view(value: Any) -> Any:
    """Read a view as text: YAML takes 0 for a number."""
    text = str(value)
    if text in ("layers", "mean", "concat"):
        return text
    if not (text.isascii() and text.isdecimal() and len(text) < 5) or isinstance(value, bool):
        raise ValueError(f"unknown view {text[:40]!r}: a layer's number, layers (each alone), mean or concat")
    return str(int(text))


def _encodable(text: str) -> str:
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError("has a lone surrogate, which no file can hold")
    return text


class BootstrapConfig(BaseModel):
    """How intervals are made.

    Attributes
    ----------
    samples : int
        How often the sentences are drawn anew.
    confidence : float
    seed : int
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    samples: int = Field(default=10_000, ge=1, le=1_000_000, strict=True)
    confidence: float = Field(default=0.95, gt=0, lt=1)
    seed: int = Field(default=0, ge=0)


class ExperimentConfig(BaseModel):
    """An experiment: every probe on every view of every encoder, for every task.

    Attributes
    ----------
    name : str
        Names the folder of the results.
    question : str
        What it is about, in a sentence: the report's first line.
    tasks, encoders, probes : lists
        See `probing ls`. A probe without settings of its own can be given by its name alone.
    views : list
        What of the layers a probe sees: `layers` (each alone), a layer's number, `mean`, `concat`.
    bootstrap : BootstrapConfig
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    question: Annotated[str, AfterValidator(_encodable)] = ""
    tasks: tuple[Annotated[SerializeAsAny[Task], BeforeValidator(_task)], ...] = Field(min_length=1)
    encoders: tuple[Annotated[SerializeAsAny[EncoderConfig], BeforeValidator(_encoder)], ...] = ()
    views: tuple[Annotated[str, BeforeValidator(_view)], ...] = Field(
        default=("layers", "mean", "concat"), min_length=1
    )
    probes: tuple[Annotated[SerializeAsAny[ProbeConfig], BeforeValidator(_probe)], ...] = Field(min_length=1)
    bootstrap: BootstrapConfig = BootstrapConfig()

    @model_validator(mode="after")
    def _names_are_distinct(self) -> "ExperimentConfig":
        for what, names in (
            ("tasks", [task.name for task in self.tasks]),
            ("encoders", [encoder.label for encoder in self.encoders]),
            ("probes", [probe.probe for probe in self.probes]),
        ):
            repeated = sorted({name for name in names if names.count(name) > 1})
            if repeated:
                raise ValueError(f"{what}: {repeated[0]!r} stands twice, so that its results could not be told apart")
        if not self.encoders and any(probe.sees == "vectors" for probe in self.probes):
            raise ValueError("encoders: a probe that reads vectors needs at least one encoder")
        return self


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


def load_experiment(path: Path, overrides: Sequence[str] = ()) -> ExperimentConfig:
    """Read a config.

    Parameters
    ----------
    path : Path
        YAML; read with a safe loader.
    overrides : sequence of str
        `key.path=value`, the value being YAML; `tasks.0.column=xpos` reaches into a list.

    Raises
    ------
    ExperimentError
        If the file is missing, is no YAML, or has a key or value that is not allowed; each is named.
    """
    try:
        document = _parse(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ExperimentError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise ExperimentError(f"{path}: not UTF-8 at byte {error.start + 1}") from error
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ExperimentError(f"{path}{line}: not valid YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # such as a date that does not exist
        raise ExperimentError(f"{path}: not valid YAML: {error}") from error
    if not isinstance(document, dict):
        raise ExperimentError(f"{path}: expected keys such as name, tasks, encoders, probes")
    for override in overrides:
        _apply(document, override)
    try:
        return _read(ExperimentConfig, document)
    except ValidationError as error:
        raise ExperimentError(f"{path}: {_explain(error)}") from error
    except ValueError as error:
        raise ExperimentError(f"{path}: {error}") from error


def dump_experiment(config: ExperimentConfig) -> str:
    """Return the fully resolved config as YAML, defaults included."""
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=100)


def _parse(text: str) -> Any:
    return yaml.load(text, _UniqueKeyLoader)


def _apply(document: dict[str, Any], override: str) -> None:
    """Set one key of the document from `key.path=value`."""
    path, equals, text = override.partition("=")
    if not equals or not path:
        raise ExperimentError(f"-o {override}: expected key.path=value")
    try:
        value = _parse(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ExperimentError(f"-o {override}: the value is not valid YAML") from error
    *parents, last = path.split(".")
    if any(key.startswith("-") for key in (*parents, last)):
        raise ExperimentError(f"-o {override}: lists count from 0")
    place: Any = document
    try:
        for key in parents:
            place = place[int(key)] if isinstance(place, list) else place.setdefault(key, {})
        place[int(last) if isinstance(place, list) else last] = value
    except (ValueError, IndexError, TypeError, AttributeError) as error:
        raise ExperimentError(f"-o {override}: the config has nothing at {path}") from error


def _explain(error: ValidationError) -> str:
    """Say the first fault in one line: the key, what is wrong, and what is allowed."""
    fault = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in fault["loc"])
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    if fault["type"] == "extra_forbidden":
        return f"unknown key {key}{more}"
    message = fault["msg"].removeprefix("Value error, ")
    return f"{key}: {message}{more}" if key else f"{message}{more}"


def _nearest(name: str, known: Any) -> str:
    """Offer the known names that are nearest, or all of them."""
    near = difflib.get_close_matches(name, list(known), n=2)
    return f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"
