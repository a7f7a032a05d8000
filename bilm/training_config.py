"""The YAML file of a training run, as pydantic models: an unknown key or a wrong type is named, with the remedy."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BeforeValidator, Field, PositiveFloat, PositiveInt, model_validator

from bilm.config import ARCHITECTURES, BiLMConfig, CharCNNConfig, LSTMConfig
from bilm.errors import UserError
from bilm.settings import Section, read_settings


class TrainingConfigError(UserError):
    """A training configuration that cannot be used; the message names file and key."""


def _patterns(value: Any) -> Any:
    """Refuse what is no glob pattern and no list of them, in words of its own: pydantic would speak of two types."""
    if isinstance(value, str) or (
        isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value)
    ):
        return value
    raise ValueError("expected a glob pattern, such as text/*.txt.gz, or a list of them")


Patterns = Annotated[str | tuple[str, ...], BeforeValidator(_patterns)]


class TextConfig(Section):
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

    train: Patterns
    valid: Patterns | None = None
    regime: Literal["sentences", "stream"] = "sentences"
    words_per_step: PositiveInt = 1000
    rows: PositiveInt = 128
    unroll_steps: PositiveInt = 20
    window_words: PositiveInt = 1_000_000
    max_sentence_words: PositiveInt = 400


class VocabularyConfig(Section):
    """The words that the model predicts: a file (most frequent first), or counted from the training text."""

    file: Path | None = None
    size: PositiveInt = 25_000
    min_count: PositiveInt = 1


class NetworkConfig(Section):
    """A network's shape, as in `options.json`."""

    char_cnn: CharCNNConfig
    lstm: LSTMConfig


def _network(value: Any) -> Any:
    """Read a network as a section or as a name, whichever it is: a mistake is then one of that kind alone."""
    if isinstance(value, dict):
        return NetworkConfig.model_validate(value)
    if value is None or isinstance(value, NetworkConfig) or (isinstance(value, str) and value in ARCHITECTURES):
        return value
    shapes = ", ".join(ARCHITECTURES)
    raise ValueError(
        f"a network is a section with char_cnn and lstm, or one of {shapes}, not {value!r}; weights to go on from are "
        "named by start"
    )


class OptimizerConfig(Section):
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


class StopConfig(Section):
    """When training ends: at the first of these that is reached."""

    epochs: PositiveInt | None = None
    words: PositiveInt | None = None
    minutes: PositiveFloat | None = None

    @model_validator(mode="after")
    def _some_end(self) -> "StopConfig":
        if self.epochs is None and self.words is None and self.minutes is None:
            raise ValueError("say when to stop: epochs, words or minutes")
        return self


class ReportConfig(Section):
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


class TrainingConfig(Section):
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
    network: Annotated[NetworkConfig | str | None, BeforeValidator(_network)] = None
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
    return read_settings(path, TrainingConfig, overrides, error=TrainingConfigError)


def dump_training_config(config: TrainingConfig) -> str:
    """Return the fully resolved configuration as YAML, defaults included."""
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False)


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
