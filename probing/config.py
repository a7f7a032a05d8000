"""The YAML of an experiment, as typed and checked models: what is not allowed is an error that names the key."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, SerializeAsAny, model_validator

from bilm.errors import UserError
from bilm.settings import Section, nearest, read_settings, refuse_unknown_keys
from probing.encoders import ENCODERS, EncoderConfig
from probing.probes import PROBES, ProbeConfig
from probing.report.published import COMPARISONS
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
        raise ValueError(f"unknown {key} {value[key]!r}: {nearest(str(value[key]), registry)}")
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
    refuse_unknown_keys(model, value)
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


def _published(name: str) -> str:
    if name and name not in COMPARISONS:
        raise ValueError(f"no published numbers are called {name!r}: {nearest(name, COMPARISONS)}")
    return name


def _percent(percent: float) -> float:
    if float(f"{percent:g}") != percent:
        raise ValueError(f"{percent!r} has more than six digits, which results do not show")
    return percent


def _folded(value: Any) -> Any:
    """Fold line ends and other white space into single spaces: a claim is one line of a table."""
    return " ".join(value.split()) if isinstance(value, str) else value


class BootstrapConfig(Section):
    """How intervals are made.

    Attributes
    ----------
    samples : int
        How often the sentences are drawn anew.
    confidence : float
    seed : int
    """

    samples: int = Field(default=10_000, ge=1, le=1_000_000, strict=True)
    confidence: float = Field(default=0.95, gt=0, lt=1)
    seed: int = Field(default=0, ge=0)


class Claim(Section):
    """That one view reads better than another.

    Attributes
    ----------
    says : str
        The claim in words.
    task, probe : str
    better, worse : str
        Views: "0", "1", ..., "mean", "concat", "mix".
    measure : {"score", "selectivity"}
        What is compared: the share of right answers, or what is left of it after the control task's (probe linear).
    encoder : str, optional
        The label of one network. All trained ones by default, each by itself.
    subset : str
        Of the test examples.
    family : str
        Claims of one family are corrected together for their number (Holm).
    """

    says: Annotated[str, BeforeValidator(_folded), Field(min_length=1)]
    task: str
    probe: str
    better: Annotated[str, BeforeValidator(str)]
    worse: Annotated[str, BeforeValidator(str)]
    measure: Literal["score", "selectivity"] = "score"
    encoder: str | None = None
    subset: str = "all"
    family: Annotated[str, BeforeValidator(_folded)] = ""


class ExperimentConfig(Section):
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
        What of the layers a probe sees: `layers` (each alone), a layer's number, `mean`, `concat`. The probe `mix` has
        views of its own.
    train_percent : list of numbers
        Shares of the training sentences on which every probe is fitted, in percent; below 100 the sentences are drawn.
    draws : int
        How often sentences are drawn, and a probe fitted, for a share below 100.
    bootstrap : BootstrapConfig
    claims : list of Claim
        What is to be tested; each gets a verdict in claims.csv and in the report.
    published : str
        The published numbers that the report sets ours beside: "" for none.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    question: Annotated[str, AfterValidator(_encodable)] = ""
    tasks: tuple[Annotated[SerializeAsAny[Task], BeforeValidator(_task)], ...] = Field(min_length=1)
    encoders: tuple[Annotated[SerializeAsAny[EncoderConfig], BeforeValidator(_encoder)], ...] = ()
    views: tuple[Annotated[str, BeforeValidator(_view)], ...] = Field(
        default=("layers", "mean", "concat"), min_length=1
    )
    probes: tuple[Annotated[SerializeAsAny[ProbeConfig], BeforeValidator(_probe)], ...] = Field(min_length=1)
    train_percent: tuple[Annotated[float, Field(gt=0, le=100), AfterValidator(_percent)], ...] = Field(
        default=(100,), min_length=1
    )
    draws: int = Field(default=3, ge=1, le=1000)
    bootstrap: BootstrapConfig = BootstrapConfig()
    claims: tuple[Claim, ...] = ()
    published: Annotated[str, AfterValidator(_published)] = ""

    @model_validator(mode="after")
    def _names_are_distinct(self) -> "ExperimentConfig":
        for what, names in (
            ("tasks", [task.name for task in self.tasks]),
            ("encoders", [encoder.label for encoder in self.encoders]),
            ("probes", [probe.probe for probe in self.probes]),
            ("train_percent", [f"{percent:g}" for percent in self.train_percent]),
        ):
            repeated = sorted({name for name in names if names.count(name) > 1})
            if repeated:
                raise ValueError(f"{what}: {repeated[0]!r} stands twice, so that its results could not be told apart")
        for probe in self.probes:
            if probe.after and probe.after not in {other.probe for other in self.probes}:
                raise ValueError(f"probes: {probe.probe} builds on {probe.after}, which must be among the probes too")
        if self.claims and 100 not in self.train_percent:
            raise ValueError("train_percent: claims are about all of the training data: 100 must be among them")
        if not self.encoders and any(probe.sees == "vectors" for probe in self.probes):
            raise ValueError("encoders: a probe that reads vectors needs at least one encoder")
        return self

    @model_validator(mode="after")
    def _claims_can_be_answered(self) -> "ExperimentConfig":
        for index, claim in enumerate(self.claims):
            for key, name, known in (
                ("task", claim.task, [task.name for task in self.tasks]),
                ("probe", claim.probe, [probe.probe for probe in self.probes]),
                ("encoder", claim.encoder, [encoder.label for encoder in self.encoders]),
            ):
                if name is not None and name not in known:
                    raise ValueError(f"claims.{index}.{key}: this experiment has no {name!r}: {nearest(name, known)}")
            probe = next(probe for probe in self.probes if probe.probe == claim.probe)
            if probe.sees != "vectors" or not probe.answers:
                kind = "reads no view" if probe.sees != "vectors" else "answers no example"
                raise ValueError(f"claims.{index}.probe: a claim compares answers by view: {claim.probe} {kind}")
            if claim.better == claim.worse:
                raise ValueError(f"claims.{index}: better and worse are the same view, {claim.better}")
            trained = [encoder.label for encoder in self.encoders if encoder.seeds == (None,)]
            if claim.encoder not in (*trained, None) or not trained:
                found = f"{claim.encoder} is not" if claim.encoder else "there is none"
                raise ValueError(f"claims.{index}.encoder: claims are about trained networks; {found}")
            if claim.measure == "selectivity" and claim.probe != "linear":
                raise ValueError(
                    f"claims.{index}.measure: selectivity is the probe linear's, not that of {claim.probe}"
                )
            if claim.measure == "selectivity" and "control" not in {probe.probe for probe in self.probes}:
                raise ValueError(f"claims.{index}.measure: selectivity needs the probe control among probes")
        return self


def load_experiment(path: Path, overrides: Sequence[str] = ()) -> ExperimentConfig:
    """Read a config.

    Parameters
    ----------
    path : Path
        YAML; read with a safe loader.
    overrides : sequence of str
        As in `bilm.settings.read_settings`.

    Raises
    ------
    ExperimentError
        If the file is missing, is no YAML, or has a key or value that is not allowed; each is named.
    """
    return read_settings(path, ExperimentConfig, overrides, error=ExperimentError)


def dump_experiment(config: ExperimentConfig) -> str:
    """Return the fully resolved config as YAML, defaults included."""
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=100)
