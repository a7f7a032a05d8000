"""Small `bilm` networks with weights so strong that a wrong gate, clip or mask shows, and toy text to run them on."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bilm.characters import batch_to_ids
from bilm.model import BiLM, BiLMOutput
from bilm.official import load_official
from tests import reference

SHORT = ["two", "grey", "geese"]
SENTENCE = ["The", "old", "captain", "'s", "parrot", "counted", "seven", "white", "sails", "before", "noon", "."]
LONG = [f"{word}{number}" for number in range(10) for word in SENTENCE]
"""Ten times as long as SENTENCE."""
ODD_WORDS = [
    "",  # a real word without bytes
    "a",
    "w" * 9,
    "w" * 10,  # just fits a row of 12
    "w" * 11,
    "w" * 70,
    "\U0001f986",  # an emoji: four bytes
    "abcdefgh\U0001f986",  # cut in the middle of a code point by a row of 12
    "é" * 30,
    "\ud800",  # a lone surrogate has no bytes
    "x\udfffy",
    "\x00",
    "a\x00b",
    "\u00a0",
    "a\u3000b",
    "\u2028",
    "<S>",
    "</S>",
    "<UNK>",
]


def bilm_of(options: reference.Options, weights: reference.Weights) -> BiLM:
    """Return the `bilm` network of official options and weights, by way of the files."""
    with TemporaryDirectory() as folder:
        model = load_official(*reference.write_official(Path(folder), options, weights))
    return model.eval()


def strong_model(seed: int = 0, **options: Any) -> BiLM:
    """Return a small `bilm` network with the reference's random weights; `options` as in `reference.make_options`."""
    full = reference.make_options(**options)
    return bilm_of(full, reference.random_official_model(full, seed))


def ids(model: BiLM, sentences: Sequence[Sequence[str]]) -> Tensor:
    """Return the batch's character ids in the width that `model` wants."""
    return batch_to_ids(sentences, model.config.char_cnn.max_characters_per_token)


def run(model: BiLM, sentences: Sequence[Sequence[str]], **arguments: Any) -> BiLMOutput:
    """Run `model` over a batch without gradients."""
    with torch.no_grad():
        output: BiLMOutput = model(ids(model, sentences), **arguments)
    return output


def row(output: BiLMOutput, k: int) -> np.ndarray[Any, np.dtype[Any]]:
    """Return row k of a batch without its padding, shape (n_layers + 1, n_tokens, dim)."""
    return output.layers[:, k, : int(output.mask[k].sum())].detach().numpy()
