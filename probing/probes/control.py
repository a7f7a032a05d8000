"""The control task: labels drawn at random for word forms. What a probe learns of them, it learned by heart."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveFloat, PositiveInt

from probing.probes.base import Answers, ProbeConfig, Problem, answers_with_bits, layers_alone
from probing.probes.linear import LinearProbe, fit_labels
from probing.tasks import Example, Split


class ControlConfig(ProbeConfig):
    """The linear probe, with the penalty it chose, on labels drawn at random for each word form (Hewitt & Liang 2019).

    Attributes
    ----------
    draws : int
        How many times the labels are drawn; selectivity takes their mean.
    seed : int
        The first draw's; the next ones count up.
    tolerance : float
        How far, as a share, an objective may be from its minimum.
    max_iterations : int
    """

    after: ClassVar[str] = "linear"
    relabels: ClassVar[bool] = True
    one_pass: ClassVar[bool] = True

    probe: Literal["control"] = "control"
    draws: int = Field(default=5, ge=1, le=100)
    seed: int = Field(default=0, ge=0)
    tolerance: PositiveFloat = 1e-5
    max_iterations: PositiveInt = 200

    def suits(self, train: Split) -> bool:
        """Only where all examples compete, since any label is drawn for a form, and where forms are those of words."""
        return not train.has_groups and train.has_word_forms

    @property
    def all_seeds(self) -> tuple[int | None, ...]:
        """One a draw."""
        return tuple(range(self.seed, self.seed + self.draws))

    def relabel(self, splits: Mapping[str, Split], seed: int | None) -> Mapping[str, Split]:
        """Return the splits with each example's labels replaced by its word form's control label."""
        if seed is None:
            raise ValueError("a control task needs a seed")
        labels = {form: (label,) for form, label in control_labels(splits, seed).items()}
        return {
            name: Split(
                split.sentences,
                [
                    Example(one.sentence, one.start, one.stop, labels[one.form], one.form, one.group, one.candidates)
                    for one in split.examples
                ],
            )
            for name, split in splits.items()
        }

    def all_views(self, views: Sequence[str], n_layers: int) -> Sequence[str]:
        """Return the layers alone."""
        return layers_alone(views)

    def fit(self, problems: Sequence[Problem], X: NDArray[Any], X_dev: NDArray[Any]) -> Sequence[LinearProbe]:
        """Fit all draws of all tasks together, each with the penalty that its task's linear probe kept."""
        settings = [
            LinearProbe(one.given["l2_penalty"], tolerance=self.tolerance, max_iterations=self.max_iterations)
            for one in problems
        ]
        return fit_labels(settings, problems, X, X_dev)

    def answer(self, estimator: LinearProbe, X: NDArray[Any], split: Split) -> Answers:
        """Answer the most probable control label."""
        return answers_with_bits(estimator, X, split)


def control_labels(splits: Mapping[str, Split], seed: int) -> dict[str, str]:
    """Draw a label for each word form, once, whatever its contexts.

    Parameters
    ----------
    splits : mapping of str to Split
        Word forms are those of all splits, case-sensitive. Labels are drawn, independently, from the distribution of
        the first labels of the examples of "train".
    seed : int
        All that the draw depends on besides forms and distribution; forms are gone through in sorted order, so that the
        order of examples does not matter.

    Returns
    -------
    dict of str to str
        Control label by word form.

    References
    ----------
    Hewitt & Liang 2019, section 2.
    """
    forms = sorted({example.form for split in splits.values() for example in split.examples})
    labels, counts = np.unique(splits["train"].labels, return_counts=True)
    drawn = np.random.default_rng(seed).choice(len(labels), size=len(forms), p=counts / counts.sum())
    return dict(zip(forms, labels[drawn].tolist(), strict=True))


def control_ceiling(train: Split, evaluated: Split) -> float:
    """Return the highest accuracy that can be expected on a control task.

    A form that occurs in train can be learned by heart. For another one the label can only be drawn again from the
    same distribution, p over the training labels: `s + (1 - s) * sum(p^2)`, where s is the share of the evaluated
    examples whose form occurs in train.

    Parameters
    ----------
    train, evaluated : Split
        With the labels of the task itself; the first label of an example counts.

    Returns
    -------
    float
        Between 0 and 1.

    References
    ----------
    Hewitt & Liang 2019, section 2. Always answering the most frequent label would give max(p) in place of sum(p^2).
    """
    known = {example.form for example in train.examples}
    seen = np.mean([example.form in known for example in evaluated.examples])
    _, counts = np.unique(train.labels, return_counts=True)
    return float(seen + (1 - seen) * np.square(counts / counts.sum()).sum())
