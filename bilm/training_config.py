"""The YAML file of a training run, as pydantic models: an unknown key or a wrong type is named, with the remedy."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, ValidationError, model_validator

from bilm.config import ARCHITECTURES, BiLMConfig, CharCNNConfig, LSTMConfig
from bilm.errors import UserError


class TrainingConfigError(UserError):
    """A training configuration that cannot be used; the message names file and key."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TextConfig(_Section):
    """What is read.

    Attributes
    ----------
    train : glob pattern(s) of text shards
    valid : glob pattern(s), optional
        Held-out text for exact validation perplexity.
    regime : {"sentences", "stream"}
        "sentences": each alone from the zero state, batches of like length. "stream": `rows` endless streams of
        sentences, `unroll_steps` steps at a time, the state carried on, as in the reference code.
    words_per_step : int
        Words of one step of the optimizer under "sentences".
    rows, unroll_steps : int
        Shape of one step under "stream".
    window_words : int
        Words that are held in memory and shuffled.
    max_sentence_words : int
        Longer lines are cut.
    """

    train: str | tuple[str, ...]
    valid: str | tuple[str, ...] | None = None
    regime: Literal["sentences", "stream"] = "sentences"
    words_per_step: PositiveInt = 1000
    rows: PositiveInt = 128
    unroll_steps: PositiveInt = 20
    window_words: PositiveInt = 1_000_000
    max_sentence_words: PositiveInt = 400


class VocabularyConfig(_Section):
    """The words that the model predicts: a file (most frequent first), or counted from the training text."""

    file: Path | None = None
    size: PositiveInt = 25_000
    min_count: PositiveInt = 1


class NetworkConfig(_Section):
    """A network's shape, as in `options.json`."""

    char_cnn: CharCNNConfig
    lstm: LSTMConfig


class OptimizerConfig(_Section):
    """How a step is made of a gradient.

    Attributes
    ----------
    name : {"adamw", "adagrad"}
    rate : float
        The highest learning rate.
    betas, weight_decay, epsilon : AdamW's
    initial_accumulator : Adagrad's
    warmup_steps : int
        The rate rises linearly from 0 over so many steps.
    schedule : {"constant", "cosine"}
        After the warm-up: constant, or a half cosine to 0 at the end of training.
    decay_words : int
        The rate falls linearly to 0 over the last so many words before the end.
    clip_norm : float, optional
        Bound on the norm of all gradients together.
    loss_scale : float
        Multiplies the loss before the gradient is clipped; the reference code has 20 here (its unroll steps).
    dropout : float
    accumulate : int
        A step's batch is cut into so many parts, one after the other in memory.
    """

    name: Literal["adamw", "adagrad"] = "adamw"
    rate: PositiveFloat = 0.004
    betas: tuple[float, float] = (0.9, 0.98)
    epsilon: PositiveFloat = 1e-8
    weight_decay: float = Field(default=0.0, ge=0)
    initial_accumulator: float = Field(default=1.0, ge=0)
    warmup_steps: int = Field(default=300, ge=0)
    schedule: Literal["constant", "cosine"] = "constant"
    decay_words: int = Field(default=0, ge=0)
    clip_norm: PositiveFloat | None = 1.0
    loss_scale: PositiveFloat = 1.0
    dropout: float = Field(default=0.0, ge=0, lt=1)
    accumulate: PositiveInt = 1


class StopConfig(_Section):
    """When training ends: at the first of these that is reached."""

    epochs: PositiveInt | None = None
    words: PositiveInt | None = None
    minutes: PositiveFloat | None = None

    @model_validator(mode="after")
    def _some_end(self) -> "StopConfig":
        if self.epochs is None and self.words is None and self.minutes is None:
            raise ValueError("say when to stop: epochs, words or minutes")
        return self


class ReportConfig(_Section):
    """What is written down, and how often.

    Attributes
    ----------
    log_steps : int
        Steps between rows of metrics.csv and progress lines.
    valid_steps : int
        Steps between exact validations.
    valid_sentences : int, optional
        Validate on so many sentences only, for speed; the last validation always takes all.
    checkpoint_minutes : float
        Time between checkpoints.
    checkpoint_steps : int, optional
        Steps between checkpoints, in addition.
    tensorboard : bool
        Write the metrics for TensorBoard too (needs the package `tensorboard`).
    """

    log_steps: PositiveInt = 100
    valid_steps: PositiveInt = 2000
    valid_sentences: PositiveInt | None = None
    checkpoint_minutes: PositiveFloat = 5.0
    checkpoint_steps: PositiveInt | None = None
    tensorboard: bool = False


