"""Many sentences to per-layer vectors, fast and in bounded memory.

Each distinct word is encoded once and kept; sentences of like length are run together, up to a number of tokens; the
original order is put back. What carries over from one sentence to the next is decided here and held here, never in
the network.
"""

import logging
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bilm.characters import check_sentence, is_truncated, words_to_ids
from bilm.device import usable_device
from bilm.lstm import LSTMState
from bilm.model import BiLM, BiLMState

logger = logging.getLogger(__name__)

StatePolicy = Literal["reset", "carry", "warm"]
Layers = NDArray[np.float32]

WARM_UP_TEXT = Path(__file__).parent / "warm_up.txt"
"""One tokenised sentence a line; what the network has read before every sentence under `state="warm"`."""

_BATCHES_PER_WINDOW = 8
"""Sentences are read ahead by this many batches' tokens, so that there are enough of each length."""
_CACHED_FLOATS = 2**25
"""Size of the store of word vectors: 128 MiB, which is 65,536 words of the original ELMo."""
_WORDS_PER_PASS = 512
"""Words that the token encoder takes at once: its convolutions need about 0.4 MB a word in the released sizes."""


class Embedder:
    """A model with a state policy: sentences in, arrays out.

    Parameters
    ----------
    model : BiLM
        Moved to `device`.
    state : {"reset", "carry", "warm"}
        "reset": every sentence starts from zeros, so its vectors depend on it alone. "carry": sentences follow one
        another as one text, as in the reference code; with `embed_batch`, each row goes on from that row's state in
        the batch before. "warm": every sentence starts from the one state that a fixed text (`WARM_UP_TEXT`) leaves,
        so that its vectors depend on it alone and yet the network is where training left it, in the middle of a text.
    device : str or torch.device
        "auto" takes a GPU where there is one.
    tokens_per_batch : int
        Upper bound on rows times longest row of the sentences that are run together; a longer sentence is run alone.
    """

    def __init__(
        self,
        model: BiLM,
        *,
        state: StatePolicy = "reset",
        device: str | torch.device = "auto",
        tokens_per_batch: int = 4096,
    ) -> None:
        if state not in get_args(StatePolicy):
            raise ValueError(f"state is one of {', '.join(get_args(StatePolicy))}, not {state!r}")
        self.model = model.to(usable_device(device)).eval()
        self.state = state
        self.tokens_per_batch = tokens_per_batch
        self.n_truncated = 0
        self._word_vectors: OrderedDict[str, Tensor] = OrderedDict()
        self._max_words = max(1, _CACHED_FLOATS // model.config.lstm.projection_dim)
        self._memory: BiLMState | None = None
        self.reset()

    def reset(self) -> None:
        """Forget all that was read, word vectors included; under "warm", read the warm-up text again.

        To be called also when the model's weights have changed.
        """
        self._word_vectors.clear()
        with torch.inference_mode():
            self._boundaries = self.model.encode_tokens(self.model.boundary_ids)
        self._memory = None
        if self.state == "warm":
            for line in WARM_UP_TEXT.read_text(encoding="utf-8").splitlines():
                _, self._memory = self._run([line.split(" ")], self._memory)

    def embed(self, sentences: Iterable[Sequence[str]]) -> Iterator[Layers]:
        """Embed any number of sentences, reading ahead only a few thousand tokens.

        Parameters
        ----------
        sentences : iterable of sequences of str
            Words; a sentence may be empty.

        Yields
        ------
        float32 array, shape (n_layers + 1, n_tokens, 2 * projection_dim)
            One for each sentence, in the order given.
        """
        for window in _windows(sentences, _BATCHES_PER_WINDOW * self.tokens_per_batch):
            if self.state == "carry":
                yield from (self.embed_batch([sentence])[0] for sentence in window)
            else:
                yield from self._embed_window(window)

    def embed_batch(self, sentences: Sequence[Sequence[str]]) -> list[Layers]:
        """Embed sentences as one batch, whatever its size.

        Under "carry", row k goes on from what row k remembers; rows beyond this batch, and rows whose sentence is
        empty, remember what they did.

        Returns
        -------
        list of float32 arrays, shape (n_layers + 1, n_tokens, 2 * projection_dim)
        """
        if self.state == "reset":
            return self._run(sentences, None)[0]
        n_rows = len(sentences)
        if self.state == "warm":
            assert self._memory is not None
            one = torch.zeros(n_rows, dtype=torch.long, device=self.model.device)
            return self._run(sentences, self._memory.rows(one))[0]
        memory = self.model.zero_state(0) if self._memory is None else self._memory
        n_known = memory.forward.hidden.shape[1]
        if n_known < n_rows:
            memory = _join(memory, self.model.zero_state(n_rows - n_known))
        rows = torch.arange(memory.forward.hidden.shape[1], device=self.model.device)
        layers, after = self._run(sentences, memory.rows(rows[:n_rows]))
        self._memory = _join(after, memory.rows(rows[n_rows:]))
        return layers

    def _embed_window(self, window: Sequence[Sequence[str]]) -> Iterator[Layers]:
        """Run a window in batches of like length and give back its order."""
        results: list[Layers | None] = [None] * len(window)
        longest_first = sorted(range(len(window)), key=lambda index: -len(window[index]))
        for batch in _batches(longest_first, [len(sentence) for sentence in window], self.tokens_per_batch):
            for index, layers in zip(batch, self.embed_batch([window[index] for index in batch]), strict=True):
                results[index] = layers
        yield from (layers for layers in results if layers is not None)

    @torch.inference_mode()
    def _run(self, sentences: Sequence[Sequence[str]], memory: BiLMState | None) -> tuple[list[Layers], BiLMState]:
        """Run one batch from a state: the arrays, and the state after it."""
        for sentence in sentences:
            check_sentence(sentence)
        device = self.model.device
        lengths = torch.tensor([len(sentence) for sentence in sentences], dtype=torch.long, device=device)
        time = max((len(sentence) for sentence in sentences), default=0)
        tokens = self._boundaries.new_zeros(len(sentences), time, self._boundaries.shape[1])
        within = torch.arange(time, device=device) < lengths.unsqueeze(1)
        tokens[within] = self._encode(list(chain.from_iterable(sentences)))
        output = self.model.contextualize(tokens, self._boundaries, lengths, memory)
        # Token after token in one copy, then cut by sentence: each array owns its memory once it is made contiguous.
        flat = output.layers[:, within].float().cpu().numpy()
        cuts = np.cumsum([len(sentence) for sentence in sentences])[:-1]
        return [np.ascontiguousarray(part) for part in np.split(flat, cuts, axis=1)][: len(sentences)], output.state

    def _encode(self, words: Sequence[str]) -> Tensor:
        """Return the vectors of words, shape (n_words, projection_dim): each distinct word is encoded once and kept."""
        distinct = dict.fromkeys(words)
        known = {word: self._word_vectors[word] for word in distinct if word in self._word_vectors}
        new = [word for word in distinct if word not in known]
        width = self.model.config.char_cnn.max_characters_per_token
        for start in range(0, len(new), _WORDS_PER_PASS):
            part = new[start : start + _WORDS_PER_PASS]
            vectors = self.model.encode_tokens(words_to_ids(part, width).to(self.model.device))
            known.update(zip(part, vectors, strict=True))
        self._warn_of_truncation([word for word in new if is_truncated(word, width)])
        self._word_vectors.update((word, known[word]) for word in new)
        while len(self._word_vectors) > self._max_words:
            self._word_vectors.popitem(last=False)
        if not words:
            return self._boundaries[:0]
        return torch.stack([known[word] for word in words])

    def _warn_of_truncation(self, words: Sequence[str]) -> None:
        """Say once that words were cut, and count them all."""
        if words and not self.n_truncated:
            limit = self.model.config.char_cnn.max_characters_per_token - 2
            logger.warning(
                "a word is longer than %d bytes, of which the model reads the first %d: %.60s... "
                "(words that begin alike get the same token vector; said once, counted in n_truncated)",
                limit,
                limit,
                words[0],
            )
        self.n_truncated += len(words)


def _windows(sentences: Iterable[Sequence[str]], n_tokens: int) -> Iterator[list[Sequence[str]]]:
    """Cut a stream into lists of about `n_tokens` tokens; the boundaries of a sentence count too."""
    window: list[Sequence[str]] = []
    size = 0
    for sentence in sentences:
        window.append(sentence)
        size += len(sentence) + 2
        if size >= n_tokens:
            yield window
            window, size = [], 0
    if window:
        yield window


def _batches(order: Sequence[int], lengths: Sequence[int], n_tokens: int) -> Iterator[list[int]]:
    """Cut sentences, ordered from the longest, into batches of at most `n_tokens` positions (at least one sentence).

    Positions are rows times the longest row, boundaries included: that is what a batch's arrays hold.
    """
    batch: list[int] = []
    for index in order:
        if batch and (len(batch) + 1) * (lengths[batch[0]] + 2) > n_tokens:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _join(first: BiLMState, second: BiLMState) -> BiLMState:
    """Put the rows of two states one after the other."""
    forward, backward = (
        LSTMState(torch.cat([one.hidden, other.hidden], dim=1), torch.cat([one.cell, other.cell], dim=1))
        for one, other in zip(first, second, strict=True)
    )
    return BiLMState(forward, backward)
