"""Write docs/config.md: every key of every config, its type, its default and what it is, read from the models.

Files of examples that a page includes (`<!-- file PATH -->`) are copied into it too.

Types and defaults are those of the pydantic models; what a key is comes from the attribute list of its class's
docstring, or of a class that it inherits from. `python docs/generate.py` writes the pages; a test compares them.
"""

import inspect
import re
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from bilm.training_config import TrainingConfig
from probing.config import ExperimentConfig
from probing.encoders import ENCODERS, EncoderConfig
from probing.probes import PROBES, ProbeConfig
from probing.tasks import TASKS, Task

FOLDER = Path(__file__).parent
_INCLUDED = re.compile(r"(?P<mark><!-- file (?P<path>\S+) -->\n)(\n```python\n.*?\n```\n)?", re.DOTALL)

_INTRODUCTION = """\
<!-- Made by `python docs/generate.py` from the models in the code. Do not edit: a test compares it with them. -->

# Every key of a config

Configs are YAML. `-o key.path=value` changes a key on the command line: `-o bootstrap.samples=2000`, and
`-o tasks.0.column=xpos` for a place in a list, counted from 0. The value is YAML too. An unknown key, a wrong type or
a missing key is an error that names the file, the key and what is allowed. The fully resolved config, every default
filled in, is saved as `config.yaml` beside the results.

A default of *required* means that the key must be given. A key with the default `null` may be left out.
"""
_BASES: dict[type[BaseModel], str] = {
    Task: "[task](#tasks)",
    EncoderConfig: "[encoder](#encoders)",
    ProbeConfig: "[probe](#probes)",
}
_WORDS: dict[Any, str] = {Path: "path", str: "text", int: "whole number", float: "number", bool: "true or false"}
_BOUNDS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
_ABOVE_ALL = 2**31
"""A bound that only keeps a number within the machine's own is not worth a word."""
_MEANINGS = {
    "ExperimentConfig.tasks": "What is to be read from the layers: see [tasks](#tasks).",
    "ExperimentConfig.encoders": "The frozen networks: see [encoders](#encoders).",
    "ExperimentConfig.probes": "What reads them: see [probes](#probes).",
    "ExperimentConfig.bootstrap": "How intervals are made.",
    "BootstrapConfig.confidence": "The share of the draws that an interval encloses.",
    "BootstrapConfig.seed": "Of the draws: the same seed gives the same intervals.",
    "Claim.task": "The task's name in results, such as `pos-upos`.",
    "Claim.probe": "The probe whose answers are compared.",
    "TrainingConfig.name": "What the run is called.",
    "TrainingConfig.text": "What is read.",
    "TrainingConfig.vocabulary": "The words that are predicted.",
    "TrainingConfig.network": "The shape of a network with random weights: a section, or the name of a released shape, "
    "such as `elmo-small`. Either this or `start` is given.",
    "TrainingConfig.optimizer": "How a step is made of a gradient.",
    "TrainingConfig.stop": "When training ends.",
    "TrainingConfig.report": "What is written down, and how often.",
    "TrainingConfig.seed": "Draws the first weights, the order of sentences, the sampled words and dropout.",
    "TrainingConfig.precision": "`bfloat16`: for the matrix products outside the recurrence; all else stays float32.",
    "VocabularyConfig.file": "One word a line, the most frequent first. Without it, words are counted.",
    "VocabularyConfig.size": "At most so many words are kept.",
    "VocabularyConfig.min_count": "Rarer words are left out.",
    "NetworkConfig.char_cnn": "The token encoder.",
    "NetworkConfig.lstm": "The LSTM layers, in both directions.",
    "CharacterEmbeddingConfig.dim": "Width of a byte's vector.",
    "LSTMConfig.n_layers": "LSTM layers in each direction.",
    "OptimizerConfig.name": "The method.",
    "OptimizerConfig.betas": "AdamW's.",
    "OptimizerConfig.epsilon": "AdamW's.",
    "OptimizerConfig.weight_decay": "AdamW's.",
    "OptimizerConfig.initial_accumulator": "Adagrad's.",
    "OptimizerConfig.dropout": "The share of inputs that a layer drops in training.",
    "StopConfig.epochs": "After so many passes over the text.",
    "StopConfig.words": "After so many words.",
    "StopConfig.minutes": "After so much time.",
    "*.max_iterations": "After so many steps of the solver, a fit ends even if it is further from its minimum.",
}
"""What a key is, where no docstring says it."""


