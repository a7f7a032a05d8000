"""The network of a small downstream model: words -> BiLSTM -> spans -> classes, ELMo beside what it reads or gives.

Tokens are handled flat, sentence after sentence: there is no padding that could change a number.
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor, nn

from bilm.characters import N_IDS
from bilm.config import LSTMConfig
from bilm.elmo import ScalarMix
from bilm.lstm import ProjectedLSTM
from probing.downstream.placement import Placement
from probing.training import linear_layer

MAX_CHARACTERS = 24
_CHARACTER_DIM, _CHARACTER_FILTERS, _FILTER_WIDTH = 16, 32, 3


class Batch(NamedTuple):
    """Some sentences.

    Attributes
    ----------
    words : int64 tensor, shape (n_tokens,)
        0 is the unknown word.
    characters : int64 tensor, shape (n_distinct, MAX_CHARACTERS)
        The spelling of each distinct word form, from `bilm.characters`.
    spelling : int64 tensor, shape (n_tokens,)
        The row of `characters` of each token.
    layers : float32 tensor, shape (n_layers, n_tokens, dim)
    orders : two int64 tensors, shape (n_tokens,)
        The tokens in the order in which each direction reads them, packed: see `bilm.lstm`.
    batch_sizes : list of int
        Sentences that are running at each step.
    span_tokens, span_examples : int64 tensors, shape (n_pairs,)
        For each token in an example's span: the token, and the example.
    n_examples : int
    """

    words: Tensor
    characters: Tensor
    spelling: Tensor
    layers: Tensor
    orders: tuple[Tensor, Tensor]
    batch_sizes: list[int]
    span_tokens: Tensor
    span_examples: Tensor
    n_examples: int


def packed_orders(lengths: Sequence[int]) -> tuple[tuple[Tensor, Tensor], list[int]]:
    """Return the order in which each direction reads flat tokens, and the sentences running at each step.

    Parameters
    ----------
    lengths : sequence of int
        Tokens of each sentence, one at least.

    Returns
    -------
    orders : two int64 tensors, shape (n_tokens,)
        Step after step, the token of each running sentence, the longest sentence first; forward and backward.
    batch_sizes : list of int
    """
    rank = np.empty(len(lengths), dtype=np.int64)
    rank[np.argsort(-np.asarray(lengths), kind="stable")] = np.arange(len(lengths))
    sentence = np.repeat(rank, lengths)
    forward = np.concatenate([np.arange(length) for length in lengths])
    backward = np.concatenate([np.arange(length)[::-1] for length in lengths])
    first, second = (torch.from_numpy(np.lexsort((sentence, step))) for step in (forward, backward))
    return (first, second), np.bincount(forward).tolist()


class Sizes(NamedTuple):
    """How large the network is, and what is dropped in training."""

    n_layers: int
    elmo_dim: int
    n_words: int
    word_dim: int
    hidden: int
    n_classes: int
    dropout: float
    layer_norm: Literal["token"] | None


class SpanNetwork(nn.Module):
    """Classify spans of tokens: one token for a tagger, all of them for a sentence classifier.

    A word is its own learned vector, a small character CNN's (one convolution, the maximum over positions) and, at the
    input, ELMo. One BiLSTM layer reads them; beside its output stands ELMo, at the output. A span is the mean of its
    tokens; a linear layer gives its scores.

    Parameters
    ----------
    placement : Placement
    sizes : Sizes
    generator : Generator
        Draws the first weights, and goes on to draw what is dropped.

    References
    ----------
    Peters et al. 2018, sections 3.3 and 5.2.
    """

    def __init__(self, placement: Placement, sizes: Sizes, generator: Generator) -> None:
        super().__init__()
        self.placement = placement
        self.dropout = sizes.dropout
        self._generator = generator
        n_mixed = sizes.n_layers if placement.layer is None else 1
        self.input_mix = ScalarMix(n_mixed, sizes.layer_norm) if placement.at_input else None
        self.output_mix = ScalarMix(n_mixed, sizes.layer_norm) if placement.at_output else None
        self.word_vectors = _embedding(sizes.n_words, sizes.word_dim, generator)
        self.character_vectors = _embedding(N_IDS, _CHARACTER_DIM, generator)
        self.convolution = linear_layer(_FILTER_WIDTH * _CHARACTER_DIM, _CHARACTER_FILTERS, generator)
        n_inputs = sizes.word_dim + _CHARACTER_FILTERS + sizes.elmo_dim * placement.at_input
        shape = LSTMConfig(dim=sizes.hidden, projection_dim=sizes.hidden, n_layers=1, cell_clip=None, proj_clip=None)
        self.forward_lstm, self.backward_lstm = ProjectedLSTM(n_inputs, shape), ProjectedLSTM(n_inputs, shape)
        for direction in (self.forward_lstm, self.backward_lstm):
            direction.reset_parameters(generator)
        n_outputs = 2 * sizes.hidden + sizes.elmo_dim * placement.at_output
        self.classify = linear_layer(n_outputs, sizes.n_classes, generator)

    def forward(self, batch: Batch) -> Tensor:
        """Return scores, shape (n_examples, n_classes)."""
        words = [self.word_vectors(batch.words), self._spelled(batch)]
        inputs = torch.cat([*words, *self._mixed(self.input_mix, batch.layers)], dim=1)
        inputs = self._dropped(inputs)
        directions = zip((self.forward_lstm, self.backward_lstm), batch.orders, strict=True)
        read = [_read(direction, inputs, order, batch.batch_sizes) for direction, order in directions]
        tokens = self._dropped(torch.cat([*read, *self._mixed(self.output_mix, batch.layers)], dim=1))
        spans = tokens.new_zeros(batch.n_examples, tokens.shape[1])
        spans = spans.index_add(0, batch.span_examples, tokens[batch.span_tokens])
        sizes = torch.bincount(batch.span_examples, minlength=batch.n_examples)
        scores: Tensor = self.classify(spans / sizes.unsqueeze(1))
        return scores

    def penalty(self) -> Tensor:
        """Return the mix penalty, to be added to the loss."""
        mixes = [mix for mix in (self.input_mix, self.output_mix) if mix is not None]
        return sum((mix.penalty(self.placement.penalty) for mix in mixes), torch.zeros(()))

    def _spelled(self, batch: Batch) -> Tensor:
        """Return the character vectors of each token, (n_tokens, filters); each distinct form is computed once."""
        vectors = self.character_vectors(batch.characters)  # (n_distinct, MAX_CHARACTERS, dim)
        windows = vectors.unfold(1, _FILTER_WIDTH, 1).flatten(2)  # (n_distinct, positions, dim * width)
        distinct: Tensor = self.convolution(windows).amax(dim=1).relu()
        return distinct[batch.spelling]

    def _mixed(self, mix: ScalarMix | None, layers: Tensor) -> list[Tensor]:
        if mix is None:
            return []
        if self.placement.layer is not None:
            layers = layers[self.placement.layer].unsqueeze(0)
        mask = torch.ones(1, layers.shape[1], dtype=torch.bool)
        mixed: Tensor = mix(layers.unsqueeze(1), mask).squeeze(0)
        return [mixed]

    def _dropped(self, vectors: Tensor) -> Tensor:
        """Drop numbers in training; torch's own dropout would read the global generator."""
        if not self.training or self.dropout == 0:
            return vectors
        kept = torch.empty_like(vectors).bernoulli_(1 - self.dropout, generator=self._generator)
        return vectors * kept / (1 - self.dropout)


def _read(direction: ProjectedLSTM, inputs: Tensor, order: Tensor, batch_sizes: Sequence[int]) -> Tensor:
    """Return what one direction gives for each token, (n_tokens, hidden); every sentence starts from zeros."""
    start = inputs.new_zeros(batch_sizes[0], direction.recurrent_weight.shape[1])
    packed, _, _ = direction(inputs[order], batch_sizes, start, start)
    read: Tensor = packed[order.argsort()]
    return read


def _embedding(n_rows: int, dim: int, generator: Generator) -> nn.Embedding:
    table: nn.Embedding = nn.utils.skip_init(nn.Embedding, n_rows, dim)  # type: ignore[no-untyped-call]
    bound = math.sqrt(3 / dim)  # vectors of length one, on average
    nn.init.uniform_(table.weight, -bound, bound, generator=generator)
    return table
