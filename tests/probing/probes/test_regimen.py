"""The training regimen: which epoch is kept, when it stops, in what batches it reads, where its chance comes from."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn

from probing.probes.mix import MixConfig
from probing.probes.mlp import MLPConfig
from probing.probes.regimen import mean_and_scale
from probing.tasks import Example, Split
from probing.training import linear_layer, sentence_batches, train


class Recorder:
    """A one-parameter network, what it was after each epoch, and the dev losses that are told to the regimen."""

    def __init__(self, losses: list[float]) -> None:
        self.network = nn.Linear(1, 2, bias=False)
        self.after: list[Tensor] = []
        self._losses = iter(losses)

    def batches(self) -> list[tuple[Tensor, Tensor]]:
        return [(torch.ones(1, 1), torch.zeros(1, dtype=torch.int64))]

    def dev_loss(self) -> float:
        self.after.append(self.network.weight.detach().clone())
        return next(self._losses)

    def train(self, max_epochs: int = 40) -> list[float]:
        return train(self.network, self.batches, self.dev_loss, max_epochs=max_epochs)


def test_the_parameters_of_the_best_epoch_are_kept_not_those_that_went_on_being_trained() -> None:
    recorder = Recorder([3, 1, 2, 2, 1.5, 1])
    assert recorder.train() == [3, 1, 2, 2, 1.5, 1]
    assert torch.equal(recorder.network.weight, recorder.after[1])
    assert not torch.equal(recorder.network.weight, recorder.after[-1])


def test_training_stops_after_four_epochs_in_a_row_without_a_new_best_or_forty_in_all() -> None:
    assert len(Recorder([5, 6, 6, 6, 4, 4, 4, 4, 4, 0]).train()) == 9
    assert len(Recorder([float(-n) for n in range(100)]).train()) == 40
    assert len(Recorder([float(-n) for n in range(100)]).train(max_epochs=3)) == 3


def test_the_learning_rate_is_halved_after_each_epoch_without_a_new_best() -> None:
    """With one batch an epoch and a gradient of nearly one size, Adam moves a parameter by the learning rate."""
    recorder = Recorder([3, 2, 2, 1, 1, 1, 0.5])
    recorder.train(max_epochs=7)
    path = [float(weight[0, 0]) for weight in recorder.after]
    moved = np.diff(path)
    assert moved == pytest.approx([1e-3, 1e-3, 5e-4, 5e-4, 2.5e-4, 1.25e-4], rel=0.02)


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_is_an_error_in_plain_words(loss: float) -> None:
    with pytest.raises(ValueError, match=rf"cross-entropy on dev is {loss} after epoch 2: the training diverged"):
        Recorder([1, loss]).train()


def test_a_batch_is_of_whole_sentences_and_an_epoch_reads_every_example_once() -> None:
    sentences = np.random.default_rng(0).integers(0, 50, 400)  # in no order
    batches = list(sentence_batches(sentences, 20, torch.Generator().manual_seed(0)))
    assert sorted(np.concatenate(batches)) == list(range(400))
    assert [len(set(sentences[rows])) for rows in batches] == [20, 20, 10]
    for one, other in itertools.combinations(batches, 2):
        assert not set(sentences[one]) & set(sentences[other])


def test_the_order_of_sentences_is_the_seeds_and_differs_between_epochs() -> None:
    def epochs(seed: int) -> list[list[int]]:
        generator = torch.Generator().manual_seed(seed)
        return [np.concatenate(list(sentence_batches(np.arange(30), 5, generator))).tolist() for _ in range(2)]

    assert epochs(1) == epochs(1)
    assert epochs(1) != epochs(2)
    assert epochs(1)[0] != epochs(1)[1]


def test_the_global_generators_are_neither_read_nor_moved() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    one = linear_layer(5, 4, torch.Generator().manual_seed(0))
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(4)
    other = linear_layer(5, 4, torch.Generator().manual_seed(0))
    assert torch.equal(one.weight, other.weight) and torch.equal(one.bias, other.bias)
    assert one.weight.abs().max() <= 5**-0.5 and one.weight.std() > 0.1


def test_mean_and_scale_are_numpys_though_read_in_chunks() -> None:
    X = np.random.default_rng(0).normal(100, [[[0.1]], [[7.0]]], size=(2, 9001, 3)).astype(np.float32)
    X[1, :, 2] = 0.1
    mean, scale = mean_and_scale(X)
    assert mean == pytest.approx(X.mean(axis=1, keepdims=True, dtype=np.float64), rel=1e-9)
    assert scale[:, 0, :2] == pytest.approx(X.std(axis=1, dtype=np.float64)[:, :2], rel=1e-6)
    assert scale[1, 0, 2] == 1  # a constant


@pytest.mark.parametrize("config", [MixConfig, MLPConfig])
def test_seeds_are_distinct_and_there_is_at_least_one(config: Callable[..., MixConfig | MLPConfig]) -> None:
    assert config().all_seeds == (0,)
    assert config(seeds=(3, 1)).all_seeds == (3, 1)
    with pytest.raises(ValidationError, match=r"seeds are distinct, not \[1, 2, 1\]"):
        config(seeds=(1, 2, 1))
    with pytest.raises(ValidationError, match="at least 1 item"):
        config(seeds=())
    with pytest.raises(ValidationError):
        config(seeds=(-1,))


@pytest.mark.parametrize("config", [MixConfig(), MLPConfig()])
def test_tasks_whose_examples_compete_in_groups_are_left_out(config: MixConfig | MLPConfig) -> None:
    assert config.suits(Split([], [Example(0, 0, 1, ("NOUN",), "form")]))
    assert not config.suits(Split([], [Example(0, 0, 1, ("bank%1",), "bank", "bank#n", ("bank%1",))]))
