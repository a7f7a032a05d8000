"""A toy treebank and a toy network, so that the whole road can be walked in a second, without any data."""

from pathlib import Path

from bilm import BiLM, BiLMConfig

TAGS = {
    "DET": ["the", "a", "every"],
    "NOUN": ["goose", "boat", "lamp", "walk", "saw"],
    "VERB": ["walk", "saw", "sinks", "glows"],
    "ADP": ["under", "near"],
    "PUNCT": [".", "!"],
}
PATTERNS = (
    ("DET", "NOUN", "VERB", "PUNCT"),
    ("DET", "NOUN", "VERB", "ADP", "DET", "NOUN", "PUNCT"),
    ("NOUN", "VERB"),
    ("PUNCT",),
)
SIZES = {"train": 60, "dev": 16, "test": 16}


def write_treebank(folder: Path, sizes: dict[str, int] | None = None) -> dict[str, str]:
    """Write train.conllu, dev.conllu and test.conllu; return their paths, as a config's `corpus`."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    count = 0
    for split, size in (sizes or SIZES).items():
        blocks = []
        for number in range(size):
            lines = [f"# sent_id = {split}-{number}"]
            for position, tag in enumerate(PATTERNS[number % len(PATTERNS)], start=1):
                count += 1
                words = TAGS[tag]
                # The word changes with the count of all words, in steps that share no factor with the lists' lengths.
                word = words[(7 * count) % len(words)]
                lines.append(f"{position}\t{word}\t_\t{tag}\t{tag[:2]}\t_\t0\troot\t_\t_")
            blocks.append("\n".join(lines) + "\n\n")
        path = folder / f"{split}.conllu"
        path.write_text("".join(blocks), encoding="utf-8")
        files[split] = str(path)
    return files


def save_network(folder: Path, seed: int = 0) -> str:
    """Save a tiny network in the native format; return its path, as a config's `bilm`."""
    config = BiLMConfig.model_validate(
        {
            "char_cnn": {
                "embedding": {"dim": 4},
                "filters": [[1, 4], [2, 4], [3, 8]],
                "n_highway": 1,
                "max_characters_per_token": 12,
            },
            "lstm": {"dim": 12, "projection_dim": 6, "n_layers": 2, "use_skip_connections": True, "cell_clip": 3},
        }
    )
    BiLM(config, seed=seed).save_pretrained(folder)
    return str(folder)
