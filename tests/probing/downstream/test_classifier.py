"""Training a downstream model: what it learns, what the mix penalty does, seeds, batches, words and labels unseen."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from probing.downstream import BiLSTMClassifier
from tests.probing.downstream.toy_sequences import sequences

LENGTHS = [6, 3, 9, 1, 5, 4] * 25
FAST: dict[str, Any] = {"word_dim": 4, "hidden": 8, "learning_rate": 0.01, "dropout": 0.1, "layer_norm": None}


def accuracy(placement: str, **settings: Any) -> float:
    X, y = sequences(LENGTHS, placement, whole=settings.pop("whole", False), seed=0)
    X_dev, y_dev = sequences(LENGTHS, placement, whole=len(y) == len(LENGTHS), seed=1)
    model = BiLSTMClassifier(**(FAST | settings)).fit(X, y, X_dev, y_dev)
    return float(np.mean(model.classes_[model.predict_log_proba(X_dev).argmax(axis=1)] == y_dev))


def test_a_tagger_learns_from_the_layers_what_its_words_do_not_say() -> None:
    assert accuracy("none") < 0.6
    for placement in ("input", "output", "both", "input 1"):
        assert accuracy(placement) > 0.85
    assert accuracy("both top") < 0.6  # the layer that tells is the middle one


def test_a_sentence_classifier_is_the_same_model_on_spans_of_whole_sentences() -> None:
    assert accuracy("none", whole=True) < 0.65
    assert accuracy("output", whole=True) > 0.8


def test_a_small_penalty_lets_the_mix_find_the_telling_layer_and_a_large_one_keeps_the_average() -> None:
    weights = {}
    for penalty in ("0", "100"):
        X, y = sequences(LENGTHS, f"input lambda={penalty}")
        mix = BiLSTMClassifier(**FAST).fit(X, y, X, y).network_.input_mix
        assert mix is not None
        weights[penalty] = mix.weights().numpy()
    assert weights["0"].argmax() == 1
    assert weights["0"][1] > 0.5
    assert np.allclose(weights["100"], 1 / 3, atol=0.01)


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others_without_the_global_generator() -> None:
    X, y = sequences(LENGTHS[:40], "both")
    before = torch.random.get_rng_state()
    first, again, other = (
        BiLSTMClassifier(**FAST, max_epochs=2, random_state=seed).fit(X, y, X, y).predict_log_proba(X)
        for seed in (0, 0, 1)
    )
    assert np.array_equal(first, again)
    assert not np.allclose(first, other)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_sentence_alone_is_answered_as_it_is_among_others() -> None:
    X, y = sequences(LENGTHS, "both")
    model = BiLSTMClassifier(**FAST, max_epochs=2).fit(X, y, X, y)
    together = model.predict_log_proba(X)
    start = 0
    for index in range(6):
        own = [example for example in X.examples if example.sentence == index]
        alone = model.predict_log_proba(X.of_sentences([index], [replace(example, sentence=0) for example in own]))
        assert np.allclose(alone, together[start : start + len(own)], atol=1e-5)
        start += len(own)


def test_words_that_train_lacks_and_words_that_stand_there_once_are_the_unknown_word() -> None:
    X, y = sequences(LENGTHS, "none")
    X.words[0][0] = "once"  # type: ignore[index]
    model = BiLSTMClassifier(**FAST, max_epochs=1).fit(X, y, X, y)
    assert "once" not in model._number
    assert min(model._number.values()) == 1
    X.words[0][0] = "never"  # type: ignore[index]
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_a_dev_label_that_train_lacks_does_not_count_when_the_best_epoch_is_chosen() -> None:
    X, y = sequences(LENGTHS[:40], "input")
    y_dev = y.copy()
    y_dev[::2] = "c"
    model = BiLSTMClassifier(**FAST, max_epochs=2).fit(X, y, X, y_dev)
    assert model.classes_.tolist() == ["a", "b"]
    assert np.isfinite(model.dev_losses_).all()


def test_sentences_without_an_example_are_passed_over() -> None:
    X, y = sequences(LENGTHS[:40], "input")
    kept = [row for row, example in enumerate(X.examples) if example.sentence % 2]
    fewer = X.of_sentences(range(40), [X.examples[row] for row in kept])
    model = BiLSTMClassifier(**FAST, max_epochs=1).fit(fewer, y[kept], fewer, y[kept])
    assert model.predict_log_proba(fewer).shape == (len(kept), 2)


@pytest.mark.parametrize(
    ("labels", "dev_labels", "placement", "complaint"),
    [
        ("a", "a", "input", r"one class only \(a\)"),
        ("ab", "c", "input", "no label of dev occurs in the training data"),
        ("ab", "ab", "input 3", "there is no layer 3: the layers are 0 to 2"),
    ],
)
def test_what_cannot_be_fitted_is_an_error_in_plain_words(
    labels: str, dev_labels: str, placement: str, complaint: str
) -> None:
    X, y = sequences([3, 3], placement)
    with pytest.raises(ValueError, match=complaint):
        BiLSTMClassifier(**FAST).fit(X, np.resize(list(labels), len(y)), X, np.resize(list(dev_labels), len(y)))
