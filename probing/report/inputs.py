"""What a report is written from: the files of one results folder, read and checked."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import yaml
from pydantic import BaseModel, ValidationError

from bilm.errors import UserError
from bilm.settings import YAML_ERRORS
from probing.claims import Judged, read_claims
from probing.results import read_rows
from probing.statistics import CONFIDENCE, SAMPLES

_Model = TypeVar("_Model", bound=BaseModel)


class SplitFacts(BaseModel):
    """Size of a split, and a hash of its words, spans and labels."""

    sentences: int
    examples: int
    sha256: str


class TaskFacts(BaseModel):
    """The data of one task; splits by name, counts of labels by label."""

    corpus: str
    n_labels: int
    labels: list[str]
    splits: dict[str, SplitFacts]
    labels_not_in_train: dict[str, dict[str, int]]
    sentences_also_in_train: dict[str, int]


class EncoderFacts(BaseModel):
    """What identifies a network."""

    fingerprint: str
    n_layers: int
    dim: int
    layers: list[str]
    description: str = ""


class Environment(BaseModel):
    """environment.json: what the numbers were made from. Keys that the report does not show are allowed."""

    package: str
    python: str
    platform: str
    libraries: dict[str, str]
    data: dict[str, TaskFacts]
    encoders: dict[str, EncoderFacts]


class BootstrapSettings(BaseModel):
    """How intervals were made."""

    samples: int = SAMPLES
    confidence: float = CONFIDENCE


class Settings(BaseModel):
    """What the report tells of config.yaml, besides printing it; a resolved config has every default filled in."""

    question: str = ""
    published: str = ""
    bootstrap: BootstrapSettings = BootstrapSettings()
    probes: list[dict[str, Any]] = []

    def of_probe(self, name: str) -> dict[str, Any]:
        """Return the settings of the probe with that name; empty where the config does not tell."""
        return next((probe for probe in self.probes if probe.get("probe") == name), {})


@dataclass(frozen=True)
class Inputs:
    """What the files hold.

    Attributes
    ----------
    rows : DataFrame
        results.csv, see `probing.results`.
    config : str
        config.yaml as it stands.
    settings : Settings
    environment : Environment
    claims : list of Judged
        claims.csv; empty where there is none.
    """

    rows: pd.DataFrame
    config: str
    settings: Settings
    environment: Environment
    claims: list[Judged]

    @property
    def layer_names(self) -> dict[str, list[str]]:
        """The names of each network's layers."""
        return {label: facts.layers for label, facts in self.environment.encoders.items()}


def read_inputs(folder: Path) -> Inputs:
    """Read results.csv, config.yaml, environment.json and, where it is there, claims.csv from `folder`.

    Raises
    ------
    UserError
        If one is missing or is not what it should be; the message names the file.
    """
    rows = read_rows(folder / "results.csv")
    if rows.empty:
        raise UserError(f"{folder / 'results.csv'}: there are no rows to report")
    config = _text(folder / "config.yaml")
    try:
        settings = yaml.safe_load(config)
    except YAML_ERRORS as error:
        raise UserError(f"{folder / 'config.yaml'}: not valid YAML") from error
    try:
        environment = json.loads(_text(folder / "environment.json"))
    except json.JSONDecodeError as error:
        raise UserError(f"{folder / 'environment.json'}:{error.lineno}: not valid JSON: {error.msg}") from error
    except RecursionError as error:
        raise UserError(f"{folder / 'environment.json'}: not valid JSON: nested too deeply") from error
    return Inputs(
        rows,
        config,
        _checked(Settings, settings, folder / "config.yaml"),
        _checked(Environment, environment, folder / "environment.json"),
        read_claims(folder / "claims.csv"),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 at byte {error.start + 1}") from error


def _checked(model: type[_Model], value: Any, path: Path) -> _Model:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in fault["loc"])
        raise UserError(f"{path}: {key + ': ' if key else ''}{fault['msg']}") from error
