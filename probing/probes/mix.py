"""The mix probe: a linear probe on a learned mix of the layers, and where among the layers its weights lie."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_array
from torch import Tensor, nn

from bilm.elmo import ScalarMix
from probing.features import Features
from probing.probes.base import Problem
from probing.probes.regimen import RegimenConfig, RegimenProbe
from probing.tasks import Split
from probing.training import linear_layer

_NO_GAIN, _CANCELLED = 1e-9, 1e-3


class MixProbe(RegimenProbe):
    """A linear softmax layer on `h = gamma * sum_l softmax(a)_l * h_l`, all trained together.

    Every layer's features have mean 0 and variance 1 on the training examples first: all layers then have the same
    mean square, and a weight says how much a layer is used, not how short its vectors are. The logits `a` are 0 at
    first and gamma is 1: training starts from the plain average.

    Parameters
    ----------
    learning_rate, sentences_per_batch, patience, max_epochs
        The regimen's; see `probing.training.train`.
    random_state : int
        Draws the linear layer's first weights and the order of sentences.

    Attributes
    ----------
    weights_ : float64 array, shape (n_layers,)
        `softmax(a)`.
    gamma_ : float
    n_layers_in_, n_features_in_ : int

    References
    ----------
    Peters et al. 2018, equation 1; Tenney et al. 2019, "BERT rediscovers the classical NLP pipeline", section 3.
    """

    weights_: NDArray[np.float64]
    gamma_: float
    n_layers_in_: int
    n_features_in_: int

    def __init__(
        self,
        *,
        learning_rate: float = 1e-3,
        sentences_per_batch: int = 20,
        patience: int = 4,
        max_epochs: int = 40,
        random_state: int = 0,
    ) -> None:
        self.learning_rate = learning_rate
        self.sentences_per_batch = sentences_per_batch
        self.patience = patience
        self.max_epochs = max_epochs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None, sentences: Any = None) -> "MixProbe":
        """Fit on X of shape (n_layers, n_examples, n_features); the rest is as in `RegimenProbe.fit`."""
        super().fit(X, y, X_dev, y_dev, sentences)
        assert isinstance(self.network_, _MixNetwork)
        self.weights_ = self.network_.mix.weights().numpy()
        self.gamma_ = float(self.network_.mix.gamma)
        return self

    def _checked(self, X: Any, *, reset: bool) -> NDArray[np.floating]:
        X = np.asarray(X)
        if X.ndim != 3:
            raise ValueError(f"X has shape {X.shape}, not (n_layers, n_examples, n_features)")
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        for index, layer in enumerate(X):
            check_array(layer, input_name=f"layer {index} of X")
        if reset:
            self.n_layers_in_, _, self.n_features_in_ = X.shape
        elif X.shape[::2] != (self.n_layers_in_, self.n_features_in_):
            expected = f"{self.n_layers_in_} layers of {self.n_features_in_} features"
            raise ValueError(f"X has {X.shape[0]} layers of {X.shape[2]} features; the mix was fitted to {expected}")
        checked: NDArray[np.floating] = X
        return checked

    def _network(self, shape: tuple[int, ...], n_classes: int, generator: torch.Generator) -> nn.Module:
        n_layers, _, n_features = shape
        return _MixNetwork(n_layers, n_features, n_classes, generator)


class _MixNetwork(nn.Module):
    def __init__(self, n_layers: int, n_features: int, n_classes: int, generator: torch.Generator) -> None:
        super().__init__()
        self.mix = ScalarMix(n_layers)
        self.linear = linear_layer(n_features, n_classes, generator)

    def forward(self, layers: Tensor) -> Tensor:
        """Return scores (n_examples, n_classes) for layers (n_layers, n_examples, n_features)."""
        one_sentence = layers.unsqueeze(1)  # the mix is of sentences in a batch
        mask = torch.ones(one_sentence.shape[1:3], dtype=torch.bool)
        scores: Tensor = self.linear(self.mix(one_sentence, mask).squeeze(0))
        return scores


class MixConfig(RegimenConfig):
    """A linear probe on a learned mix of the layers; its views are its own.

    Attributes
    ----------
    cumulative : bool
        Also fit the mix of layers 0 to k alone, for each k: the view "mix-k". "mix" is the mix of all layers.
    """

    lists: ClassVar[frozenset[str]] = frozenset({"seeds", "cumulative"})

    probe: Literal["mix"] = "mix"
    cumulative: bool = True

    def all_views(self, views: Sequence[str], n_layers: int) -> Sequence[str]:
        """Return "mix-0", "mix-1", ... and, of all layers, "mix"."""
        return [f"mix-{layer}" for layer in range(n_layers - 1) if self.cumulative] + ["mix"]

    def matrix(self, features: Features, view: str, split: Split) -> NDArray[np.float32]:
        """Return the layers that a view mixes, memory-mapped: shape (n_layers, n_examples, dim)."""
        top = len(features.layers) - 1 if view == "mix" else int(view.removeprefix("mix-"))
        return features.layers[: top + 1]

    def fit(self, problems: Sequence[Problem], X: NDArray[Any], X_dev: NDArray[Any]) -> Sequence[MixProbe]:
        """Fit each problem by itself."""
        return [
            MixProbe(random_state=one.seed or 0).fit(
                X, one.train.labels, X_dev, one.dev.labels, one.train.sentence_index
            )
            for one in problems
        ]

    def facts(self, estimator: MixProbe) -> dict[str, float]:
        """Return the weights, where they lie, how far they are from equal, and the epochs trained."""
        weights = estimator.weights_.tolist()
        return {f"mix_weight_{layer}": weight for layer, weight in enumerate(weights)} | {
            "mix_gamma": estimator.gamma_,
            "centre_of_gravity": centre_of_gravity(weights),
            "kl_from_uniform_bits": kl_from_uniform(weights),
            "epochs": float(estimator.n_iter_),
        }


def centre_of_gravity(weights: Sequence[float]) -> float:
    """Return the mean layer under the mix's weights, `sum_l l * s_l` (Tenney et al. 2019).

    Parameters
    ----------
    weights : sequence of float, length n_layers
        They sum to one.
    """
    return float(np.arange(len(weights)) @ np.asarray(weights))


def kl_from_uniform(weights: Sequence[float]) -> float:
    """Return the Kullback-Leibler divergence of the mix's weights from equal weights, in bits (Tenney et al. 2019).

    Parameters
    ----------
    weights : sequence of float, length n_layers
        They sum to one; a weight of 0 adds nothing.
    """
    positive = np.asarray(weights)[np.asarray(weights) > 0]
    return float(positive @ np.log2(len(weights) * positive))


def expected_layer(scores: Sequence[float]) -> tuple[float, str]:
    """Return the layer at which a task is solved on average: the mean layer under the gains of the cumulative mixes.

    With `gain_l = scores[l] - scores[l - 1]`: `sum_l l * gain_l / sum_l gain_l` over l = 1, 2, ... (Tenney et al.
    2019, equation 4).

    Parameters
    ----------
    scores : sequence of float, length n_layers
        The score of the mix of layers 0 to l, for each l.

    Returns
    -------
    layer : float
        From 1 to the top layer; NaN where it means nothing.
    reason : str
        Why it is NaN, else "".
    """
    gains = np.diff(np.asarray(scores, dtype=float))
    layers = np.arange(1, len(scores))
    if len(gains) == 0:
        return np.nan, "one layer has no gains"
    if not np.isfinite(gains).all():
        return np.nan, "a score is missing"
    total = gains.sum()
    if abs(total) < max(_NO_GAIN, _CANCELLED * np.abs(gains).max()):
        return np.nan, "no gain in sum"
    if total < 0:
        return np.nan, "a loss in sum"
    layer = float(layers @ gains / total)
    if not 1 - _NO_GAIN <= layer <= len(gains) + _NO_GAIN:
        return np.nan, "gains cancel"
    return layer, ""
