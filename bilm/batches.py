"""Shuffled sentences and packed batches for training.

Sentences are streamed from text shards: only a window of them is in memory, and they are shuffled within it. Where a
run stands in the text is a small cursor, and the same cursor and seed always give the same batches from there on.
"""

import logging
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from bilm.characters import boundary_ids, word_to_ids
from bilm.text import TextError, read_sentences
from bilm.vocabulary import SENTENCE_END, SENTENCE_START, Vocabulary

logger = logging.getLogger(__name__)

Sentence = tuple[str, ...]


class Cursor(NamedTuple):
    """A place in the text: the next item (batch or sentence) of the window that starts after `line` of `shard`."""

    epoch: int = 0
    shard: int = 0
    line: int = 0
    item: int = 0


class ShuffledText:
    """Sentences of all shards, pass after pass, shuffled by seed: the order of shards, and sentences within windows.

    Parameters
    ----------
    shards : sequence of Path
    seed : int
    window_words : int
        About so many words are held in memory and shuffled.
    max_sentence_words : int
        A longer line is cut into sentences of at most so many words.
    """

    def __init__(
        self, shards: Sequence[Path], *, seed: int, window_words: int = 1_000_000, max_sentence_words: int = 400
    ) -> None:
        self.shards = list(shards)
        self.seed = seed
        self.window_words = window_words
        self.max_sentence_words = max_sentence_words
        self._warned = False

    def windows(self, cursor: Cursor) -> Iterator[tuple[Cursor, list[Sentence]]]:
        """Yield windows for ever, from the one at `cursor`, each with its own cursor (item 0).

        Raises
        ------
        TextError
            If a whole pass gives no sentence.
        """
        while True:
            found = False
            for place, window in self._one_pass(cursor):
                found = True
                generator = np.random.default_rng([self.seed, *place])
                yield place, [window[index] for index in generator.permutation(len(window))]
            if not found and cursor[1:] == (0, 0, 0):
                raise TextError(f"no sentence in {', '.join(map(str, self.shards))}")
            cursor = Cursor(epoch=cursor.epoch + 1)

    def _one_pass(self, cursor: Cursor) -> Iterator[tuple[Cursor, list[Sentence]]]:
        """Yield the windows of the rest of one pass, in file order inside."""
        order = np.random.default_rng([self.seed, cursor.epoch]).permutation(len(self.shards))
        place = cursor._replace(item=0)
        window: list[Sentence] = []
        n_words = 0
        for shard in range(cursor.shard, len(self.shards)):
            path = self.shards[order[shard]]
            empty = True
            first = cursor.line if shard == cursor.shard else 0
            for line, sentence in enumerate(islice(read_sentences(path), first, None), start=first + 1):
                if not sentence:
                    continue
                empty = False
                window.extend(self._cut(tuple(sentence), path, line))
                n_words += len(sentence)
                if n_words >= self.window_words:
                    yield place, window
                    place, window, n_words = Cursor(cursor.epoch, shard, line), [], 0
            if empty and cursor == Cursor() and len(self.shards) > 1:
                logger.warning("%s: no sentence in this shard", path)
        if window:
            yield place, window

    def _cut(self, sentence: Sentence, path: Path, line: int) -> Iterator[Sentence]:
        limit = self.max_sentence_words
        if len(sentence) > limit and not self._warned:
            self._warned = True
            logger.warning(
                "%s:%d: a line of %d words, cut into sentences of %d (said once)", path, line, len(sentence), limit
            )
        for start in range(0, len(sentence), limit):
            yield sentence[start : start + limit]


class Piece(NamedTuple):
    """Some steps of a sentence. Step k of a sentence of n words (k from 0 to n) reads word k, step 0 the boundary."""

    sentence: Sentence
    start: int
    stop: int


Row = list[Piece]


def whole(sentence: Sentence) -> Row:
    """Return the row that is one whole sentence."""
    return [Piece(sentence, 0, len(sentence) + 1)]


class SentenceBatches:
    """Whole sentences of like length, about `words_per_step` words at a time.

    Iterating gives lists of rows, for ever; `cursor` says what comes next.
    """

    def __init__(self, text: ShuffledText, words_per_step: int, cursor: Cursor | None = None) -> None:
        self.text = text
        self.words_per_step = words_per_step
        self.cursor = cursor or Cursor()

    def __iter__(self) -> Iterator[list[Row]]:
        for place, window in self.text.windows(self.cursor):
            batches = self._batches(window, np.random.default_rng([self.text.seed, *place, 1]))
            first = self.cursor.item if self.cursor[:3] == place[:3] else 0
            for item in range(first, len(batches)):
                self.cursor = place._replace(item=item + 1)
                yield batches[item]
            self.cursor = place._replace(item=len(batches))

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs, as JSON can hold it."""
        return {"cursor": list(self.cursor)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go to a place that `state` described."""
        self.cursor = Cursor(*state["cursor"])

    def _batches(self, window: list[Sentence], generator: np.random.Generator) -> list[list[Row]]:
        """Cut a shuffled window into batches of like length; their order is shuffled again."""
        batches: list[list[Row]] = []
        n_words = self.words_per_step
        for sentence in sorted(window, key=len, reverse=True):
            if n_words + len(sentence) > self.words_per_step:
                batches.append([])
                n_words = 0
            batches[-1].append(whole(sentence))
            n_words += len(sentence)
        return [batches[index] for index in generator.permutation(len(batches))]


