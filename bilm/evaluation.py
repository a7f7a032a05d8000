"""Exact probabilities: perplexity of a text in each direction, and the log-probability of each of its words.

Every sentence starts from the zero state, so the numbers do not depend on what is batched together. The forward
direction predicts each word and then the sentence's end; the backward direction each word and then its start.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from bilm.batches import Sentence, pack, whole
from bilm.errors import UserError
from bilm.model import BiLM
from bilm.vocabulary import UNKNOWN

_Number = TypeVar("_Number", bound=np.generic)
_SENTENCES_PER_WINDOW = 4096
"""Sentences are read ahead and sorted by length, so that batches hold sentences of like length."""

_WORDS_PER_PASS = 512
"""Words that the token encoder takes at once: a line of 50,000 words may hold ten thousand."""


class NoOutputLayerError(UserError):
    """Perplexity was asked of a model that cannot predict words."""


class SentenceScore(NamedTuple):
    """Natural-log probabilities of one sentence of n words.

    Attributes
    ----------
    forward : float64 array, shape (n + 1,)
        Of each word given the words before it, then of the sentence's end.
    backward : float64 array, shape (n + 1,)
        Of the sentence's start given all words, then of each word given the words after it.
    known : bool array, shape (n,)
        False where the word is not in the vocabulary, and the probability is that of `<UNK>`.
    """

    forward: NDArray[np.float64]
    backward: NDArray[np.float64]
    known: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Perplexity:
    """Perplexities of a text.

    Attributes
    ----------
    forward, backward : float
        `exp(-mean log-probability)` over all words and one boundary a sentence.
    mean : float
        Of the mean log-probability of both directions: the geometric mean of the two.
    forward_known, backward_known, mean_known : float
        The same without the words that are not in the vocabulary.
    n_sentences, n_words, n_unknown : int
        What was scored; in each direction the boundaries, one a sentence, were scored too.
    """

    forward: float
    backward: float
    mean: float
    forward_known: float
    backward_known: float
    mean_known: float
    n_sentences: int
    n_words: int
    n_unknown: int


def score(
    model: BiLM,
    sentences: Iterable[Sequence[str]],
    *,
    batch_size: int = 64,
    on_batch: Callable[[int], object] | None = None,
) -> Iterator[SentenceScore]:
    """Score sentences, in the order given.

    Parameters
    ----------
    model : BiLM
        With an output layer.
    sentences : iterable of sequences of str
        None of them empty.
    batch_size : int
        Sentences that are run together; it changes nothing but the speed.
    on_batch : callable, optional
        Told the number of sentences of each batch that is done, for a progress bar.

    Raises
    ------
    NoOutputLayerError
        If the model has none.
    """
    if model.output is None or model.vocabulary is None:
        raise NoOutputLayerError(
            "this model has no output layer, so it gives no probabilities (released weights come without one): "
            "train one with `bilm train` and `start: MODEL`"
        )
    source = iter(sentences)
    while window := [tuple(sentence) for sentence in islice(source, _SENTENCES_PER_WINDOW)]:
        order = sorted(range(len(window)), key=lambda index: -len(window[index]))
        scores: list[SentenceScore | None] = [None] * len(window)
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            for index, result in zip(batch, _score_batch(model, [window[index] for index in batch]), strict=True):
                scores[index] = result
            if on_batch is not None:
                on_batch(len(batch))
        yield from (result for result in scores if result is not None)


def evaluate(
    model: BiLM,
    sentences: Iterable[Sequence[str]],
    *,
    batch_size: int = 64,
    on_batch: Callable[[int], object] | None = None,
) -> Perplexity:
    """Return the exact perplexity of a text: one total over all its words, however they are batched.

    The parameters are those of `score`.

    Raises
    ------
    NoOutputLayerError
        If the model has no output layer.
    UserError
        If there is no sentence.
    """
    totals = np.zeros((2, 2))  # [direction, all steps or known steps]
    n_sentences = n_words = n_known = 0
    for forward, backward, known in score(model, sentences, batch_size=batch_size, on_batch=on_batch):
        n_sentences += 1
        n_words += len(known)
        n_known += int(known.sum())
        totals[0] += forward.sum(), forward[:-1][known].sum() + forward[-1]
        totals[1] += backward.sum(), backward[1:][known].sum() + backward[0]
    if not n_sentences:
        raise UserError("no sentence to score: the text is empty")
    (forward_all, forward_known), (backward_all, backward_known) = -totals / [
        n_words + n_sentences,
        n_known + n_sentences,
    ]
    return Perplexity(
        forward=_exp(forward_all),
        backward=_exp(backward_all),
        mean=_exp((forward_all + backward_all) / 2),
        forward_known=_exp(forward_known),
        backward_known=_exp(backward_known),
        mean_known=_exp((forward_known + backward_known) / 2),
        n_sentences=n_sentences,
        n_words=n_words,
        n_unknown=n_words - n_known,
    )


def _exp(x: float) -> float:
    """Return e to the power of `x`; infinity where that is beyond all numbers, as with a network that has diverged."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


@torch.no_grad()
def _score_batch(model: BiLM, sentences: Sequence[Sentence]) -> list[SentenceScore]:
    assert model.output is not None and model.vocabulary is not None
    batch = pack([whole(sentence) for sentence in sentences], model.vocabulary, model.max_characters).to(model.device)
    words = torch.cat([model.encode_tokens(part) for part in torch.split(batch.character_ids, _WORDS_PER_PASS)])
    state = model.zero_state(len(sentences))
    tables = []
    for direction, stack in enumerate((model.forward_lstm, model.backward_lstm)):
        outputs, _ = stack(words[batch.inputs[direction]], batch.batch_sizes, state[direction])
        values = model.output.log_probability(outputs[-1], batch.targets[direction])
        tables.append(_unpack(values.double().cpu().numpy(), batch.batch_sizes))
    is_unknown = _unpack((batch.targets[0] == model.vocabulary.index(UNKNOWN)).cpu().numpy(), batch.batch_sizes)
    results: list[SentenceScore | None] = [None] * len(sentences)
    for column, index in enumerate(batch.order.tolist()):
        n_words = len(sentences[index])
        results[index] = SentenceScore(
            tables[0][: n_words + 1, column],
            tables[1][n_words::-1, column],
            ~is_unknown[:n_words, column],
        )
    return [result for result in results if result is not None]


def _unpack(values: NDArray[_Number], batch_sizes: Sequence[int]) -> NDArray[_Number]:
    """Spread packed values over time and rows, shape (time, batch)."""
    running = np.arange(max(batch_sizes)) < np.asarray(batch_sizes)[:, None]
    table = np.zeros(running.shape, dtype=values.dtype)
    table[running] = values
    return table
