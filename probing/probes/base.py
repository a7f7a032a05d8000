"""What the keys of a probe in a config are, and how an experiment fits it and has it answer."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from probing.tasks import Example, Split


class Answers(NamedTuple):
    """What a probe says of each example of a split.

    Attributes
    ----------
    labels : str array, shape (n_examples,)
    answered : bool array, shape (n_examples,)
        Whether the label is the probe's own; where it knew nothing, the label is the group's first sense, or "".
    """

    labels: NDArray[np.str_]
    answered: NDArray[np.bool_]


class ProbeConfig(BaseModel):
    """The keys of a probe in a config. One subclass a probe, registered in `PROBES`.

    Attributes
    ----------
    sees : {"vectors", "forms"}
        What is given as X: an encoder's vectors, or the word forms alone (a baseline, the same for every encoder).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sees: ClassVar[Literal["vectors", "forms"]] = "vectors"
    probe: str

    def suits(self, train: Split) -> bool:
        """Tell whether the probe makes sense for a task; it is left out where it does not."""
        return True

    @abstractmethod
    def fit(self, X: NDArray[Any], train: Sequence[Split], X_dev: NDArray[Any], dev: Sequence[Split]) -> Sequence[Any]:
        """Fit one estimator for each of several tasks with the same spans.

        Parameters
        ----------
        X : array, shape (n_examples, dim) or (n_examples,)
            What `sees` says.
        train : splits
            They differ in labels, groups and candidates alone.
        X_dev, dev
            The same for dev, on which hyper-parameters are chosen.
        """

    def answer(self, estimator: Any, X: NDArray[Any], split: Split) -> Answers:
        """Return what a fitted estimator says of a split's examples."""
        return always(estimator.predict(X))

    def facts(self, estimator: Any) -> dict[str, float]:
        """Return numbers of a fitted estimator that belong into the results, by the name of their metric."""
        return {}


def always(labels: Any) -> Answers:
    """Return answers that are all the probe's own."""
    return Answers(np.asarray(labels, dtype=np.str_), np.ones(len(labels), dtype=bool))


def with_first_senses(labels: Sequence[str], answered: NDArray[np.bool_], split: Split) -> Answers:
    """Fill in the group's first sense where a probe has no answer: what Peters et al. 2018 fall back on."""
    filled = [
        label if own else _first_sense(example)
        for label, own, example in zip(labels, answered.tolist(), split.examples, strict=True)
    ]
    return Answers(np.array(filled, dtype=np.str_), answered)


def _first_sense(example: Example) -> str:
    return example.candidates[0] if example.candidates else ""
