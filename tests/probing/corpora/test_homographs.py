"""The corpus that comes with the package is what its README says, and nothing in it gives an answer away."""

from collections import Counter

import pytest

from probing.corpora import CORPORA, SPLITS, Sentence, corpus_files, load_split

SIZES = {"train": (960, 12_172, 10), "dev": (288, 3_690, 3), "test": (672, 8_495, 7)}
UPOS = {"ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT"} | {
    "SCONJ", "SYM", "VERB", "X"
}  # fmt: skip


@pytest.fixture(autouse=True)
def _no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBING_DATA", "/nowhere")


@pytest.fixture(scope="module")
def splits() -> dict[str, list[Sentence]]:
    return {split: load_split("homographs", split) for split in SPLITS}


def marked(sentence: Sentence) -> list[tuple[int, str]]:
    """Return the position and the sense of each token that MISC gives a sense."""
    return [
        (position, item.removeprefix("Sense="))
        for position, misc in enumerate(sentence.columns["misc"])
        for item in misc.split("|")
        if item.startswith("Sense=")
    ]


def test_it_needs_no_data_folder_and_its_terms_lie_beside_it() -> None:
    folder = corpus_files("homographs")["train"].parent
    assert "CC0" in (folder / "README.md").read_text(encoding="utf-8")
    assert CORPORA["homographs"].licence == "CC0 1.0"


@pytest.mark.parametrize("split", SPLITS)
def test_sentences_tokens_and_senses_are_as_many_as_the_readme_says(
    splits: dict[str, list[Sentence]], split: str
) -> None:
    sentences, tokens, each = SIZES[split]
    assert len(splits[split]) == sentences
    assert sum(len(sentence.tokens) for sentence in splits[split]) == tokens
    senses = Counter(sense for sentence in splits[split] for _, sense in marked(sentence))
    assert (len(senses), set(senses.values())) == (96, {each})
    assert f"| {split} | {sentences} " in (corpus_files("homographs")[split].parent / "README.md").read_text("utf-8")


def test_each_of_48_lemmas_has_two_senses_of_one_part_of_speech(splits: dict[str, list[Sentence]]) -> None:
    senses: dict[str, set[str]] = {}
    tags: dict[str, set[str]] = {}
    for sentence in (one for several in splits.values() for one in several):
        ((position, sense),) = marked(sentence)
        lemma = sentence.columns["lemma"][position]
        senses.setdefault(lemma, set()).add(sense)
        tags.setdefault(lemma, set()).add(sentence.columns["upos"][position])
        assert sense.startswith(f"{lemma}.")
    assert len(senses) == 48
    assert {len(own) for own in senses.values()} == {2}
    assert Counter(tag for (tag,) in tags.values()) == {"NOUN": 42, "VERB": 6}


def test_every_token_has_one_of_the_17_universal_parts_of_speech(splits: dict[str, list[Sentence]]) -> None:
    assert len(UPOS) == 17
    assert {tag for several in splits.values() for one in several for tag in one.columns["upos"]} <= UPOS


@pytest.mark.parametrize("split", SPLITS)
def test_the_comments_name_the_same_target_and_sense_as_the_columns(
    splits: dict[str, list[Sentence]], split: str
) -> None:
    blocks = corpus_files("homographs")[split].read_text(encoding="utf-8").strip().split("\n\n")
    for block, sentence in zip(blocks, splits[split], strict=True):
        comments = dict(line[2:].split(" = ", 1) for line in block.split("\n") if line.startswith("# "))
        assert [(int(comments["target"]) - 1, comments["sense"])] == marked(sentence), sentence.place()
        assert comments["sent_id"] == sentence.id
        spaced = "".join(
            form + ("" if "SpaceAfter=No" in misc.split("|") else " ")
            for form, misc in zip(sentence.tokens, sentence.columns["misc"], strict=True)
        )
        assert spaced.strip() == comments["text"], sentence.place()


def test_no_sentence_stands_twice_in_one_split_or_in_two_whatever_its_case(splits: dict[str, list[Sentence]]) -> None:
    texts = Counter(" ".join(one.tokens).lower() for several in splits.values() for one in several)
    ids = Counter(one.id for several in splits.values() for one in several)
    assert [text for text, count in texts.items() if count > 1] == []
    assert [name for name, count in ids.items() if count > 1] == []


@pytest.mark.parametrize("split", SPLITS)
def test_always_the_same_sense_of_a_lemma_is_right_in_half_of_the_sentences(
    splits: dict[str, list[Sentence]], split: str
) -> None:
    senses: dict[str, Counter[str]] = {}
    for sentence in splits[split]:
        ((_, sense),) = marked(sentence)
        senses.setdefault(sense.partition(".")[0], Counter())[sense] += 1
    assert sum(max(counts.values()) for counts in senses.values()) / len(splits[split]) == 0.5