class TrainingConfig(_Section):
    """A training run.

    Attributes
    ----------
    name : str
    out : Path
        The folder that the run writes.
    text : TextConfig
    vocabulary : VocabularyConfig
    network : NetworkConfig, or the name of a released shape ("elmo-small", ...)
    start : str, optional
        Fine-tune this model (native folder, shipped name, official pair) instead of random weights; `network` is left
        out then. Its vocabulary is kept if it has one.
    n_sampled : int
        Words of a sampled softmax.
    seed : int
    device : str
        "auto" takes a GPU where there is one.
    precision : {"float32", "bfloat16"}
    half_precision_output : bool
        Store the final model's output layer in float16: half the size on disk.
    """

    name: str
    out: Path
    text: TextConfig
    vocabulary: VocabularyConfig = VocabularyConfig()
    network: NetworkConfig | str | None = None
    start: str | None = None
    optimizer: OptimizerConfig = OptimizerConfig()
    n_sampled: PositiveInt = 1024
    stop: StopConfig
    report: ReportConfig = ReportConfig()
    seed: int = Field(default=0, ge=0)
    device: str = "auto"
    precision: Literal["float32", "bfloat16"] = "float32"
    half_precision_output: bool = False

    @model_validator(mode="after")
    def _one_origin(self) -> "TrainingConfig":
        if (self.network is None) == (self.start is None):
            raise ValueError("give either network (random weights) or start (weights to go on from)")
        if isinstance(self.network, str) and self.network not in ARCHITECTURES:
            raise ValueError(f"network is a section or one of {', '.join(ARCHITECTURES)}, not {self.network!r}")
        optimizer, stop = self.optimizer, self.stop
        if (optimizer.schedule == "cosine" or optimizer.decay_words) and stop.words is None and stop.epochs is None:
            raise ValueError(
                "a rate that falls to 0 needs stop.words or stop.epochs: minutes do not tell the end ahead"
            )
        return self

    def bilm_config(self) -> BiLMConfig:
        """Return the shape of a network with random weights."""
        assert self.network is not None
        if isinstance(self.network, str):
            return ARCHITECTURES[self.network]
        return BiLMConfig(char_cnn=self.network.char_cnn, lstm=self.network.lstm)


def read_training_config(path: Path, overrides: Sequence[str] = ()) -> TrainingConfig:
    """Read a YAML file and apply overrides such as `optimizer.rate=0.002`.

    Raises
    ------
    TrainingConfigError
        If the file cannot be read, is no YAML mapping, or has an unknown key or a value of the wrong kind.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TrainingConfigError(f"{path}: cannot be read ({error.strerror})") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise TrainingConfigError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(values, dict):
        raise TrainingConfigError(f"{path}: expected keys and values, found {type(values).__name__}")
    for override in overrides:
        _override(values, override)
    try:
        return TrainingConfig.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"] if part not in ("NetworkConfig", "str")) or "the file"
        message = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            message = f"unknown key{_nearest(key)}"
        raise TrainingConfigError(f"{path}: {key}: {message}") from error


def changed_keys(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the dotted keys whose values differ, each with both values."""
    before, after = dict(_flatten(old)), dict(_flatten(new))
    keys = sorted(before.keys() | after.keys())
    return [f"{key}: {before.get(key)!r} -> {after.get(key)!r}" for key in keys if before.get(key) != after.get(key)]


def _flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _override(values: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals:
        raise TrainingConfigError(f"-o {override}: expected key.path=value")
    *parents, last = key.split(".")
    section: Any = values
    for parent in parents:
        section = section.setdefault(parent, {})
        if not isinstance(section, dict):
            raise TrainingConfigError(f"-o {override}: {parent} is a value, not a section")
    try:
        section[last] = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise TrainingConfigError(f"-o {override}: the value is not YAML") from error


def _nearest(key: str) -> str:
    """Suggest a key of the same section."""
    model: Any = TrainingConfig
    *parents, last = key.split(".")
    for parent in parents:
        annotation = model.model_fields[parent].annotation
        options = [annotation, *getattr(annotation, "__args__", ())]
        model = next(
            (option for option in options if isinstance(option, type) and issubclass(option, BaseModel)), model
        )
    close = difflib.get_close_matches(last, model.model_fields, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known here: {', '.join(model.model_fields)}"
