"""Toy runs for the tests of training: text from a small grammar, a network of a few thousand weights."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bilm.config import BiLMConfig, CharCNNConfig, LSTMConfig
from bilm.model import BiLM
from bilm.training_config import TrainingConfig
from bilm.vocabulary import Vocabulary

NOUNS = ["goose", "captain", "parrot", "sail", "otter", "lamp", "kettle", "orchard"]
_VERBS = ["counts", "paints", "follows", "hides", "finds", "mends", "sells", "admires"]
_ENDS = ["slowly", "today", "again", "at dawn", "in winter", "without haste"]

NETWORK = {
    "char_cnn": {"embedding": {"dim": 6}, "filters": [[1, 6], [2, 10]], "n_highway": 1, "max_characters_per_token": 12},
    "lstm": {
        "dim": 24,
        "projection_dim": 8,
        "n_layers": 2,
        "cell_clip": 3.0,
        "proj_clip": 3.0,
        "use_skip_connections": True,
    },
}


def grammar(n_sentences: int, seed: int = 0) -> list[list[str]]:
    """Return sentences such as "a goose counts every lamp today"."""
    generator = np.random.default_rng(seed)

    def pick(words: Sequence[str]) -> str:
        return str(generator.choice(words))

    return [
        f"{pick(['a', 'the'])} {pick(NOUNS)} {pick(_VERBS)} {pick(['a', 'every'])} {pick(NOUNS)} {pick(_ENDS)}".split()
        for _ in range(n_sentences)
    ]


def write_text(path: Path, sentences: Iterable[Sequence[str]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(" ".join(sentence) + "\n" for sentence in sentences), encoding="utf-8")
    return path


def toy_values(folder: Path, **sections: Any) -> dict[str, Any]:
    """Return the keys of a run on 300 sentences; `sections` are merged into them (dicts) or replace them."""
    text = folder / "text.txt"
    if not text.exists():
        write_text(text, grammar(300))
        write_text(folder / "valid.txt", grammar(40, seed=1))
    values: dict[str, Any] = {
        "name": "toy",
        "out": str(folder / "run"),
        "text": {"train": str(text), "valid": str(folder / "valid.txt"), "words_per_step": 100, "window_words": 1000},
        "network": NETWORK,
        "n_sampled": 10,
        "optimizer": {"rate": 0.01, "warmup_steps": 5},
        "stop": {"words": 2500},
        "report": {"log_steps": 5, "valid_steps": 10},
        "seed": 3,
    }
    for key, value in sections.items():
        values[key] = {**values.get(key, {}), **value} if isinstance(value, dict) else value
    return values


def toy_config(folder: Path, **sections: Any) -> TrainingConfig:
    return TrainingConfig.model_validate(toy_values(folder, **sections))


def toy_model(sentences: Iterable[Sequence[str]], *, max_size: int | None = None, seed: int = 0) -> BiLM:
    """Return an untrained network that predicts the words of some sentences."""
    char_cnn, lstm = NETWORK["char_cnn"], NETWORK["lstm"]
    config = BiLMConfig(char_cnn=CharCNNConfig.model_validate(char_cnn), lstm=LSTMConfig.model_validate(lstm))
    return BiLM(config, seed=seed, vocabulary=Vocabulary.count(sentences, max_size=max_size))
