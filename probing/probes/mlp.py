"""The MLP probe: one hidden layer, to see what a linear probe cannot read."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import PositiveInt
from sklearn.utils.validation import validate_data
from torch import nn

from probing.probes.base import Problem
from probing.probes.regimen import RegimenConfig, RegimenProbe
from probing.training import linear_layer


class MLPProbe(RegimenProbe):
    """`softmax(W2 relu(W1 h + b1) + b2)` on standardised features.

    Parameters
    ----------
    hidden : int
        Width of the hidden layer.
    learning_rate, sentences_per_batch, patience, max_epochs
        The regimen's; see `probing.training.train`.
    random_state : int
        Draws the first weights and the order of sentences.

    Attributes
    ----------
    n_features_in_ : int

    References
    ----------
    Hewitt & Liang 2019, the MLP-1 probe.
    """

    n_features_in_: int

    def __init__(
        self,
        hidden: int = 1000,
        *,
        learning_rate: float = 1e-3,
        sentences_per_batch: int = 20,
        patience: int = 4,
        max_epochs: int = 40,
        random_state: int = 0,
    ) -> None:
        self.hidden = hidden
        self.learning_rate = learning_rate
        self.sentences_per_batch = sentences_per_batch
        self.patience = patience
        self.max_epochs = max_epochs
        self.random_state = random_state

    def _checked(self, X: Any, *, reset: bool) -> NDArray[np.floating]:
        checked: NDArray[np.floating] = validate_data(self, X, dtype=[np.float32, np.float64], reset=reset)
        return checked

    def _network(self, shape: tuple[int, ...], n_classes: int, generator: torch.Generator) -> nn.Module:
        first = linear_layer(shape[-1], self.hidden, generator)
        return nn.Sequential(first, nn.ReLU(), linear_layer(self.hidden, n_classes, generator))


class MLPConfig(RegimenConfig):
    """A probe with one hidden layer.

    Attributes
    ----------
    hidden : int
        Width of the hidden layer.
    """

    probe: Literal["mlp"] = "mlp"
    hidden: PositiveInt = 1000

    def fit(self, problems: Sequence[Problem], X: NDArray[Any], X_dev: NDArray[Any]) -> Sequence[MLPProbe]:
        """Fit each problem by itself."""
        return [
            MLPProbe(self.hidden, random_state=one.seed or 0).fit(
                X, one.train.labels, X_dev, one.dev.labels, one.train.sentence_index
            )
            for one in problems
        ]

    def facts(self, estimator: MLPProbe) -> dict[str, float]:
        """Return the epochs trained and the number of parameters."""
        n_parameters = sum(parameter.numel() for parameter in estimator.network_.parameters())
        return {"epochs": float(estimator.n_iter_), "parameters": float(n_parameters)}
