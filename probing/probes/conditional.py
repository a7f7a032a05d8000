"""What a layer adds to layer 0: the linear probe on both side by side, against layer 0 alone."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from probing.features import Features
from probing.probes.base import Answers, Problem, answers_with_bits
from probing.probes.linear import LinearProbe, PenalisedConfig, fit_labels, fitted_facts
from probing.tasks import Split


class ConditionalConfig(PenalisedConfig):
    """The linear probe on layer 0 and a view side by side: conditional V-information (Hewitt et al. 2021).

    The bits of layer 0 alone less those of a view are what the view adds to what the word form tells. In the original,
    zeros take the view's place beside layer 0, so that both probes are equally wide. A constant column is standardised
    to zeros and its penalised weights stay zero: the optimum is that of layer 0 alone, which is what is fitted here.

    As bits are what is compared, the penalty kept is the one of fewest bits on dev. By accuracy, the largest of equally
    accurate penalties would be kept, and a view that only repeats layer 0, which halves what the penalty takes, would
    seem to add something.

    Attributes
    ----------
    penalties : list of float
        What is tried, chosen on dev for each view by itself.
    tolerance : float
        How far, as a share, an objective may be from its minimum.
    max_iterations : int
    """

    probe: Literal["conditional"] = "conditional"

    def suits(self, train: Split) -> bool:
        """Only where all examples compete: probes with a problem a group have no bits."""
        return not train.has_groups

    def all_views(self, views: Sequence[str], n_layers: int) -> Sequence[str]:
        """Return layer 0, which all others are compared with, then the layers and the mean among `views`."""
        return ["0", *(view for view in views if view != "0" and (view == "mean" or view.isdecimal()))]

    def matrix(self, features: Features, view: str, split: Split) -> NDArray[np.float32]:
        """Return X, shape (n_examples, 2 * dim), or (n_examples, dim) for view "0"."""
        return features.view("0" if view == "0" else f"0+{view}")

    def fit(self, problems: Sequence[Problem], X: NDArray[Any], X_dev: NDArray[Any]) -> Sequence[LinearProbe]:
        """Fit all penalties of all tasks together."""
        return fit_labels(self.settings(choose_by="surprisal"), problems, X, X_dev)

    def answer(self, estimator: LinearProbe, X: NDArray[Any], split: Split) -> Answers:
        """Answer the most probable label."""
        return answers_with_bits(estimator, X, split)

    def facts(self, estimator: LinearProbe) -> dict[str, float]:
        """Return the penalty kept, the fit's iterations and its cross-entropy on train, in bits."""
        return fitted_facts(estimator)