def pages() -> dict[Path, str]:
    """Return what each page that is made, wholly or in part, should say."""
    made = {FOLDER / "config.md": config_page()}
    for path in sorted(FOLDER.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if path not in made and _INCLUDED.search(text):
            made[path] = _INCLUDED.sub(_include, text)
    return made


def _include(match: re.Match[str]) -> str:
    code = (FOLDER / match["path"]).read_text(encoding="utf-8")
    return f"{match['mark']}\n```python\n{code}```\n"


def config_page() -> str:
    """Return the page of all keys."""
    parts = [_INTRODUCTION, "## An experiment: `probing run`\n"]
    parts += [_section(model, level=3) for model in _reachable(ExperimentConfig)]
    for title, key, models in (
        ("Tasks", "task", TASKS),
        ("Encoders", "", ENCODERS),
        ("Probes", "probe", PROBES),
    ):
        parts.append(f"## {title}\n")
        if title == "Probes":
            parts.append("A probe can be given by its name alone: `probes: [majority, linear]`.\n")
        for name, model in models.items():
            heading = f"`{key}: {name}`" if key else f"`{name}: ...`"
            parts.append(_section(model, level=3, heading=heading, leave_out=key))
    parts.append("## A training run: `bilm train`\n")
    parts += [_section(model, level=3) for model in _reachable(TrainingConfig)]
    return "\n".join(parts)


def _reachable(model: type[BaseModel]) -> list[type[BaseModel]]:
    """Return the model and the sections that its keys hold, in the order in which they are met."""
    found = [model]
    for one in found:  # grows while it is gone through
        for field in one.model_fields.values():
            found += [part for part in _models(field.annotation) if part not in found and part not in _BASES]
    return found


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def _section(model: type[BaseModel], level: int, heading: str = "", leave_out: str = "") -> str:
    """Return a heading, the first paragraph of the docstring, and a table of the keys."""
    fields = {name: field for name, field in model.model_fields.items() if name != leave_out}
    first = inspect.cleandoc(model.__doc__ or "").partition("\n\n")[0]
    lines = [f"{'#' * level} {heading or model.__name__}", "", " ".join(first.split()), ""]
    if not fields:
        return "\n".join([*lines, "No keys of its own.", ""])
    meanings = _meanings(model)
    lines += ["| key | type | default | what it is |", "|---|---|---|---|"]
    for name, field in fields.items():
        cells = (f"`{name}`", _type(field.annotation, field.metadata), _default(field), meanings.get(name, ""))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*lines, ""])


def _meanings(model: type[BaseModel]) -> dict[str, str]:
    """Return what the docstrings say of each attribute; a class's own words go before those that it inherits."""
    found: dict[str, str] = {}
    for one in reversed(model.__mro__):
        _, _, attributes = inspect.cleandoc(one.__dict__.get("__doc__") or "").partition("Attributes\n----------\n")
        attributes = re.split(r"\n\n\S+\n-+\n", attributes)[0]
        for entry in re.split(r"\n(?=\S)", attributes):
            head, _, body = entry.partition("\n")
            names, _, kind = head.partition(" : ")
            text = " ".join(body.split())
            if not text and kind.startswith("glob"):  # words, where others have a type that the next column has too
                text = f"G{kind[1:]}."
            shared = names.split(", ") if text else []
            found |= dict.fromkeys(shared, text)
    own = {
        key.partition(".")[2]: text for key, text in _MEANINGS.items() if key.startswith((f"{model.__name__}.", "*."))
    }
    return found | own


def _type(annotation: Any, metadata: Sequence[Any] = ()) -> str:
    """Say a type in words, with the bounds that pydantic checks."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(arguments[0], [*arguments[1:], *metadata])
    if hasattr(annotation, "__metadata__"):  # what pydantic wraps, such as SerializeAsAny
        return _type(annotation.__origin__, [*annotation.__metadata__, *metadata])
    checks = [part for one in metadata for part in (one.metadata if isinstance(one, FieldInfo) else [one])]
    bounds = [
        f"{sign} {getattr(one, name):,.10g}"
        for one in checks
        for name, sign in _BOUNDS.items()
        if hasattr(one, name) and abs(getattr(one, name)) < _ABOVE_ALL
    ]
    if origin in (Union, types.UnionType):
        text = " or ".join("null" if one is type(None) else _type(one) for one in arguments)
    elif origin is Literal:
        text = ", ".join(f"`{_yaml(value)}`" for value in arguments)
    elif origin is tuple and arguments[-1] is ...:
        text = f"list of: {_type(arguments[0])}"
    elif origin is tuple:
        text = f"[{', '.join(_type(one) for one in arguments)}]"
    elif origin is dict:
        text = "mapping"
    elif annotation in _BASES:
        text = _BASES[annotation]
    elif inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        text = f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    else:
        text = _WORDS[annotation]
    return text + ", ".join(bounds and ["", *bounds])


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "*required*"
    if isinstance(field.default, BaseModel):
        return "its keys' defaults"
    return f"`{_yaml(to_jsonable_python(field.default))}`"


def _yaml(value: Any) -> str:
    """Write a value as it would stand in a config."""
    text = yaml.safe_dump([value], default_flow_style=True, width=10_000).strip()
    return text[1:-1]


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8", newline="\n")
