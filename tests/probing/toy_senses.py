"""A toy dictionary and toy sense-annotated text, so that the road of word senses can be walked without any data."""

from pathlib import Path
from xml.sax.saxutils import quoteattr

INDEX = """\
bank%1:14:00:: 00000001 2 20
bank%1:17:01:: 00000002 1 25
bank%2:40:00:: 00000003 1 2
goose%1:05:00:: 00000004 1 1
hot%3:00:01:: 00000005 1 9
hot%5:00:00:eager:00 00000006 2 3
take_part%2:41:00:: 00000007 1 5
"""
SIDE, MONEY, DEPOSIT, GOOSE = "bank%1:17:01::", "bank%1:14:00::", "bank%2:40:00::", "goose%1:05:00::"
HOT, EAGER, JOIN = "hot%3:00:01::", "hot%5:00:00:eager:00", "take_part%2:41:00::"

Word = str | tuple[str, str, str, str]
"""A word, or (text, lemma, part of speech, gold keys) of a target."""

TRAIN: list[list[Word]] = [
    ["the", ("bank", "bank", "NOUN", SIDE), "of", "the", "river"],
    ["a", ("goose", "goose", "NOUN", GOOSE), "on", "the", ("bank", "bank", "NOUN", SIDE)],
    ["the", ("bank", "bank", "NOUN", MONEY), "lends", "money"],
    ["my", ("bank", "bank", "NOUN", MONEY), "closed"],
    ["the", ("banks", "bank", "NOUN", MONEY), "lend"],
    ["they", ("take part", "take_part", "VERB", JOIN), "in", "it"],
    ["a", ("hot", "hot", "ADJ", HOT), "day"],
    ["so", ("hot", "hot", "ADJ", f"{EAGER} {HOT}"), "on", "it"],
]
DEV: list[list[Word]] = [["a", ("bank", "bank", "NOUN", MONEY), "lends"], ["it", "is", ("hot", "hot", "ADJ", EAGER)]]
TEST: list[list[Word]] = [
    ["nothing", "here"],
    ["the", ("bank", "bank", "NOUN", MONEY), "of", "a", ("goose", "goose", "NOUN", GOOSE)],
    ["to", ("bank", "bank", "VERB", DEPOSIT), "money"],
    ["to", ("take part", "take_part", "VERB", JOIN)],
    ["the", ("quark", "quark", "NOUN", "quark%1:09:00::")],
]


def write_framework(path: Path, sentences: list[list[Word]]) -> str:
    """Write X.data.xml and X.gold.key.txt; return the path of the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines, keys, count = [], [], 0
    for number, words in enumerate(sentences):
        lines.append(f'<sentence id="d000.s{number:03d}">')
        for word in words:
            if isinstance(word, str):
                lines.append(f'<wf lemma={quoteattr(word)} pos="X">{word}</wf>')
            else:
                text, lemma, pos, gold = word
                name = f"d000.s{number:03d}.t{count:03d}"
                count += 1
                lines.append(f'<instance id="{name}" lemma="{lemma}" pos="{pos}">{text}</instance>')
                keys.append(f"{name} {gold}")
        lines.append("</sentence>")
    body = "\n".join(lines)
    path.write_text(
        f'<?xml version="1.0" encoding="UTF-8" ?>\n<corpus lang="en" source="toy">\n<text id="d000">\n{body}\n</text>\n'
        "</corpus>\n",
        encoding="utf-8",
    )
    path.with_name(path.name.replace(".data.xml", ".gold.key.txt")).write_text("\n".join(keys) + "\n", encoding="utf-8")
    return str(path)


def write_senses(folder: Path) -> dict[str, str]:
    """Write a data folder (the dictionary) and three files of text; return the keys of a `wsd` task."""
    (folder / "wordnet-3.0").mkdir(parents=True)
    (folder / "wordnet-3.0" / "index.sense").write_text(INDEX, encoding="utf-8")
    texts = {"train": TRAIN, "dev": DEV, "test": TEST}
    return {split: write_framework(folder / f"{split}.data.xml", text) for split, text in texts.items()}
