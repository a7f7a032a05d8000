"""What the probes that have no closed optimum share: standardised features, classes, seeds.

What a probe computes is a `torch.nn.Module` of its own file; how it is trained is `probing.training`.
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, field_validator
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from bilm.settings import Seed
from probing.probes.base import Answers, ProbeConfig, answers_with_bits
from probing.tasks import Split
from probing.training import UNKNOWN, known_codes, sentence_batches, train

_ROWS = 4096


def mean_and_scale(X: NDArray[np.floating]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each feature's mean and standard deviation (1 for a constant feature), reading X in chunks.

    Parameters
    ----------
    X : float array, shape (..., n_examples, n_features)

    Returns
    -------
    mean, scale : float64 arrays, shape (..., 1, n_features)
    """
    # Sums are taken of the difference from the first row: a constant feature then has variance exactly 0.
    first = np.asarray(X[..., :1, :], dtype=np.float64)
    total, squares = np.zeros_like(first), np.zeros_like(first)
    for chunk in _chunks(X):
        difference = chunk - first
        total += difference.sum(axis=-2, keepdims=True)
        squares += np.square(difference, out=difference).sum(axis=-2, keepdims=True)
    centre = total / X.shape[-2]
    deviation = np.sqrt(np.maximum(squares / X.shape[-2] - centre**2, 0))
    return first + centre, np.where(deviation > 0, deviation, 1.0)


def _chunks(X: NDArray[np.floating]) -> Iterator[NDArray[np.floating]]:
    for start in range(0, X.shape[-2], _ROWS):
        yield X[..., start : start + _ROWS, :]


