"""What a layer adds to layer 0, where it is known."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from probing.features import Features
from probing.probes.base import Answers, Problem
from probing.probes.conditional import ConditionalConfig
from probing.probes.linear import LinearConfig
from probing.tasks import Example, Split
from tests.probing.probes.toy_problems import labelled

CONFIG = ConditionalConfig(penalties=(1e-4, 1e-2))


def features_of(folder: Path, layers: NDArray[np.float32]) -> Features:
    folder.mkdir()
    np.save(folder / "layers.npy", layers)
    return Features(folder)


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Split, Features]]:
    """Four equally likely labels: layer 0 tells one bit of them, layer 1 the other, layer 2 is layer 0 again."""
    folder, rng = tmp_path_factory.mktemp("halves"), np.random.default_rng(0)
    made = {}
    for name, n in {"train": 2000, "dev": 1000}.items():
        first, second = rng.integers(2, size=(2, n))
        signals = [3 * (2 * bit[:, None] - 1) + 0.3 * rng.normal(size=(n, 2)) for bit in (first, second)]
        layers = np.stack([signals[0], signals[1], signals[0]]).astype(np.float32)
        split = labelled([f"{a}{b}" for a, b in zip(first, second, strict=True)])
        made[name] = (split, features_of(folder / name, layers))
    return made


def answers(halves: dict[str, tuple[Split, Features]], view: str) -> Answers:
    (train, features), (dev, dev_features) = halves["train"], halves["dev"]
    X, X_dev = CONFIG.matrix(features, view, train), CONFIG.matrix(dev_features, view, dev)
    (probe,) = CONFIG.fit([Problem(train, dev, None, {})], X, X_dev)
    assert set(CONFIG.facts(probe)) == {"l2_penalty", "iterations", "train_cross_entropy_bits"}
    return CONFIG.answer(probe, X_dev, dev)


def mean_bits(halves: dict[str, tuple[Split, Features]], view: str) -> float:
    bits = answers(halves, view).bits
    assert bits is not None
    return float(bits.mean())


def test_a_layer_that_is_layer_0_again_adds_nothing(halves: dict[str, tuple[Split, Features]]) -> None:
    assert mean_bits(halves, "0") - mean_bits(halves, "2") == pytest.approx(0, abs=1e-2)


def test_a_layer_adds_the_bit_that_was_planted_in_it(halves: dict[str, tuple[Split, Features]]) -> None:
    assert mean_bits(halves, "0") == pytest.approx(1, abs=2e-2)
    assert mean_bits(halves, "0") - mean_bits(halves, "1") == pytest.approx(1, abs=2e-2)


def test_zeros_beside_layer_0_change_nothing(halves: dict[str, tuple[Split, Features]]) -> None:
    (train, features), (dev, dev_features) = halves["train"], halves["dev"]
    X, X_dev = (np.hstack([f.view("0"), np.zeros_like(f.view("0"))]) for f in (features, dev_features))
    (probe,) = CONFIG.fit([Problem(train, dev, None, {})], X, X_dev)
    bits = CONFIG.answer(probe, X_dev, dev).bits
    assert bits is not None
    assert bits.mean() == pytest.approx(mean_bits(halves, "0"), abs=1e-4)


def test_views_are_layer_0_first_then_layers_and_the_mean() -> None:
    assert CONFIG.all_views(["2", "concat", "mean", "mix", "0", "1"], 3) == ["0", "2", "mean", "1"]
    assert CONFIG.all_views(["1"], 3) == ["0", "1"]


def test_its_settings_are_the_linear_probes() -> None:
    linear, conditional = LinearConfig().model_dump(), ConditionalConfig().model_dump()
    assert conditional == linear | {"probe": "conditional"}


def test_it_makes_no_sense_where_examples_compete_in_groups() -> None:
    assert CONFIG.suits(labelled(["a", "b"]))
    assert not CONFIG.suits(Split([], [Example(0, 0, 1, ("s",), "saw", "saw/V", ("s",))]))
