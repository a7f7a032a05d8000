"""Description length: how many bits it takes to send the training labels to one who has the vectors already.

Everything is in bits. The published notebook adds the bits of the first block to cross-entropies in nats, so that its
numbers (Voita & Titov 2020, table 1) are lower and its compressions higher than those of the code it describes.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveFloat, field_validator

from probing.probes.base import Problem, layers_alone
from probing.probes.linear import LinearProbe, PenalisedConfig, fit_targets
from probing.probes.surprisal import surprisal
from probing.tasks import Split

logger = logging.getLogger(__name__)

PERCENTS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.25, 12.5, 25.0, 50.0, 100.0)
"""The published schedule."""
_ROWS = 8192


@dataclass
class OnlineCode:
    """An online code of the labels of a training set.

    Attributes
    ----------
    n_classes_ : int
        K, of the whole training set.
    train_cross_entropy_bits : float
        Mean over the training examples, of a probe that was trained on all of them.
    blocks_ : list of (int, float)
        Examples and bits of each block, in the order in which they are sent.
    """

    n_classes_: int
    train_cross_entropy_bits: float
    blocks_: list[tuple[int, float]] = field(default_factory=list)

    @property
    def n_examples(self) -> int:
        """Examples of all blocks."""
        return sum(n for n, _ in self.blocks_)

    @property
    def codelength_bits(self) -> float:
        """Bits of all blocks."""
        return sum(bits for _, bits in self.blocks_)

    @property
    def uniform_codelength_bits(self) -> float:
        """What the labels would take without any model: log2 K bits each."""
        return self.n_examples * float(np.log2(self.n_classes_))


class MDLConfig(PenalisedConfig):
    """The online code of Voita & Titov 2020: each part of train is coded by a linear probe fitted to what came before.

    Sentences are shuffled once, then cut: a cut at p % comes after the fewest sentences that have at least p % of the
    examples, so that blocks are whole sentences. The first block costs log2 K bits a label. Every other block costs
    what a probe gives its labels that was fitted, from scratch, to all blocks before; its penalty is the one of fewest
    bits on dev, for each block by itself (the published code stops early on dev in the same way, so that in both a
    little of dev goes into the code). A class that no earlier block has still has a finite cost: see `surprisal`.

    Attributes
    ----------
    percents : list of float
        Where train is cut: rising, the last one 100. Cuts that fall together count once.
    penalties : list of float
    seeds : list of int
        Each shuffles the sentences in another way and gives a code of its own.
    tolerance : float
        How far, as a share, an objective may be from its minimum.
    max_iterations : int

    References
    ----------
    Voita & Titov 2020, section 2.2.
    """

    after: ClassVar[str] = "linear"
    answers: ClassVar[bool] = False

    probe: Literal["mdl"] = "mdl"
    percents: tuple[Annotated[float, Field(gt=0, le=100)], ...] = Field(default=PERCENTS, min_length=1)
    seeds: tuple[Annotated[int, Field(ge=0)], ...] = Field(default=(0,), min_length=1)
    tolerance: PositiveFloat = 1e-4

    @field_validator("percents")
    @classmethod
    def _rises_to_100(cls, percents: tuple[float, ...]) -> tuple[float, ...]:
        for before, after in pairwise(percents):
            if after <= before:
                raise ValueError(f"percents must rise, but {after:g} comes after {before:g}")
        if percents[-1] != 100:
            raise ValueError(f"percents must end at 100, not at {percents[-1]:g}")
        return percents

    @field_validator("seeds")
    @classmethod
    def _differ(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(seeds)) < len(seeds):
            raise ValueError("seeds must differ: the same one twice gives the same code twice")
        return seeds

    def suits(self, train: Split) -> bool:
        """Only where all examples compete: the code needs one inventory of labels."""
        return not train.has_groups

    @property
    def all_seeds(self) -> tuple[int | None, ...]:
        """One a code."""
        return self.seeds

    def all_views(self, views: Sequence[str], n_layers: int) -> Sequence[str]:
        """Return the layers alone."""
        return layers_alone(views)

    def fit(self, problems: Sequence[Problem], X: NDArray[Any], X_dev: NDArray[Any]) -> Sequence[OnlineCode]:
        """Code the first labels of each problem; those of one seed have the same blocks and are fitted together.

        Raises
        ------
        ValueError
            If train has one class only, or the first cut asks for less than one example.
        """
        codes: dict[int, OnlineCode] = {}
        for seed in dict.fromkeys(one.seed for one in problems):
            own = [index for index, one in enumerate(problems) if one.seed == seed]
            blocks = cut_sentences(problems[own[0]].train, self.percents, seed or 0)
            made = self._encode([problems[index] for index in own], blocks, X, X_dev)
            codes |= dict(zip(own, made, strict=True))
        return [codes[index] for index in range(len(problems))]

    def facts(self, estimator: OnlineCode) -> dict[str, float]:
        """Return the code's length, the uniform code's, their ratio, and the parts that data and model have in it.

        The data's part is what the labels would cost with the probe that was trained on all of them; what the online
        code costs over that is the price of learning it.
        """
        length, uniform = estimator.codelength_bits, estimator.uniform_codelength_bits
        data = estimator.n_examples * estimator.train_cross_entropy_bits
        return {
            "codelength_bits": length,
            "uniform_codelength_bits": uniform,
            "compression": uniform / length,
            "data_bits": data,
            "model_bits": length - data,
        }

    def _encode(
        self, problems: Sequence[Problem], blocks: Sequence[NDArray[np.int64]], X: NDArray[Any], X_dev: NDArray[Any]
    ) -> list[OnlineCode]:
        """Code the same blocks (rows of X) of several problems."""
        targets = [one.train.labels for one in problems]
        dev_targets = [one.dev.labels for one in problems]
        inventories = [np.unique(target) for target in targets]
        for inventory in inventories:
            if len(inventory) < 2:
                raise ValueError(f"the training data have one class only ({inventory[0]}): there is nothing to code")
        codes = [
            OnlineCode(len(inventory), one.given["train_cross_entropy_bits"])
            for inventory, one in zip(inventories, problems, strict=True)
        ]
        for code in codes:
            code.blocks_.append((len(blocks[0]), len(blocks[0]) * float(np.log2(code.n_classes_))))
        for index in range(1, len(blocks)):
            # In the order of the file, which is read faster; the optimum does not depend on the order.
            known = np.sort(np.concatenate(blocks[:index]))
            probes = self._fit_known(X, known, targets, X_dev, dev_targets)
            for code, probe, target, inventory in zip(codes, probes, targets, inventories, strict=True):
                bits = _cost(probe, X, blocks[index], target, len(known), target[known[0]], inventory)
                code.blocks_.append((len(blocks[index]), bits))
        return codes

    def _fit_known(
        self,
        X: NDArray[Any],
        known: NDArray[np.int64],
        targets: Sequence[NDArray[np.str_]],
        X_dev: NDArray[Any],
        dev_targets: Sequence[NDArray[np.str_]],
    ) -> list[LinearProbe | None]:
        """Fit a probe to the known rows of each target, None where they have one class only."""
        several = [index for index, target in enumerate(targets) if len(np.unique(target[known])) > 1]
        for index in set(range(len(targets))).difference(several):
            logger.warning(
                "online code: the first %d examples have one class only (%s): no probe can be fitted to them, and the "
                "next block is coded as if that class were certain",
                *(len(known), targets[index][known[0]]),
            )
        probes: list[LinearProbe | None] = [None] * len(targets)
        if several:
            fitted = fit_targets(
                self.settings(choose_by="surprisal"),
                X[known],
                [targets[index][known] for index in several],
                X_dev,
                [dev_targets[index] for index in several],
            )
            for index, probe in zip(several, fitted, strict=True):
                probes[index] = probe
        return probes


def cut_sentences(train: Split, percents: Sequence[float], seed: int) -> list[NDArray[np.int64]]:
    """Shuffle the sentences and cut them where their examples reach each percentage.

    Parameters
    ----------
    train : Split
    percents : sequence of float
        Rising, the last one 100. A cut comes after the fewest sentences that have at least so many of all examples.
    seed : int

    Returns
    -------
    list of int arrays
        The examples (their places in `train`) of each block, none of which is empty: cuts that fall together count
        once.

    Raises
    ------
    ValueError
        If the first percentage is of less than one example.
    """
    sentence = train.sentence_index
    n = len(sentence)
    wanted = np.asarray(percents) * n / 100
    if wanted[0] < 1 - 1e-9:
        raise ValueError(
            f"{percents[0]:g} % of {n} training examples is less than one, but the online code needs a first block: "
            "its percents must begin higher"
        )
    place = np.empty(len(train.sentences), dtype=np.int64)  # of each sentence in the shuffled order
    place[np.random.default_rng(seed).permutation(len(place))] = np.arange(len(place))
    order = np.argsort(place[sentence], kind="stable")
    so_far = np.cumsum(np.bincount(place[sentence], minlength=len(place)))  # examples up to and with each sentence
    # A little less than `wanted`, as 0.1 % of 30,000 can come out as 30.000000000000004.
    cuts = np.unique(so_far[np.searchsorted(so_far, wanted - 1e-9)])
    return np.split(order, cuts[:-1])


def _cost(
    probe: LinearProbe | None,
    X: NDArray[Any],
    rows: NDArray[np.int64],
    target: NDArray[np.str_],
    n_known: int,
    only: str,
    inventory: NDArray[np.str_],
) -> float:
    """Return the bits of the labels of some rows; without a probe, the class `only` has all of the probability."""
    total = 0.0
    rows = np.sort(rows)
    for start in range(0, len(rows), _ROWS):
        some = rows[start : start + _ROWS]
        log_proba = np.zeros((len(some), 1)) if probe is None else probe.predict_log_proba(X[some])
        classes = [only] if probe is None else probe.classes_.tolist()
        gold = [(label,) for label in target[some].tolist()]
        total += float(surprisal(log_proba, classes, gold, n_known, inventory.tolist()).sum())
    return total
