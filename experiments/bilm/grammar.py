"""Write text from a small grammar whose entropy is known, so that a training run can be checked against a true value.

    python experiments/bilm/grammar.py runs/grammar

writes `train.txt` (20,000 sentences) and `valid.txt` (1,000), and prints the lowest perplexity that any model can have.
"""

import math
import sys
from pathlib import Path

import numpy as np

SLOTS = (
    ("a", "the", "every", "some"),
    ("old", "grey", "quiet", "small", "clever"),
    ("goose", "captain", "parrot", "otter", "baker", "pilot", "sailor", "miller"),
    ("counts", "paints", "follows", "hides", "finds", "mends", "sells", "admires"),
    ("one", "two", "three", "many"),
    ("lamps", "kettles", "sails", "violins", "orchards", "letters", "bells", "ladders"),
)
"""A sentence takes one word of each slot, all equally likely."""


def perplexity() -> float:
    """Return the perplexity of the grammar itself: its entropy over the words and the end of a sentence."""
    return math.exp(sum(math.log(len(slot)) for slot in SLOTS) / (len(SLOTS) + 1))


def sentences(n: int, seed: int) -> list[str]:
    """Return `n` sentences."""
    generator = np.random.default_rng(seed)
    return [" ".join(str(generator.choice(slot)) for slot in SLOTS) for _ in range(n)]


def main(folder: Path) -> None:
    """Write both files into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, n, seed in (("train.txt", 20_000, 0), ("valid.txt", 1000, 1)):
        (folder / name).write_text("\n".join(sentences(n, seed)) + "\n", encoding="utf-8")
    sys.stdout.write(f"lowest possible perplexity: {perplexity():.3f}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
