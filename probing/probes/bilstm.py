"""The downstream model as a probe: what ELMo adds to a task's own BiLSTM, by where it is added."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, PositiveFloat, PositiveInt

from bilm.errors import UserError
from probing.downstream import BiLSTMClassifier, Sequences, parse_placement
from probing.downstream.sequences import first_tokens
from probing.features import Features
from probing.probes.base import Problem
from probing.probes.regimen import RegimenConfig
from probing.tasks import Split


def _placement(text: str) -> str:
    parse_placement(text)
    return text


class BilstmConfig(RegimenConfig):
    """A BiLSTM over word vectors and ELMo; its views are where ELMo is added.

    Attributes
    ----------
    elmo : list of str
        Where ELMo is added: none, input, output, both. Of a mix of all layers with the penalty 0.001, unless the layer
        or another penalty follows: "input top", "input 1", "input lambda=1".
    word_dim : int
        Width of the learned word vectors.
    hidden : int
        Width of the LSTM in each direction.
    dropout : float
        Of what the LSTM reads and of what is classified.
    layer_norm : {"token", null}
        Whether each vector of each layer is scaled to mean 0 and variance 1 before mixing.
    learning_rate : float
        Of Adam.
    """

    by_token: ClassVar[bool] = True
    lists: ClassVar[frozenset[str]] = frozenset({"seeds", "elmo"})

    probe: Literal["bilstm"] = "bilstm"
    elmo: tuple[Annotated[str, AfterValidator(_placement)], ...] = Field(
        default=("none", "input", "output", "both"), min_length=1
    )
    word_dim: PositiveInt = 100
    hidden: PositiveInt = 100
    dropout: float = Field(default=0.5, ge=0, lt=1)
    layer_norm: Literal["token"] | None = "token"
    learning_rate: PositiveFloat = 2e-3

    def all_views(self, views: Sequence[str], n_layers: int) -> Sequence[str]:
        """Return where ELMo is added.

        Raises
        ------
        UserError
            If a layer is named that the network does not have.
        """
        for view in self.elmo:
            layer = parse_placement(view).layer
            if layer is not None and layer >= n_layers:
                raise UserError(f"probes: bilstm: elmo: {view!r}: the layers are 0 to {n_layers - 1}")
        return list(dict.fromkeys(self.elmo))

    def matrix(self, features: Features, view: str, split: Split) -> Sequences:
        """Return the split's sentences with every layer of every token; `features` are those of `Split.by_token`."""
        words = [sentence.tokens for sentence in split.sentences]
        return Sequences(parse_placement(view), features.layers, words, first_tokens(words), split.examples)

    def part(self, X: Sequences, train: Split, chosen: Sequence[int], rows: NDArray[np.int64]) -> Sequences:
        """Return the chosen sentences of X."""
        return X.of_sentences(chosen, train.examples)

    def fit(self, problems: Sequence[Problem], X: Any, X_dev: Any) -> Sequence[BiLSTMClassifier]:
        """Fit each problem by itself."""
        return [
            BiLSTMClassifier(
                word_dim=self.word_dim,
                hidden=self.hidden,
                dropout=self.dropout,
                layer_norm=self.layer_norm,
                learning_rate=self.learning_rate,
                random_state=one.seed or 0,
            ).fit(X, one.train.labels, X_dev, one.dev.labels)
            for one in problems
        ]

    def facts(self, estimator: BiLSTMClassifier) -> dict[str, float]:
        """Return the epochs trained, the number of parameters, and each mix's weights."""
        network = estimator.network_
        facts = {
            "epochs": float(len(estimator.dev_losses_)),
            "parameters": float(sum(parameter.numel() for parameter in network.parameters())),
        }
        for place, mix in (("input", network.input_mix), ("output", network.output_mix)):
            if mix is not None:
                weights = mix.weights().tolist() if network.placement.layer is None else []
                facts |= {f"{place}_weight_{layer}": weight for layer, weight in enumerate(weights)}
                facts[f"{place}_gamma"] = float(mix.gamma)
        return facts
