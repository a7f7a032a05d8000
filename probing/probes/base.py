"""What the keys of a probe in a config are, and how an experiment fits it."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Protocol

from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict


class Probe(Protocol):
    """A scikit-learn classifier."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return one label an example."""
        ...


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

    @abstractmethod
    def fit(
        self,
        X: NDArray[Any],
        targets: Sequence[NDArray[Any]],
        X_dev: NDArray[Any],
        dev_targets: Sequence[NDArray[Any]],
    ) -> Sequence[Probe]:
        """Fit one probe for each of several label vectors over the same examples.

        Parameters
        ----------
        X : array, shape (n_examples, dim) or (n_examples,)
            What `sees` says.
        targets : label vectors of shape (n_examples,)
        X_dev, dev_targets
            The same for dev, on which hyper-parameters are chosen.
        """

    def facts(self, probe: Any) -> dict[str, float]:
        """Return numbers of a fitted probe that belong into the results, by the name of their metric."""
        return {}
