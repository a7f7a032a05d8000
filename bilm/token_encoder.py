"""One vector per word form: byte vectors, convolutions, highway layers, projection.

A word's vector depends on its spelling alone, so callers encode each distinct word once and gather.
"""

import math

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from bilm.characters import N_IDS, PADDING
from bilm.config import BiLMConfig


class Highway(nn.Module):
    """One highway layer: `gate * relu(transform(x)) + (1 - gate) * x`.

    The reference code calls the gate "carry", though it opens the transformed branch, not the carried one.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.transform = nn.Linear(dim, dim)
        self.gate = nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        """Map (n, dim) to (n, dim)."""
        gate = torch.sigmoid(self.gate(x))
        return gate * torch.relu(self.transform(x)) + (1 - gate) * x

    def reset_parameters(self, generator: Generator) -> None:
        """Draw weights as the reference code does: the gate starts almost closed (bias -2)."""
        for linear, bias in ((self.transform, 0.0), (self.gate, -2.0)):
            nn.init.normal_(linear.weight, std=1 / math.sqrt(linear.in_features), generator=generator)
            nn.init.constant_(linear.bias, bias)


class TokenEncoder(nn.Module):
    """The character CNN of ELMo (Jozefowicz et al. 2016; Kim et al. 2015)."""

    def __init__(self, config: BiLMConfig) -> None:
        super().__init__()
        cnn = config.char_cnn
        self.activation = torch.relu if cnn.activation == "relu" else torch.tanh
        self.embedding = nn.Embedding(N_IDS, cnn.embedding.dim, padding_idx=0)
        self.convolutions = nn.ModuleList(nn.Conv1d(cnn.embedding.dim, count, width) for width, count in cnn.filters)
        self.widest = max(width for width, _ in cnn.filters)
        self.highways = nn.ModuleList(Highway(cnn.n_filters) for _ in range(cnn.n_highway))
        self.projection = nn.Linear(cnn.n_filters, config.lstm.projection_dim) if config.has_projection else None

    def forward(self, character_ids: Tensor) -> Tensor:
        """Encode rows of byte ids.

        Parameters
        ----------
        character_ids : int64 tensor, shape (n_words, max_characters_per_token)
            Rows of `bilm.characters`. They must have the configured width: the padding inside a row counts.

        Returns
        -------
        float tensor, shape (n_words, projection_dim)
        """
        # Windows of padding alone all give the same value, and the first of them is enough: the columns after it go.
        n_used = int((character_ids != PADDING).any(dim=0).sum()) + self.widest
        characters = self.embedding(character_ids[:, :n_used]).flatten(1)  # [n, n_used * embedding]
        # The activation is monotonic, so it commutes with the maximum and is applied to one value a filter.
        pooled = [_convolve(characters, convolution) for convolution in self.convolutions]
        x = self.activation(torch.cat(pooled, dim=1))  # [n, n_filters]
        for highway in self.highways:
            x = highway(x)
        return x if self.projection is None else self.projection(x)

    def reset_parameters(self, generator: Generator) -> None:
        """Draw weights as the reference code does (ELMo's initialisation, not PyTorch's)."""
        nn.init.uniform_(self.embedding.weight, -1, 1, generator=generator)
        with torch.no_grad():
            self.embedding.weight[0] = 0
        for convolution in self.convolutions:
            assert isinstance(convolution, nn.Conv1d) and convolution.bias is not None
            if self.activation is torch.relu:
                nn.init.uniform_(convolution.weight, -0.05, 0.05, generator=generator)
            else:
                fan_in = convolution.in_channels * convolution.kernel_size[0]
                nn.init.normal_(convolution.weight, std=1 / math.sqrt(fan_in), generator=generator)
            nn.init.zeros_(convolution.bias)
        for highway in self.highways:
            assert isinstance(highway, Highway)
            highway.reset_parameters(generator)
        if self.projection is not None:
            nn.init.normal_(self.projection.weight, std=1 / math.sqrt(self.projection.in_features), generator=generator)
            nn.init.zeros_(self.projection.bias)


def _convolve(characters: Tensor, convolution: nn.Module) -> Tensor:
    """Return each filter's maximum over all windows, shape (n, filters); `characters` is (n, columns * embedding).

    One matrix product over all windows, and a maximum whose gradient goes to one window: in training twice as fast as
    `Conv1d` and `amax`.
    """
    assert isinstance(convolution, nn.Conv1d) and convolution.bias is not None
    weight = convolution.weight.transpose(1, 2).flatten(1)  # [filters, width * embedding]
    windows = characters.unfold(1, weight.shape[1], convolution.in_channels)  # [n, windows, width * embedding]
    return functional.linear(windows, weight).max(dim=1).values + convolution.bias
