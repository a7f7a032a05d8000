"""A Transformer as an encoder: every hidden state is a layer, a word's vector the mean of its sub-words' vectors."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from bilm.characters import check_sentence
from bilm.device import usable_device
from bilm.errors import UserError
from probing.encoders.automodel import (
    PACKAGE,
    check_weights,
    draw_model,
    find_source,
    load_config,
    load_model,
    load_tokenizer,
    used_weights,
)
from probing.encoders.base import EncoderConfig, Name, Untrained, last_part
from probing.encoders.subwords import SubwordTokenizer, Window, windows
from probing.results import UNTRAINED

Layers = NDArray[np.float32]

_LIBRARIES = ("transformers", "tokenizers")
_DEFAULT_WINDOW = 512
"""Sub-words at once where neither tokenizer nor config has a limit."""
_SUBWORDS_PER_BATCH = 4096
_BATCHES_AHEAD = 8
"""Sentences are read ahead by this many batches' words, so that there are enough of each length."""
_FLOATS_PER_BATCH = 2**24
"""At most so many numbers come out of a batch: 64 MiB. Large networks take fewer sub-words at once."""


class HuggingfaceEncoder:
    """A Transformer and its tokenizer; see `probing.encoders.base.Encoder`.

    A sentence that is longer than the network's window is read in windows that overlap by half; none of it is cut off.

    Attributes
    ----------
    left_to_right : bool
        Whether a word's vectors depend on what stands before it alone: tried out on the network, not read from its
        config.
    window : int
        Sub-words that it reads at once, special tokens among them.
    """

    def __init__(self, model: Any, tokenizer: SubwordTokenizer, max_subwords: int, name: str, description: str) -> None:
        config = model.config
        self._model = model
        self._tokenizer = tokenizer
        self._name = name
        n_embeddings = getattr(model.get_input_embeddings(), "num_embeddings", None)
        if not isinstance(n_embeddings, int):
            raise UserError(f"{name}: {config.model_type} reads no sub-words: it is not a network for text")
        self._n_embeddings = n_embeddings
        self._check_ids(max(*tokenizer.prefix, *tokenizer.suffix, *tokenizer.two_subwords))
        # Which sub-word fills a row is all the same, but for RoBERTa, which counts positions by it.
        self._padding = config.pad_token_id if config.pad_token_id in range(self._n_embeddings) else 0
        config.use_cache = False  # what a decoder would keep for the next word; nothing is generated here
        self.window = _window(model, max_subwords)
        self._n_special = len(tokenizer.prefix) + len(tokenizer.suffix)
        if self.window < self._n_special + 2:
            raise UserError(f"{name}: it reads {self.window} sub-words at once, special tokens among them: too few")
        self.layer_names = ("embeddings", *(f"block {block + 1}" for block in range(config.num_hidden_layers)))
        self.dim = int(config.hidden_size)
        self.left_to_right = self._examine()
        sees = "only the words to the left" if self.left_to_right else "the words on both sides"
        versions = ", ".join(f"{library} {version(library)}" for library in _LIBRARIES)
        self.description = (
            f"{description}: {config.model_type}, {config.num_hidden_layers} blocks of width {self.dim}, sees {sees}, "
            f"{self.window} sub-words at once ({versions})"
        )
        self.fingerprint = self._hash(versions)

    def encode(self, sentences: Iterable[Sequence[str]]) -> Iterator[Layers]:
        """Yield one array `[n_layers, n_tokens, dim]` a sentence, reading ahead only a few thousand words."""
        n_subwords = min(_SUBWORDS_PER_BATCH, max(1, _FLOATS_PER_BATCH // (len(self.layer_names) * self.dim)))
        for ahead in _read_ahead(sentences, _BATCHES_AHEAD * n_subwords):
            yield from self._encode(ahead, n_subwords)

    def _encode(self, sentences: Sequence[Sequence[str]], n_subwords: int) -> Iterator[Layers]:
        """Run sentences in batches of like length and give back their order."""
        split = self._tokenizer.split(sentences)
        self._check_ids(max((subword for subwords in split for subword in subwords.ids), default=0))
        width = self.window - self._n_special
        pieces = [
            (index, window)
            for index, subwords in enumerate(split)
            for window in windows(len(subwords.ids), width, self.left_to_right)
            if subwords.ids
        ]
        pieces.sort(key=lambda piece: piece[1].start - piece[1].stop)
        vectors = [np.empty((len(self.layer_names), len(subwords.ids), self.dim), np.float32) for subwords in split]
        for batch in _batches(pieces, self._n_special, n_subwords):
            rows = [split[index].ids[window.start : window.stop] for index, window in batch]
            for (index, window), hidden in zip(batch, self._run(rows), strict=True):
                kept = slice(window.first - window.start, window.last - window.start)
                vectors[index][:, window.first : window.last] = hidden[:, kept]
        for subwords, of_subwords in zip(split, vectors, strict=True):
            yield _means(of_subwords, subwords.starts)

    @torch.inference_mode()
    def _run(self, rows: Sequence[Sequence[int]]) -> list[Layers]:
        """Run one batch: the hidden states [n_layers, length, dim] of each row of ids, special tokens taken off."""
        prefix, suffix = self._tokenizer.prefix, self._tokenizer.suffix
        whole = [[*prefix, *row, *suffix] for row in rows]
        shape = (len(whole), max(len(row) for row in whole))
        ids = torch.full(shape, self._padding, dtype=torch.long)
        within = torch.zeros(shape, dtype=torch.long)
        for place, row in enumerate(whole):
            ids[place, : len(row)] = torch.tensor(row)
            within[place, : len(row)] = 1
        device = self._model.device
        output = self._model(
            input_ids=ids.to(device), attention_mask=within.to(device), output_hidden_states=True, return_dict=True
        )
        # On its way to one array, layer by layer: the network's own tensors are not held twice.
        hidden = np.stack([layer.float().cpu().numpy() for layer in output.hidden_states])
        return [hidden[:, place, len(prefix) : len(prefix) + len(row)] for place, row in enumerate(rows)]

    def _examine(self) -> bool:
        """See that the network gives one vector a sub-word and layer; tell whether it sees the left context alone."""
        one, other = self._tokenizer.two_subwords
        try:
            length = min(6, self.window - self._n_special)
            before, after = (self._run([[one] * (length - 1) + [last]])[0] for last in (one, other))
        except Exception as error:  # a network can raise almost anything
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise UserError(f"{self._name}: the network cannot be run ({reason})") from error
        expected = (len(self.layer_names), length, self.dim)
        if before.shape != expected:
            raise UserError(f"{self._name}: {length} sub-words give hidden states {before.shape}, expected {expected}")
        change = float(np.abs(before - after)[:, :-1].max())
        return change <= 1e-6 * float(np.abs(before).max())

    def _check_ids(self, highest: int) -> None:
        if highest >= self._n_embeddings:
            raise UserError(
                f"{self._name}: the tokenizer gives the sub-word {highest}, the network knows {self._n_embeddings}: "
                "they do not belong together"
            )

    def _hash(self, versions: str) -> str:
        config = self._model.config.to_dict()
        for place in ("_name_or_path", "transformers_version"):
            config.pop(place, None)
        parts = ["huggingface", versions, json.dumps(config, sort_keys=True, default=str), self._tokenizer.definition]
        parts.append(f"{self.window} {self.left_to_right} {self._tokenizer.prefix} {self._tokenizer.suffix}")
        digest = hashlib.sha256("\n".join(parts).encode())
        for name, tensor in used_weights(self._model):
            digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
            digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()


class HuggingfaceEncoderConfig(EncoderConfig):
    """A Transformer that the transformers library can load (AutoModel); needs the extra `[transformers]`.

    Attributes
    ----------
    huggingface : str
        A model's folder (also relative to the data folder), `package:NAME/folder` for one that comes in an installed
        Python package, or a name on the hub.
    untrained : list of int, optional
        Take only the model's shape and tokenizer and draw its weights from each of these seeds: what the architecture
        knows by itself.
    revision : str, optional
        Of a model on the hub: a branch, a tag or a commit.
    weights : str, optional
        A pickle in the model's folder, such as pytorch_model.bin, to read the weights from. Without it, safetensors
        are read and nothing else.
    device : str
        "auto" takes a GPU where there is one.
    name : str, optional
        What it is called in results.
    """

    huggingface: str = Field(min_length=1)
    untrained: Untrained = None
    revision: str | None = None
    weights: str | None = Field(default=None, min_length=1)
    device: str = "auto"
    name: Name = None

    @property
    def label(self) -> str:
        """The given name, or that of the package, or the path's last part; "(untrained)" is added."""
        is_package = self.huggingface.startswith(PACKAGE)
        short = self.huggingface.removeprefix(PACKAGE).split("/")[0] if is_package else last_part(self.huggingface)
        label = self.name or short
        return label + UNTRAINED if self.untrained else label

    @property
    def seeds(self) -> tuple[int | None, ...]:
        """The seeds of untrained networks."""
        return self.untrained or (None,)

    @property
    def n_layers(self) -> int:
        """The embeddings' layer and one for each block."""
        return int(load_config(find_source(self.huggingface), self.revision).num_hidden_layers) + 1

    def check(self) -> None:
        """See that there is such a model, with weights where they are needed, and that its tokenizer can be used."""
        source = find_source(self.huggingface)
        load_config(source, self.revision)
        SubwordTokenizer(load_tokenizer(source, self.revision), self.huggingface)
        if not self.untrained:
            check_weights(source, self.weights)

    def build(self, seed: int | None) -> HuggingfaceEncoder:
        """Load the weights, or draw them from `seed`."""
        source = find_source(self.huggingface)
        config = load_config(source, self.revision)
        tokenizer = load_tokenizer(source, self.revision)
        if seed is None:
            model = load_model(source, self.revision, config, self.weights)
            description = f"trained weights of {self.huggingface}"
        else:
            model = draw_model(source, config, seed)
            description = f"the shape of {self.huggingface} with random weights"
        model = model.to(usable_device(self.device)).eval()
        subwords = SubwordTokenizer(tokenizer, self.huggingface)
        return HuggingfaceEncoder(model, subwords, tokenizer.model_max_length, self.huggingface, description)


def _window(model: Any, max_subwords: int) -> int:
    """Return how many sub-words a network reads at once: the least of what its tokenizer and its config say.

    RoBERTa counts positions from the padding's id on: the first ones are never used.
    """
    positions = getattr(model.config, "max_position_embeddings", None)
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            positions = module.num_embeddings - module.padding_idx - 1
    limits = [limit for limit in (max_subwords, positions) if isinstance(limit, int) and 0 < limit < 10**9]
    return min(limits, default=_DEFAULT_WINDOW)


def _read_ahead(sentences: Iterable[Sequence[str]], n_words: int) -> Iterator[list[Sequence[str]]]:
    """Cut a stream into lists of about `n_words` words."""
    ahead: list[Sequence[str]] = []
    size = 0
    for sentence in sentences:
        check_sentence(sentence)
        ahead.append(sentence)
        size += len(sentence) + 2
        if size >= n_words:
            yield ahead
            ahead, size = [], 0
    if ahead:
        yield ahead


def _batches(
    pieces: Sequence[tuple[int, Window]], n_special: int, n_subwords: int
) -> Iterator[list[tuple[int, Window]]]:
    """Cut pieces, ordered from the longest, into batches of at most `n_subwords` positions (at least one piece)."""
    batch: list[tuple[int, Window]] = []
    for piece in pieces:
        longest = (batch or [piece])[0][1]
        if batch and (len(batch) + 1) * (longest.stop - longest.start + n_special) > n_subwords:
            yield batch
            batch = []
        batch.append(piece)
    if batch:
        yield batch


def _means(vectors: Layers, starts: Sequence[int]) -> Layers:
    """Return the mean of each word's sub-words: [n_layers, n_words, dim] of [n_layers, n_subwords, dim]."""
    if len(starts) == vectors.shape[1]:
        return vectors
    sizes = np.diff([*starts, vectors.shape[1]]).astype(np.float32)
    sums: Layers = np.add.reduceat(vectors, starts, axis=1)
    return (sums / sizes[:, None]).astype(np.float32, copy=False)