class StreamBatches:
    """`n_rows` endless streams of sentences, `unroll_steps` steps at a time, as in the reference code.

    At the end of a pass the streams run dry, each in its own time, so that every sentence of a pass is seen in it.
    """

    def __init__(self, text: ShuffledText, n_rows: int, unroll_steps: int) -> None:
        self.text = text
        self.unroll_steps = unroll_steps
        self.cursor = Cursor()
        self.rows: list[Piece | None] = [None] * n_rows

    def __iter__(self) -> Iterator[list[Row]]:
        sentences = self._sentences()
        ahead = next(sentences)
        epoch = self.cursor.epoch
        while True:
            if all(piece is None for piece in self.rows):
                epoch = ahead[0].epoch  # every stream has run dry: the next pass begins
            batch: list[Row] = []
            for index, piece in enumerate(self.rows):
                row: Row = []
                room = self.unroll_steps
                while room:
                    if piece is None:
                        if ahead[0].epoch != epoch:
                            break
                        self.cursor = ahead[0]
                        piece = whole(ahead[1])[0]
                        ahead = next(sentences)
                    stop = min(piece.stop, piece.start + room)
                    row.append(piece._replace(stop=stop))
                    room -= stop - piece.start
                    piece = piece._replace(start=stop) if stop < piece.stop else None
                self.rows[index] = piece
                batch.append(row)
            yield batch

    def _sentences(self) -> Iterator[tuple[Cursor, Sentence]]:
        """Yield sentences, each with the cursor of the one after it."""
        for place, window in self.text.windows(self.cursor):
            first = self.cursor.item if self.cursor[:3] == place[:3] else 0
            for item in range(first, len(window)):
                yield place._replace(item=item + 1), window[item]

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs, as JSON can hold it."""
        return {"cursor": list(self.cursor), "rows": [piece and list(piece) for piece in self.rows]}

    def restore(self, state: dict[str, Any]) -> None:
        """Go to a place that `state` described."""
        self.cursor = Cursor(*state["cursor"])
        self.rows = [piece and Piece(tuple(piece[0]), *piece[1:]) for piece in state["rows"]]


class Batch(NamedTuple):
    """A packed batch: rows from the longest to the shortest, time step after time step.

    Both directions have the same packing. The forward direction reads `<S> w1 ... wn` and predicts `w1 ... wn </S>`;
    the backward direction reads `</S> wn ... w1` and predicts `wn ... w1 <S>`.

    Attributes
    ----------
    character_ids : int64 tensor, shape (n_distinct, max_characters)
        The distinct words, shortest first, after the two boundaries.
    batch_sizes : running rows of each time step
    inputs, targets : (forward, backward) int64 tensors, shape (n_steps,)
        Rows of `character_ids`, and words of the vocabulary.
    order : int64 tensor
        For each packed row, its place in the list that was packed; rows without steps come last.
    n_words : int
        Steps that read a word and not a boundary.
    """

    character_ids: Tensor
    batch_sizes: list[int]
    inputs: tuple[Tensor, Tensor]
    targets: tuple[Tensor, Tensor]
    order: Tensor
    n_words: int

    @property
    def n_steps(self) -> int:
        """Predictions in each direction."""
        return len(self.inputs[0])

    def to(self, device: torch.device) -> "Batch":
        """Move the tensors."""
        both = [(pair[0].to(device), pair[1].to(device)) for pair in (self.inputs, self.targets)]
        return Batch(
            self.character_ids.to(device), self.batch_sizes, both[0], both[1], self.order.to(device), self.n_words
        )


def n_steps(rows: Sequence[Row]) -> int:
    """Return the number of steps in some rows."""
    return sum(piece.stop - piece.start for row in rows for piece in row)


def pack(rows: Sequence[Row], vocabulary: Vocabulary, max_characters: int) -> Batch:
    """Pack rows for both directions."""
    lengths = np.array([n_steps([row]) for row in rows])
    order = np.argsort(-lengths, kind="stable")
    words = set(chain.from_iterable(piece.sentence for row in rows for piece in row))
    distinct = sorted(words, key=lambda word: (len(word.encode("utf-8", "ignore")), word))
    index = {word: number for number, word in enumerate(distinct, start=2)}
    character_ids = np.empty((len(distinct) + 2, max_characters), dtype=np.int64)
    character_ids[:2] = boundary_ids(max_characters)
    for word, number in index.items():
        character_ids[number] = word_to_ids(word, max_characters)
    target = {word: vocabulary.index_of_text(word) for word in distinct}
    start, end = vocabulary.index(SENTENCE_START), vocabulary.index(SENTENCE_END)

    time = int(lengths.max(initial=0))
    arrays = np.zeros((4, time, len(rows)), dtype=np.int64)  # forward and backward inputs, forward and backward targets
    for column, number in enumerate(order):
        filled = 0
        for sentence, first, stop in rows[number]:
            now = slice(filled, filled + stop - first)
            filled = now.stop
            read = [index[word] for word in sentence]
            predict = [target[word] for word in sentence]
            arrays[0, now, column] = [0, *read][first:stop]
            arrays[1, now, column] = [1, *reversed(read)][first:stop]
            arrays[2, now, column] = [*predict, end][first:stop]
            arrays[3, now, column] = [*reversed(predict), start][first:stop]
    running = np.arange(time)[:, None] < lengths[order]
    packed = [torch.from_numpy(array[running]) for array in arrays]
    return Batch(
        torch.from_numpy(character_ids),
        running.sum(axis=1).tolist(),
        (packed[0], packed[1]),
        (packed[2], packed[3]),
        torch.from_numpy(order),
        int((packed[0] > 1).sum()),
    )
