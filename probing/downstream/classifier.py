"""Training and using a downstream model: vocabulary, batches, early stopping on dev."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor
from torch.nn.functional import cross_entropy

from bilm.characters import words_to_ids
from probing.downstream.network import MAX_CHARACTERS, Batch, Sizes, SpanNetwork, packed_orders
from probing.downstream.sequences import Sequences
from probing.training import UNKNOWN, known_codes, train

_WINDOW = 16  # batches whose sentences are sorted by length together, so that those of a batch are of like length
_MIN_UPDATES = 50  # between two looks at dev: passes over less training data than that are repeated


class BiLSTMClassifier:
    """A BiLSTM over a sentence that classifies spans in it, with ELMo nowhere, at its input, its output, or both.

    Adam on the mean cross-entropy of a batch and the mix penalty; after each epoch the cross-entropy on dev: the
    learning rate is halved where it did not fall, training stops after `patience` such epochs in a row, and the
    parameters of the best one are kept. On little data an epoch is as many passes as make 50 batches.

    Parameters
    ----------
    word_dim : int
        Width of the learned word vectors. Words that occur once in train share the unknown word's.
    hidden : int
        Width of the LSTM in each direction.
    dropout : float
        Share of the numbers dropped, in training, of what the LSTM reads and of what is classified.
    layer_norm : {None, "token"}
        What is done to each layer before mixing; see `bilm.ScalarMix`.
    learning_rate : float
    sentences_per_batch, patience, max_epochs : int
    random_state : int
        Draws first weights, order of sentences, and what is dropped.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
        Sorted labels.
    network_ : SpanNetwork
    dev_losses_ : list of float
        Cross-entropy in nats after each epoch, over the dev examples whose label train has.
    n_train_ : int
        Training examples.

    References
    ----------
    Peters et al. 2018, sections 3.3 and 5.2.
    """

    classes_: NDArray[Any]
    network_: SpanNetwork
    dev_losses_: list[float]
    n_train_: int

    def __init__(
        self,
        *,
        word_dim: int = 100,
        hidden: int = 100,
        dropout: float = 0.5,
        layer_norm: Literal["token"] | None = "token",
        learning_rate: float = 2e-3,
        sentences_per_batch: int = 32,
        patience: int = 2,
        max_epochs: int = 15,
        random_state: int = 0,
    ) -> None:
        self.word_dim = word_dim
        self.hidden = hidden
        self.dropout = dropout
        self.layer_norm = layer_norm
        self.learning_rate = learning_rate
        self.sentences_per_batch = sentences_per_batch
        self.patience = patience
        self.max_epochs = max_epochs
        self.random_state = random_state

    def fit(self, X: Sequences, y: NDArray[np.str_], X_dev: Sequences, y_dev: NDArray[np.str_]) -> "BiLSTMClassifier":
        """Fit.

        Parameters
        ----------
        X, X_dev : Sequences
        y, y_dev : str arrays, shape (n_examples,)
            A dev label that `y` lacks is left out of the cross-entropy.

        Raises
        ------
        ValueError
            If there are fewer than two classes, dev has no label of theirs, a layer is named that is not there, or
            training diverges.
        """
        n_layers, _, elmo_dim = X.layers.shape
        layer = X.placement.layer
        if layer is not None and layer >= n_layers:
            raise ValueError(f"there is no layer {layer}: the layers are 0 to {n_layers - 1}")
        self.n_train_ = len(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"the training data have one class only ({self.classes_[0]}): nothing to learn")
        dev_codes = known_codes(self.classes_, y_dev)
        n_known = int((dev_codes != UNKNOWN).sum())
        if not n_known:
            raise ValueError("no label of dev occurs in the training data: there is no best epoch to choose")
        counts = Counter(word for sentence in X.words for word in sentence)
        known = [word for word, count in counts.most_common() if count > 1]
        self._number = {word: number for number, word in enumerate(known, start=1)}
        generator = torch.Generator().manual_seed(self.random_state)
        sizes = Sizes(
            n_layers=n_layers,
            elmo_dim=elmo_dim,
            n_words=len(known) + 1,
            word_dim=self.word_dim,
            hidden=self.hidden,
            n_classes=len(self.classes_),
            dropout=self.dropout,
            layer_norm=self.layer_norm,
        )
        self.network_ = SpanNetwork(X.placement, sizes, generator)
        of_sentence = _examples_by_sentence(X)

        def batches() -> Iterator[tuple[Batch, Tensor]]:
            made = 0
            while made < _MIN_UPDATES:
                for sentences in self._shuffled(X, of_sentence, generator):
                    rows = np.concatenate([of_sentence[index] for index in sentences])
                    yield self._batch(X, sentences, of_sentence), torch.from_numpy(codes[rows])
                    made += 1

        def dev_loss() -> float:
            scores = torch.from_numpy(self._scores(X_dev))
            return float(cross_entropy(scores, torch.from_numpy(dev_codes), ignore_index=UNKNOWN))

        self.dev_losses_ = train(
            self.network_,
            batches,
            dev_loss,
            learning_rate=self.learning_rate,
            patience=self.patience,
            max_epochs=self.max_epochs,
            penalty=self.network_.penalty,
        )
        self.network_.requires_grad_(False)
        return self

    def predict_log_proba(self, X: Sequences) -> NDArray[np.float64]:
        """Return natural-log probabilities, shape (n_examples, n_classes)."""
        log_proba: NDArray[np.float64] = torch.from_numpy(self._scores(X)).double().log_softmax(dim=1).numpy()
        return log_proba

    def _scores(self, X: Sequences) -> NDArray[np.float32]:
        """Return scores, shape (n_examples, n_classes), computed in batches of sentences of like length."""
        scores = np.empty((len(X.examples), len(self.classes_)), dtype=np.float32)
        of_sentence = _examples_by_sentence(X)
        by_length = sorted(_with_examples(of_sentence), key=lambda index: len(X.words[index]))
        self.network_.eval()
        with torch.no_grad():
            for start in range(0, len(by_length), self.sentences_per_batch):
                sentences = by_length[start : start + self.sentences_per_batch]
                rows = np.concatenate([of_sentence[index] for index in sentences])
                scores[rows] = self.network_(self._batch(X, sentences, of_sentence)).numpy()
        return scores

    def _shuffled(
        self, X: Sequences, of_sentence: Sequence[NDArray[np.int64]], generator: Generator
    ) -> Iterator[list[int]]:
        """Yield batches of sentences in an order drawn anew, those of a batch of like length."""
        usable = _with_examples(of_sentence)
        order = [usable[place] for place in torch.randperm(len(usable), generator=generator).tolist()]
        batches = []
        size = self.sentences_per_batch
        for start in range(0, len(order), _WINDOW * size):
            window = order[start : start + _WINDOW * size]
            window.sort(key=lambda index: len(X.words[index]))
            batches += [window[place : place + size] for place in range(0, len(window), size)]
        for place in torch.randperm(len(batches), generator=generator).tolist():
            yield batches[place]

    def _batch(self, X: Sequences, sentences: Sequence[int], of_sentence: Sequence[NDArray[np.int64]]) -> Batch:
        words = [word for index in sentences for word in X.words[index]]
        distinct = {word: row for row, word in enumerate(dict.fromkeys(words))}
        lengths = [len(X.words[index]) for index in sentences]
        ranges = [slice(first, first + n) for first, n in zip(X.first_tokens[list(sentences)], lengths, strict=True)]
        span_tokens: list[int] = []
        span_examples: list[int] = []
        before = n_examples = 0
        for index, length in zip(sentences, lengths, strict=True):
            for row in of_sentence[index]:
                example = X.examples[row]
                span_tokens += range(before + example.start, before + example.stop)
                span_examples += [n_examples] * (example.stop - example.start)
                n_examples += 1
            before += length
        orders, batch_sizes = packed_orders(lengths)
        return Batch(
            words=torch.tensor([self._number.get(word, 0) for word in words]),
            characters=words_to_ids(list(distinct), MAX_CHARACTERS),
            spelling=torch.tensor([distinct[word] for word in words]),
            layers=torch.from_numpy(np.concatenate([X.layers[:, tokens] for tokens in ranges], axis=1)),
            orders=orders,
            batch_sizes=batch_sizes,
            span_tokens=torch.tensor(span_tokens),
            span_examples=torch.tensor(span_examples),
            n_examples=n_examples,
        )


def _examples_by_sentence(X: Sequences) -> list[NDArray[np.int64]]:
    """Return the rows of the examples of each sentence."""
    sentence = np.array([example.sentence for example in X.examples], dtype=np.int64)
    return np.split(np.arange(len(sentence)), np.searchsorted(sentence, np.arange(1, len(X.words))))


def _with_examples(of_sentence: Sequence[NDArray[np.int64]]) -> list[int]:
    return [index for index, rows in enumerate(of_sentence) if len(rows)]
