"""What a result was made from: versions, data and models. No dates, no names of machines: a rerun gives the same."""

import platform
from collections import Counter
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from bilm.version import __version__
from probing.corpora import duplicate_sentences
from probing.encoders import Encoder
from probing.tasks import Split, Task

_LIBRARIES = ("torch", "scikit-learn", "numpy", "scipy", "pandas", "conllu", "h5py", "safetensors", "matplotlib")
_MOST_LABELS = 100  # of thousands of senses, the first will do
LONG = 5
"""Tokens from which on a sentence that stands in two splits is unlikely to do so by chance."""


def describe_software() -> dict[str, Any]:
    """Return the versions that numbers may depend on."""
    return {
        "package": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "libraries": {name: version(name) for name in _LIBRARIES},
    }


def describe_data(task: Task, splits: Mapping[str, Split]) -> dict[str, Any]:
    """Return sizes and hashes of a task's data, labels that train lacks, and sentences that train has too."""
    train = splits["train"]
    known = {label for example in train.examples for label in example.labels}
    others = {name: split for name, split in splits.items() if name != "train"}
    return {
        "corpus": task.corpus_name,
        "n_labels": len(known),
        "labels": sorted(known)[:_MOST_LABELS],
        "splits": {
            name: {
                "sentences": len(split.sentences),
                "examples": len(split.examples),
                "sha256": split.annotated_content,
            }
            for name, split in splits.items()
        },
        "labels_not_in_train": {
            name: dict(sorted(Counter(e.labels[0] for e in split.examples if not known.intersection(e.labels)).items()))
            for name, split in others.items()
        },
        "sentences_also_in_train": {
            name: duplicate_sentences(train.sentences, split.sentences) for name, split in others.items()
        },
        f"sentences_of_{LONG}_tokens_also_in_train": {
            name: duplicate_sentences(train.sentences, split.sentences, min_tokens=LONG)
            for name, split in others.items()
        },
    }


def describe_encoder(encoder: Encoder) -> dict[str, Any]:
    """Return what identifies a network, and its layers."""
    return {
        "description": encoder.description,
        "fingerprint": encoder.fingerprint,
        "n_layers": len(encoder.layer_names),
        "dim": encoder.dim,
        "layers": list(encoder.layer_names),
    }
