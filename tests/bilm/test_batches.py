"""Shards to shuffled sentences and packed batches."""

import gzip
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pytest

from bilm.batches import (
    Cursor,
    Piece,
    Row,
    Sentence,
    SentenceBatches,
    ShuffledText,
    StreamBatches,
    n_steps,
    pack,
    whole,
)
from bilm.characters import boundary_ids, words_to_ids
from bilm.text import TextError
from bilm.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["the", "<S>", "</S>", "<UNK>", "goose", "swims"])


def write_shards(folder: Path, n_sentences: int = 60) -> list[Path]:
    """Write numbered sentences of 1 to 7 words over three shards, one of them gzip."""
    lines: list[list[str]] = [[], [], []]
    for number in range(n_sentences):
        lines[number % 3].append(" ".join(f"w{number}" for _ in range(1 + number % 7)))
    paths = [folder / "a.txt", folder / "b.txt", folder / "c.txt.gz"]
    for path, part in zip(paths, lines, strict=True):
        data = "".join(f"{line}\n" for line in part).encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return paths


def sentences(batch: Sequence[Row]) -> list[Sentence]:
    return [piece.sentence for row in batch for piece in row if piece.start == 0]


def first_pass(batches: SentenceBatches | StreamBatches) -> list[list[Row]]:
    found = []
    for batch in batches:
        if batches.cursor.epoch:
            break
        found.append(batch)
    return found


def both_regimes(paths: Sequence[Path], seed: int = 0, window_words: int = 90) -> list[SentenceBatches | StreamBatches]:
    text = ShuffledText(paths, seed=seed, window_words=window_words)
    return [SentenceBatches(text, 20), StreamBatches(text, 4, 5)]


@pytest.mark.parametrize("regime", [0, 1], ids=["sentences", "stream"])
def test_a_pass_has_every_sentence_once(tmp_path: Path, regime: int) -> None:
    batches = first_pass(both_regimes(write_shards(tmp_path))[regime])
    counts = Counter(sentence for batch in batches for sentence in sentences(batch))
    assert len(counts) == 60 and set(counts.values()) == {1}
    # Every step of every sentence: its words and one boundary.
    assert sum(n_steps(batch) for batch in batches) == sum(len(sentence) + 1 for sentence in counts)


