"""The mix probe: where planted knowledge is found, the formula and its gradient, seeds, views, and layer summaries."""

import math
import pickle
from typing import Any, cast

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.base import clone

from probing.features import Features
from probing.probes import MixProbe, Problem
from probing.probes.mix import MixConfig, centre_of_gravity, expected_layer, kl_from_uniform
from probing.tasks import Example, Split


def planted(layer: int, n: int = 1200, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[Any]]:
    """Return three layers of noise, (3, n, 8), and labels of three classes that one of the layers tells."""
    X = np.random.default_rng(seed).normal(size=(3, n, 8)).astype(np.float32)
    return X, np.array(["a", "b", "c"])[X[layer, :, :3].argmax(axis=1)]


def split(labels: list[str]) -> Split:
    return Split(
        [], [Example(index // 4, index % 4, index % 4 + 1, (label,), "") for index, label in enumerate(labels)]
    )


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_the_weight_goes_to_the_layer_that_tells_the_labels(layer: int) -> None:
    X, y = planted(layer)
    X_dev, y_dev = planted(layer, seed=1)
    probe = MixProbe(learning_rate=0.02).fit(X, y, X_dev, y_dev, np.arange(len(y)) // 4)
    assert probe.weights_[layer] > 0.9
    assert centre_of_gravity(probe.weights_.tolist()) == pytest.approx(layer, abs=0.2)
    assert kl_from_uniform(probe.weights_.tolist()) > 1
    assert probe.score(X_dev, y_dev) > 0.93


@pytest.mark.parametrize("layer", [1, 2])
def test_the_expected_layer_is_the_one_from_which_the_labels_can_be_told(layer: int) -> None:
    X, y = planted(layer)
    X_dev, y_dev = planted(layer, seed=1)
    scores = [
        MixProbe(learning_rate=0.02, max_epochs=15)
        .fit(X[: top + 1], y, X_dev[: top + 1], y_dev, np.arange(len(y)) // 4)
        .score(X_dev[: top + 1], y_dev)
        for top in range(3)
    ]
    found, reason = expected_layer(scores)
    assert found == pytest.approx(layer, abs=0.2)
    assert reason == ""


def test_probabilities_are_those_of_the_plain_formula() -> None:
    X, y = planted(1, 200)
    probe = MixProbe(max_epochs=3).fit(X, y)
    named = {name: parameter.numpy() for name, parameter in probe.network_.named_parameters()}
    standardized = (X - X.mean(axis=1, keepdims=True, dtype=float)) / X.std(axis=1, keepdims=True, dtype=float)
    weights = np.exp(named["mix.logits"]) / np.exp(named["mix.logits"]).sum()
    mixed = named["mix.gamma"] * sum(weight * layer for weight, layer in zip(weights, standardized, strict=True))
    scores = mixed @ named["linear.weight"].T + named["linear.bias"]
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert probe.predict_proba(X) == pytest.approx(expected, abs=1e-9)
    assert probe.weights_ == pytest.approx(weights)
    assert probe.gamma_ == named["mix.gamma"] != 1


def test_the_gradient_is_the_one_worked_out_by_hand() -> None:
    X, y = planted(1, 50)
    network = MixProbe(max_epochs=1).fit(X, y).network_.requires_grad_(True)
    codes = np.unique(y, return_inverse=True)[1]
    loss = torch.nn.functional.cross_entropy(network(torch.from_numpy(X).double()), torch.from_numpy(codes))
    loss.backward()  # type: ignore[no-untyped-call]
    got = {name: cast(torch.Tensor, p.grad).numpy() for name, p in network.named_parameters()}
    value = {name: p.detach().numpy() for name, p in network.named_parameters()}
    share = np.exp(value["mix.logits"]) / np.exp(value["mix.logits"]).sum()  # s
    plain = np.tensordot(share, X.astype(float), axes=1)  # sum_l s_l h_l
    scores = value["mix.gamma"] * plain @ value["linear.weight"].T + value["linear.bias"]
    residual = (np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True) - np.eye(3)[codes]) / len(y)
    back = residual @ value["linear.weight"]  # of the loss with respect to h
    by_share = value["mix.gamma"] * (back * X).sum(axis=(1, 2))
    assert got["linear.bias"] == pytest.approx(residual.sum(axis=0), abs=1e-12)
    assert got["linear.weight"] == pytest.approx(residual.T @ (value["mix.gamma"] * plain), abs=1e-12)
    assert got["mix.gamma"] == pytest.approx((back * plain).sum(), abs=1e-12)
    assert got["mix.logits"] == pytest.approx(share * (by_share - share @ by_share), abs=1e-12)


def test_training_starts_from_the_plain_average() -> None:
    X, y = planted(0, 40)
    probe = MixProbe(learning_rate=1e-12, max_epochs=1).fit(X, y)
    assert probe.weights_ == pytest.approx([1 / 3] * 3)
    assert probe.gamma_ == pytest.approx(1)


def test_a_layer_a_hundred_times_as_long_has_the_same_weight() -> None:
    X, y = planted(1, 400)
    scaled = X * np.array([1, 100, 0.01], dtype=np.float32)[:, np.newaxis, np.newaxis] + np.float32(1)
    probe, other = (MixProbe(max_epochs=5).fit(layers, y) for layers in (X, scaled))
    assert other.weights_ == pytest.approx(probe.weights_, abs=1e-3)
    assert other.predict_proba(scaled) == pytest.approx(probe.predict_proba(X), abs=1e-3)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    X, y = planted(1, 300)

    def fitted(seed: int) -> bytes:
        torch.manual_seed(np.random.default_rng().integers(2**31))  # the global generator does not matter
        probe = MixProbe(max_epochs=3, random_state=seed).fit(X, y, X, y, np.arange(300) // 7)
        return pickle.dumps((probe.weights_, probe.gamma_, probe.dev_losses_, probe.predict_log_proba(X)))

    assert fitted(1) == fitted(1)
    assert fitted(1) != fitted(2)


def test_a_memory_mapped_file_gives_what_the_array_gives(tmp_path: Any) -> None:
    X, y = planted(1, 300)
    np.save(tmp_path / "layers.npy", X)
    mapped = np.load(tmp_path / "layers.npy", mmap_mode="r")
    one, other = (MixProbe(max_epochs=2).fit(layers, y) for layers in (X, mapped))
    assert one.predict_proba(X).tobytes() == other.predict_proba(mapped).tobytes()


def test_hyper_parameters_are_only_stored_and_a_clone_is_not_fitted() -> None:
    probe = MixProbe(max_epochs=1, random_state=7).fit(*planted(0, 40))
    copy = clone(probe)
    assert copy.get_params() == probe.get_params()
    assert copy.get_params()["random_state"] == 7
    assert not hasattr(copy, "network_")


def test_data_that_cannot_be_fitted_are_refused_in_plain_words() -> None:
    X, y = planted(1, 40)
    with pytest.raises(ValueError, match=r"one class only \(a\)"):
        MixProbe().fit(X, np.full(40, "a"))
    with pytest.raises(ValueError, match="not \\(n_layers, n_examples, n_features\\)"):
        MixProbe().fit(X[0], y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MixProbe().fit(X, y[:-1])
    bad = X.copy()
    bad[2, 3, 4] = np.nan
    with pytest.raises(ValueError, match="layer 2 of X contains NaN"):
        MixProbe().fit(bad, y)
    probe = MixProbe(max_epochs=1).fit(X, y)
    with pytest.raises(ValueError, match="layer 2 of X contains NaN"):
        probe.predict(bad)
    with pytest.raises(ValueError, match="X has 2 layers of 8 features; the mix was fitted to 3 layers of 8 features"):
        probe.predict(X[:2])


def test_a_label_that_train_lacks_is_answered_wrongly_at_finite_cost() -> None:
    X, y = planted(1, 200)
    train, dev = split(y.tolist()), split(["new", *y[1:].tolist()])
    config = MixConfig()
    (probe,) = config.fit([Problem(train, dev, 5, {})], X, X)
    answers = config.answer(probe, X, dev)
    assert probe.random_state == 5
    assert answers.bits is not None and np.isfinite(answers.bits).all() and (answers.bits >= 0).all()
    assert answers.bits[0] == pytest.approx(np.log2(201))
    assert answers.labels[0] != "new"
    assert answers.labels.tolist() == probe.predict(X).tolist()
    facts = config.facts(probe)
    assert list(facts)[:4] == ["mix_weight_0", "mix_weight_1", "mix_weight_2", "mix_gamma"]
    assert sum(list(facts.values())[:3]) == pytest.approx(1)
    assert facts["centre_of_gravity"] == pytest.approx(facts["mix_weight_1"] + 2 * facts["mix_weight_2"])
    assert facts["epochs"] == len(probe.dev_losses_)


def test_its_views_are_the_mixes_of_the_layers_up_to_each(tmp_path: Any) -> None:
    X, _ = planted(1, 5)
    np.save(tmp_path / "layers.npy", X)
    features = Features(tmp_path)
    config = MixConfig()
    views = config.all_views(["0", "mean"], 3)
    assert list(views) == ["mix-0", "mix-1", "mix"]
    assert [len(config.matrix(features, view, Split([], []))) for view in views] == [1, 2, 3]
    assert np.array_equal(config.matrix(features, "mix-1", Split([], [])), X[:2])
    assert isinstance(config.matrix(features, "mix", Split([], [])), np.memmap)
    assert list(MixConfig(cumulative=False).all_views(["0"], 3)) == ["mix"]
    assert list(config.all_views(["0"], 1)) == ["mix"]


def test_the_centre_of_gravity_is_the_mean_layer() -> None:
    assert centre_of_gravity([0.2, 0.5, 0.3]) == pytest.approx(0.5 + 2 * 0.3)
    assert centre_of_gravity([0, 0, 1]) == 2
    assert centre_of_gravity([1]) == 0


def test_the_divergence_from_equal_weights_is_in_bits() -> None:
    assert kl_from_uniform([0.25] * 4) == 0
    assert kl_from_uniform([0, 0, 1, 0]) == pytest.approx(2)
    assert kl_from_uniform([0.5, 0.5, 0, 0]) == pytest.approx(1)
    assert kl_from_uniform([0.5, 0.25, 0.25]) == pytest.approx(math.log2(3) - 1.5)


def test_the_expected_layer_is_the_mean_layer_under_the_gains() -> None:
    for scores, layer in (
        ([0.5, 0.8, 0.9], (0.3 + 2 * 0.1) / 0.4),
        ([0.5, 0.5, 0.9], 2),
        ([0.5, 0.9, 0.9], 1),
        ([0.5, 0.8, 0.7, 0.9], (0.3 - 0.2 + 0.6) / 0.4),  # a loss on the way, but within 1 to 3
    ):
        found, reason = expected_layer(scores)
        assert found == pytest.approx(layer)
        assert reason == ""


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ([0.5, 0.5, 0.5], "no gain in sum"),
        ([0.5, 0.9, 0.5 + 1e-5], "no gain in sum"),
        ([0.5, 0.9, 0.8], "gains cancel"),  # (0.4 - 0.2) / 0.3 < 1
        ([0.5, 0.4, 0.6], "gains cancel"),  # (-0.1 + 0.4) / 0.1 > 2
        ([0.9, 0.8, 0.7], "a loss in sum"),
        ([0.9], "one layer has no gains"),
        ([0.5, math.nan, 0.9], "a score is missing"),
    ],
)
def test_where_the_expected_layer_means_nothing_it_is_nan_with_a_reason(scores: list[float], reason: str) -> None:
    found, why = expected_layer(scores)
    assert math.isnan(found)
    assert why == reason
