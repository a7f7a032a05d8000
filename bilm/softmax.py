"""The output layer over the vocabulary, shared by both directions: exact, and sampled for training."""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

_ROWS_PER_PASS = 512
"""Rows of an exact softmax that are in memory at once: 25,000 words take 100 KB a row."""


class Sample(NamedTuple):
    """Words that stand for the whole vocabulary in one step of training.

    Attributes
    ----------
    words : int64 tensor, shape (n_sampled,)
        Distinct, in ascending order.
    n_tries : float
        Draws that it took to find so many distinct words; infinite where all words were taken without drawing.
    n_words : int
        Size of the vocabulary.
    """

    words: Tensor
    n_tries: float
    n_words: int

    def log_expected(self, words: Tensor) -> Tensor:
        """Return the natural logarithm of how often each word is expected in such a sample, float32."""
        if math.isinf(self.n_tries):
            return torch.zeros(words.shape, device=words.device)
        rank = words.double()
        probability = torch.log((rank + 2) / (rank + 1)) / math.log(self.n_words + 1)
        return torch.log(-torch.expm1(self.n_tries * torch.log1p(-probability))).float()


def draw_sample(n_words: int, n_sampled: int, generator: np.random.Generator) -> Sample:
    """Draw distinct words log-uniformly: word k with probability log((k + 2) / (k + 1)) / log(n_words + 1).

    That is about how frequent words are where they are sorted from the most to the least frequent, which the
    vocabulary must be.
    """
    if n_sampled >= n_words:
        return Sample(torch.arange(n_words), math.inf, n_words)
    draws = np.empty(0, dtype=np.int64)
    while True:
        uniform = generator.random(4 * n_sampled)
        new = np.minimum(np.exp(uniform * math.log(n_words + 1)).astype(np.int64) - 1, n_words - 1)
        draws = np.concatenate([draws, new])
        distinct, first = np.unique(draws, return_index=True)
        if len(distinct) >= n_sampled:
            n_tries = int(np.sort(first)[n_sampled - 1]) + 1
            return Sample(torch.from_numpy(distinct[first < n_tries]), n_tries, n_words)


class OutputLayer(nn.Module):
    """Softmax over all words of the vocabulary."""

    def __init__(self, n_words: int, projection_dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_words, projection_dim))
        self.bias = nn.Parameter(torch.empty(n_words))

    def forward(self, hidden: Tensor) -> Tensor:
        """Map one direction's top layer, (n, projection_dim), to natural-log probabilities, (n, n_words)."""
        return torch.log_softmax(torch.addmm(self.bias, hidden, self.weight.t()), dim=1)

    def log_probability(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Return the exact natural-log probability of one word for each row, shape (n,), in bounded memory."""
        passes = zip(torch.split(hidden, _ROWS_PER_PASS), torch.split(targets, _ROWS_PER_PASS), strict=True)
        parts = [self(rows).gather(1, words.unsqueeze(1)).squeeze(1) for rows, words in passes]
        return torch.cat(parts) if parts else hidden.new_empty(0)

    def sampled_loss(self, hidden: Tensor, targets: Tensor, sample: Sample) -> Tensor:
        """Return the sampled softmax loss, summed over rows: for training only, it is no likelihood.

        Each row's word competes with the sampled words (itself not counted twice); logits are reduced by the logarithm
        of how often the word was to be expected in the sample.

        Parameters
        ----------
        hidden : float tensor, shape (n, projection_dim)
        targets : int64 tensor, shape (n,)
        sample : Sample

        References
        ----------
        Jean et al. 2015; TensorFlow's `sampled_softmax_loss`.
        """
        # Sparse: the gradient names the rows it has, instead of being mostly zeros over the whole vocabulary.
        weight = functional.embedding(sample.words, self.weight, sparse=True)
        bias = self.bias[sample.words] - sample.log_expected(sample.words)
        logits = torch.addmm(bias, hidden, weight.t())  # [n, n_sampled]
        place = torch.searchsorted(sample.words, targets).clamp(max=len(sample.words) - 1)
        hit = (sample.words[place] == targets).nonzero().squeeze(1)
        logits[hit, place[hit]] = -torch.inf
        weight = functional.embedding(targets, self.weight, sparse=True)
        true = (hidden * weight).sum(dim=1) + self.bias[targets] - sample.log_expected(targets)
        return (torch.logaddexp(torch.logsumexp(logits, dim=1), true) - true).sum()

    def reset_parameters(self, generator: Generator) -> None:
        """Draw weights as the reference code does."""
        nn.init.normal_(self.weight, std=1 / math.sqrt(self.weight.shape[1]), generator=generator)
        nn.init.zeros_(self.bias)