@pytest.mark.parametrize("regime", [0, 1], ids=["sentences", "stream"])
def test_the_same_seed_gives_the_same_order_and_another_seed_another(tmp_path: Path, regime: int) -> None:
    paths = write_shards(tmp_path)
    first, again, other = (list(islice(both_regimes(paths, seed)[regime], 40)) for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.parametrize("regime", [0, 1], ids=["sentences", "stream"])
def test_passes_differ_in_order(tmp_path: Path, regime: int) -> None:
    batches = both_regimes(write_shards(tmp_path))[regime]
    passes: dict[int, list[Sentence]] = {}
    for batch in islice(batches, 40):
        passes.setdefault(batches.cursor.epoch, []).extend(sentences(batch))
    assert set(passes[0]) == set(passes[1]) and passes[0] != passes[1]


@pytest.mark.parametrize("regime", [0, 1], ids=["sentences", "stream"])
def test_a_resumed_reader_goes_on_as_if_it_had_never_stopped_L30(tmp_path: Path, regime: int) -> None:
    paths = write_shards(tmp_path)
    whole_run = list(islice(both_regimes(paths)[regime], 45))  # more than two passes
    for stop in range(0, 45, 4):
        batches = both_regimes(paths)[regime]
        head = list(islice(batches, stop))
        fresh = both_regimes(paths)[regime]
        fresh.restore(batches.state())
        assert head + list(islice(fresh, 45 - stop)) == whole_run


def test_sentence_batches_have_like_lengths_and_keep_to_the_budget(tmp_path: Path) -> None:
    text = ShuffledText(write_shards(tmp_path), seed=0)
    for batch in first_pass(SentenceBatches(text, 20)):
        lengths = [len(sentence) for sentence in sentences(batch)]
        assert sum(lengths) <= 20 and max(lengths) - min(lengths) <= 3


def test_a_stream_row_fills_its_steps_with_sentence_after_sentence(tmp_path: Path) -> None:
    batches = StreamBatches(ShuffledText(write_shards(tmp_path), seed=0), 4, 5)
    unfinished: list[Piece | None] = [None] * 4
    for batch in islice(batches, 8):
        assert [n_steps([row]) for row in batch] == [5] * 4
        for index, row in enumerate(batch):
            for piece in row:
                before = unfinished[index]
                assert before is None or (piece.sentence, piece.start) == (before.sentence, before.stop)
                unfinished[index] = piece if piece.stop <= len(piece.sentence) else None


@pytest.mark.parametrize("regime", [0, 1], ids=["sentences", "stream"])
def test_a_text_smaller_than_one_batch_still_ends_its_pass_L29(tmp_path: Path, regime: int) -> None:
    path = tmp_path / "tiny.txt"
    path.write_text("one two\nthree\n", encoding="utf-8")
    text = ShuffledText([path], seed=0)
    (only,) = first_pass(StreamBatches(text, 128, 20) if regime else SentenceBatches(text, 100_000))
    assert sorted(sentences(only)) == [("one", "two"), ("three",)]


def test_a_line_of_50000_words_is_cut_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "long.txt"
    path.write_text("a b\n" + " ".join(["word"] * 50_000) + "\n", encoding="utf-8")
    text = ShuffledText([path], seed=0, max_sentence_words=300)
    _, window = next(text.windows(Cursor()))
    assert max(map(len, window)) == 300 and sum(map(len, window)) == 50_002
    assert f"{path}:2: a line of 50000 words" in caplog.text


def test_an_empty_shard_is_named_and_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    paths = [*write_shards(tmp_path), tmp_path / "empty.txt"]
    paths[-1].write_bytes(b"")
    assert len(first_pass(both_regimes(paths)[0])) > 5
    assert f"{paths[-1]}: no sentence in this shard" in caplog.text


def test_a_text_without_any_sentence_is_refused_L39(tmp_path: Path) -> None:
    path = tmp_path / "blank.txt"
    path.write_text("\n\n", encoding="utf-8")
    with pytest.raises(TextError, match=r"no sentence in .*blank\.txt"):
        next(iter(both_regimes([path])[0]))


def test_both_directions_predict_every_word_of_the_same_sentences() -> None:
    batch = pack([whole(("the", "goose")), whole(("the", "the", "otter"))], VOCABULARY, 12)
    # Rows from the longest; 4 steps of the second sentence, 3 of the first; words are numbered from the shortest.
    assert batch.order.tolist() == [1, 0]
    assert batch.batch_sizes == [2, 2, 2, 1]
    distinct = ["the", "goose", "otter"]
    assert batch.character_ids[:2].tolist() == boundary_ids(12).tolist()
    assert batch.character_ids[2:].tolist() == words_to_ids(distinct, 12).tolist()
    start, end, the, goose, otter = range(5)
    assert batch.inputs[0].tolist() == [start, start, the, the, the, goose, otter]
    assert batch.inputs[1].tolist() == [end, end, otter, goose, the, the, the]
    ids = {word: VOCABULARY.index(word) for word in ("<S>", "</S>", "<UNK>", "the", "goose")}
    assert batch.targets[0].tolist() == [ids[w] for w in ("the", "the", "the", "goose", "<UNK>", "</S>", "</S>")]
    assert batch.targets[1].tolist() == [ids[w] for w in ("<UNK>", "goose", "the", "the", "the", "<S>", "<S>")]
    assert batch.n_words == 5 and batch.n_steps == 7


def test_a_literal_boundary_in_a_text_is_an_unknown_word() -> None:
    batch = pack([whole(("<S>",))], VOCABULARY, 12)
    assert batch.inputs[0].tolist() == [0, 2]  # spelled out, not the boundary
    assert batch.targets[0].tolist() == [VOCABULARY.index("<UNK>"), VOCABULARY.index("</S>")]
