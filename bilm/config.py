"""The shape of a biLM: the fields of the released `options.json`, typed and checked.

The same fields are written to a native folder's `config.json`, so that there is one description of a network and not
two.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, ValidationError, model_validator

from bilm.errors import UserError
from bilm.settings import Section


class ConfigError(UserError):
    """An options file that cannot describe a network; the message names the file and the field."""


# Far above any real network: what is beyond is a slip, and would ask for more memory than there is.
_Size = Annotated[int, Field(gt=0, le=2**17)]


class CharacterEmbeddingConfig(Section):
    """The table of byte vectors."""

    dim: _Size


class CharCNNConfig(Section):
    """The token encoder: byte vectors, convolutions, highway layers.

    Attributes
    ----------
    embedding : CharacterEmbeddingConfig
        `dim`, the width of a byte's vector.
    filters : tuple of (width, count)
        Convolutions over `width` consecutive bytes, `count` of each.
    activation : {"relu", "tanh"}
        Applied after the maximum over positions.
    n_highway : int
        Highway layers between the convolutions and the projection; 0 for none.
    max_characters_per_token : int
        Columns of a word's row, the two word-boundary marks included.
    n_characters : {261, 262}
        In the reference code 261 means training and 262 prediction. Here it is only recorded: both load, nothing is
        edited.
    """

    embedding: CharacterEmbeddingConfig
    filters: tuple[tuple[_Size, _Size], ...] = Field(min_length=1)
    activation: Literal["relu", "tanh"] = "relu"
    n_highway: int = Field(default=0, ge=0, le=1000)
    max_characters_per_token: int = Field(default=50, ge=3, le=2**17)
    n_characters: Literal[261, 262] = 262

    @model_validator(mode="after")
    def _filters_fit_into_a_row(self) -> "CharCNNConfig":
        widest = max(width for width, _ in self.filters)
        if widest > self.max_characters_per_token:
            raise ValueError(
                f"a filter of width {widest} is wider than max_characters_per_token={self.max_characters_per_token}"
            )
        return self

    @property
    def n_filters(self) -> int:
        """Number of convolution filters of all widths together."""
        return sum(count for _, count in self.filters)


class LSTMConfig(Section):
    """The two stacks of LSTM layers.

    Attributes
    ----------
    dim : int
        Width of the cell state.
    projection_dim : int
        Width of a layer's output in one direction, and of a token vector. At most `dim`; where it equals `dim`, the
        layers have no projection and `proj_clip` does nothing (as in the reference code).
    n_layers : int
    cell_clip, proj_clip : float or None
        Bounds on the absolute value of the cell state and of the projected output; None for no bound.
    use_skip_connections : bool
        Add a layer's input to its output, from the second layer on.
    """

    dim: _Size
    projection_dim: _Size
    n_layers: Annotated[int, Field(gt=0, le=1000)]
    cell_clip: PositiveFloat | None = None
    proj_clip: PositiveFloat | None = None
    use_skip_connections: bool = False

    @model_validator(mode="after")
    def _projection_narrows(self) -> "LSTMConfig":
        if self.projection_dim > self.dim:
            raise ValueError(f"projection_dim={self.projection_dim} is larger than dim={self.dim}")
        return self


class BiLMConfig(BaseModel):
    """The whole network; field for field the released `options.json`.

    Fields that only the reference's training script reads (`n_epochs`, `n_train_tokens`, ...) are read past.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    char_cnn: CharCNNConfig
    lstm: LSTMConfig
    bidirectional: Literal[True] = True

    @property
    def has_projection(self) -> bool:
        """Whether the token encoder ends in a projection: only where the filters do not already have its width."""
        return self.char_cnn.n_filters != self.lstm.projection_dim


def read_config(path: Path) -> BiLMConfig:
    """Read `options.json` or `config.json`.

    Raises
    ------
    ConfigError
        If the file is missing, is no JSON, or lacks or mistypes a field; one line that names file and field.
    """
    try:
        return BiLMConfig.model_validate_json(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "the file"
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise ConfigError(f"{path}: not the options of a biLM: {field}: {first['msg']}{more}") from error


def _released(dim: int, projection_dim: int, n_highway: int) -> BiLMConfig:
    filters = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
    return BiLMConfig(
        char_cnn=CharCNNConfig(embedding=CharacterEmbeddingConfig(dim=16), filters=filters, n_highway=n_highway),
        lstm=LSTMConfig(
            dim=dim, projection_dim=projection_dim, n_layers=2, cell_clip=3.0, proj_clip=3.0, use_skip_connections=True
        ),
    )


ARCHITECTURES = {
    "elmo-small": _released(dim=1024, projection_dim=128, n_highway=1),
    "elmo-medium": _released(dim=2048, projection_dim=256, n_highway=1),
    "elmo-original": _released(dim=4096, projection_dim=512, n_highway=2),
}
"""Shapes of the released models, without their weights: for random networks, and as a start for training."""
