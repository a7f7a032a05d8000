"""What the keys of a probe in a config are, and how an experiment fits it and has it answer."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from probing.features import Features
from probing.probes.surprisal import surprisal
from probing.tasks import Example, Split


class Answers(NamedTuple):
    """What a probe says of each example of a split.

    Attributes
    ----------
    labels : str array, shape (n_examples,)
    answered : bool array, shape (n_examples,)
        Whether the label is the probe's own; where it knew nothing, the label is the group's first sense, or "".
    bits : float array, shape (n_examples,), optional
        -log2 of the probability given to the gold labels together; None where a probe has no probabilities.
    """

    labels: NDArray[np.str_]
    answered: NDArray[np.bool_]
    bits: NDArray[np.floating] | None = None


class Problem(NamedTuple):
    """What one cell's estimator is fitted to.

    Attributes
    ----------
    train, dev : Split
        Labels, groups and candidates; the vectors come apart, as problems that are fitted together share them.
    seed : int or None
        None where nothing is random.
    given : mapping of str to float
        The facts of the probe that `ProbeConfig.after` names, on the same task, view and network.
    """

    train: Split
    dev: Split
    seed: int | None
    given: Mapping[str, float]


class ProbeConfig(BaseModel):
    """The keys of a probe in a config. One subclass a probe, registered in `PROBES`.

    Attributes
    ----------
    sees : {"vectors", "forms"}
        What is given as X: an encoder's vectors, or the word forms alone (a baseline, the same for every encoder).
    after : str
        The probe whose facts this one is given, "" for none; an experiment must have both.
    answers : bool
        Whether it answers examples of dev and test; one that does not has facts only.
    relabels : bool
        Whether `relabel` gives other labels than the task's: what is told of subsets by those means nothing to it.
    one_pass : bool
        Whether the fits of all its seeds are solved in the same passes over X.
    by_token : bool
        Whether it reads the vectors of every token, not the means over the examples' spans.
    lists : set of str
        Keys that say which cells there are, not how one is fitted: with another seed in the list, done cells stay done.
    one_label : bool
        Whether it can be fitted to examples that all have the same label. One that cannot answers that label always
        where a share of the training sentences has no other (`probing.journal`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sees: ClassVar[Literal["vectors", "forms"]] = "vectors"
    after: ClassVar[str] = ""
    answers: ClassVar[bool] = True
    relabels: ClassVar[bool] = False
    one_pass: ClassVar[bool] = False
    by_token: ClassVar[bool] = False
    lists: ClassVar[frozenset[str]] = frozenset()
    one_label: ClassVar[bool] = False
    probe: str

    def suits(self, train: Split) -> bool:
        """Tell whether the probe makes sense for a task; it is left out where it does not."""
        return True

    @property
    def all_seeds(self) -> tuple[int | None, ...]:
        """The seeds with each of which it is fitted; (None,) where nothing is random."""
        return (None,)

    def all_views(self, views: Sequence[str], n_layers: int) -> Sequence[str]:
        """Return the views that it reads, of an experiment's `views` (layers by number)."""
        return views

    def matrix(self, features: Features, view: str, split: Split) -> Any:
        """Return X for a view: shape (n_examples, dim), or (n_layers, n_examples, dim) for one that joins layers."""
        return features.view(view)

    def part(self, X: Any, train: Split, chosen: Sequence[int], rows: NDArray[np.int64]) -> Any:
        """Return the part of X in the `chosen` sentences: the `rows` of the examples that `train` has left."""
        return X[..., rows, :] if X.ndim > 1 else X[rows]

    def relabel(self, splits: Mapping[str, Split], seed: int | None) -> Mapping[str, Split]:
        """Return the splits with the labels that it is to predict: the task's own, unless it is a control."""
        return splits

    @abstractmethod
    def fit(self, problems: Sequence[Problem], X: Any, X_dev: Any) -> Sequence[Any]:
        """Fit one estimator for each of several problems with the same spans.

        Parameters
        ----------
        problems : sequence of Problem
        X : array, shape (n_examples, dim) or (n_examples,) or (n_layers, n_examples, dim)
            What `sees` and `matrix` say; `Sequences` for a downstream model.
        X_dev
            The same for dev, on which hyper-parameters are chosen.
        """

    def answer(self, estimator: Any, X: Any, split: Split) -> Answers:
        """Return what a fitted estimator says of a split's examples."""
        return always(estimator.predict(X))

    def facts(self, estimator: Any) -> dict[str, float]:
        """Return numbers of a fitted estimator that belong into the results, by the name of their metric."""
        return {}


def layers_alone(views: Sequence[str]) -> list[str]:
    """Return the views that are single layers: for probes whose question is one of layers, and which take long."""
    return [view for view in views if view.isdecimal()]


def always(labels: Any) -> Answers:
    """Return answers that are all the probe's own."""
    return Answers(np.asarray(labels, dtype=np.str_), np.ones(len(labels), dtype=bool))


def answers_with_bits(estimator: Any, X: Any, split: Split) -> Answers:
    """Return the most probable label of each of a split's examples, and what its gold labels cost.

    The estimator has `predict_log_proba`, `classes_` and `n_train_`, the number of its training examples.
    """
    log_proba = estimator.predict_log_proba(X)
    gold = [example.labels for example in split.examples]
    bits = surprisal(log_proba, estimator.classes_.tolist(), gold, estimator.n_train_)
    return always(estimator.classes_[log_proba.argmax(axis=1)])._replace(bits=bits)


def with_first_senses(labels: Sequence[str], answered: NDArray[np.bool_], split: Split) -> Answers:
    """Fill in the group's first sense where a probe has no answer: what Peters et al. 2018 fall back on."""
    filled = [
        label if own else _first_sense(example)
        for label, own, example in zip(labels, answered.tolist(), split.examples, strict=True)
    ]
    return Answers(np.array(filled, dtype=np.str_), answered)


def _first_sense(example: Example) -> str:
    return example.candidates[0] if example.candidates else ""
