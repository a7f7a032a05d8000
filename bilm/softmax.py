"""The output layer over the vocabulary, shared by both directions."""

import math

import torch
from torch import Generator, Tensor, nn


class OutputLayer(nn.Module):
    """Exact softmax over all words of the vocabulary."""

    def __init__(self, n_words: int, projection_dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_words, projection_dim))
        self.bias = nn.Parameter(torch.empty(n_words))

    def forward(self, hidden: Tensor) -> Tensor:
        """Map one direction's top layer, (n, projection_dim), to natural-log probabilities, (n, n_words)."""
        return torch.log_softmax(torch.addmm(self.bias, hidden, self.weight.t()), dim=1)

    def reset_parameters(self, generator: Generator) -> None:
        """Draw weights as the reference code does."""
        nn.init.normal_(self.weight, std=1 / math.sqrt(self.weight.shape[1]), generator=generator)
        nn.init.zeros_(self.bias)