class RegimenProbe(ClassifierMixin, BaseEstimator):
    """A probe that is trained by the regimen on standardised features. A subclass says what X and the network are.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
        Sorted labels.
    network_ : Module
        Standardised features -> scores, with the parameters of the best epoch, in float64.
    mean_, scale_ : float64 arrays, shape (..., 1, n_features)
        What features are standardised with: of the training examples.
    dev_losses_ : list of float
        Cross-entropy in nats after each epoch, over the dev examples whose label train has.
    n_iter_ : int
        Epochs trained.
    n_train_ : int
        Training examples.
    """

    learning_rate: float
    sentences_per_batch: int
    patience: int
    max_epochs: int
    random_state: int
    classes_: NDArray[Any]
    network_: nn.Module
    mean_: NDArray[np.float64]
    scale_: NDArray[np.float64]
    dev_losses_: list[float]
    n_iter_: int
    n_train_: int

    @abstractmethod
    def _checked(self, X: Any, *, reset: bool) -> NDArray[np.floating]:
        """Return X as an array, or raise ValueError where its shape or a value is wrong; not copied if it is right."""

    @abstractmethod
    def _network(self, shape: tuple[int, ...], n_classes: int, generator: torch.Generator) -> nn.Module:
        """Return the network before training, for X of a shape."""

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None, sentences: Any = None) -> Any:
        """Fit.

        Parameters
        ----------
        X : float array, shape (..., n_examples, n_features)
            May be memory-mapped and larger than memory: it is read batch by batch.
        y : label array, shape (n_examples,)
            At least two classes.
        X_dev, y_dev : optional
            On which the best epoch is chosen; without them, the training examples. A dev label that `y` lacks is left
            out of the cross-entropy.
        sentences : array, shape (n_examples,), optional
            The sentence of each example; without it each example is one by itself.

        Raises
        ------
        ValueError
            If a hyper-parameter is not positive, there are fewer than two classes, dev has no label of theirs, a value
            is not finite, or training diverges.
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        for name in ("learning_rate", "sentences_per_batch", "patience", "max_epochs"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is greater than 0, not {getattr(self, name)!r}")
        X = self._checked(X, reset=True)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.n_train_ = X.shape[-2]
        sentences = np.arange(self.n_train_) if sentences is None else np.asarray(sentences)
        check_consistent_length(X.swapaxes(0, -2), y, sentences)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"the training data have one class only ({self.classes_[0]}): nothing to learn")
        if (X_dev is None) != (y_dev is None):
            raise ValueError("X_dev and y_dev belong together")
        if X_dev is None:
            X_dev, dev_codes = X, codes
        else:
            X_dev, dev_codes = self._checked(X_dev, reset=False), known_codes(self.classes_, y_dev)
            check_consistent_length(X_dev.swapaxes(0, -2), dev_codes)
        n_known = int((dev_codes != UNKNOWN).sum())
        if not n_known:
            raise ValueError("no label of dev occurs in the training data: there is no best epoch to choose")
        self.mean_, self.scale_ = mean_and_scale(X)
        generator = torch.Generator().manual_seed(self.random_state)
        self.network_ = self._network(X.shape, len(self.classes_), generator).float()

        def batches() -> Iterator[tuple[Tensor, Tensor]]:
            for rows in sentence_batches(sentences, self.sentences_per_batch, generator):
                yield self._standardized(X[..., rows, :], torch.float32), torch.from_numpy(codes[rows])

        def dev_loss() -> float:
            total, start = 0.0, 0
            with torch.no_grad():
                for chunk in _chunks(X_dev):
                    scores = self.network_(self._standardized(chunk, torch.float32))
                    targets = torch.from_numpy(dev_codes[start : start + len(scores)])
                    total += float(cross_entropy(scores, targets, ignore_index=UNKNOWN, reduction="sum"))
                    start += len(scores)
            return total / n_known

        self.dev_losses_ = train(
            self.network_,
            batches,
            dev_loss,
            learning_rate=self.learning_rate,
            patience=self.patience,
            max_epochs=self.max_epochs,
        )
        self.n_iter_ = len(self.dev_losses_)
        # Predictions are made in float64: an example's then hardly depend on those that it is computed with.
        self.network_.double().requires_grad_(False)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable label of each example."""
        log_proba = self.predict_log_proba(X)
        labels: NDArray[Any] = self.classes_[log_proba.argmax(axis=1)]
        return labels

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return natural-log probabilities, shape (n_examples, n_classes)."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        with torch.no_grad():
            scores = [self.network_(self._standardized(chunk, torch.float64)) for chunk in _chunks(X)]
        log_proba: NDArray[np.float64] = torch.cat(scores).log_softmax(dim=1).numpy()
        return log_proba

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return probabilities, shape (n_examples, n_classes)."""
        return np.exp(self.predict_log_proba(X))

    def _standardized(self, X: NDArray[np.floating], kind: torch.dtype) -> Tensor:
        dtype = np.float64 if kind == torch.float64 else X.dtype
        standardized = np.subtract(X, self.mean_.astype(dtype), dtype=dtype)
        standardized /= self.scale_.astype(dtype)
        return torch.from_numpy(standardized).to(kind)


class RegimenConfig(ProbeConfig):
    """What the keys of all such probes have in common: a fit for each seed, on tasks whose labels all compete.

    Attributes
    ----------
    seeds : list of int
        Each draws first weights and an order of sentences.
    """

    lists: ClassVar[frozenset[str]] = frozenset({"seeds"})

    seeds: tuple[Seed, ...] = Field(default=(0,), min_length=1)

    @field_validator("seeds")
    @classmethod
    def _seeds_differ(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(seeds)) < len(seeds):
            raise ValueError(f"seeds are distinct, not {list(seeds)}: the same seed twice shows no spread")
        return seeds

    def suits(self, train: Split) -> bool:
        """Leave out tasks whose examples compete within groups."""
        return not train.has_groups

    @property
    def all_seeds(self) -> tuple[int | None, ...]:
        """The seeds."""
        return self.seeds

    def answer(self, estimator: Any, X: Any, split: Split) -> Answers:
        """Answer the most probable label, and the surprisal of the gold labels."""
        return answers_with_bits(estimator, X, split)
