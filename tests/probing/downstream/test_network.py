"""The downstream network: against torch's own LSTM, by hand where it is linear, and what each placement can see."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from bilm.lstm import ProjectedLSTM
from probing.downstream import BiLSTMClassifier, Sequences, parse_placement
from probing.downstream.network import Sizes, SpanNetwork, packed_orders
from probing.tasks import Example
from tests.probing.downstream.toy_sequences import sequences

LENGTHS = [4, 1, 7, 2, 5, 5, 3]


def fitted(placement: str, **settings: Any) -> tuple[BiLSTMClassifier, Sequences]:
    X, y = sequences(LENGTHS * 4, placement)
    model = BiLSTMClassifier(word_dim=5, hidden=4, max_epochs=1, **settings)
    return model.fit(X, y, X, y), X


def test_each_direction_reads_the_longest_sentence_first_step_after_step() -> None:
    (forward, backward), batch_sizes = packed_orders([2, 3])  # tokens 0 and 1, then 2, 3 and 4
    assert batch_sizes == [2, 2, 1]
    assert forward.tolist() == [2, 0, 3, 1, 4]
    assert backward.tolist() == [4, 1, 3, 0, 2]


def torch_lstm(directions: Sequence[ProjectedLSTM]) -> nn.LSTM:
    """Return torch's bidirectional LSTM with the same weights: its gates lie input, forget, candidate, output."""
    hidden = directions[0].recurrent_weight.shape[1]
    lstm = nn.LSTM(directions[0].input_weight.shape[1], hidden, bidirectional=True)
    order = [0, 2, 1, 3]
    for suffix, own in zip(("_l0", "_l0_reverse"), directions, strict=True):

        def gates(weight: Tensor) -> Tensor:
            return weight.view(4, hidden, -1)[order].reshape(4 * hidden, -1)

        bias = gates(own.bias.unsqueeze(1)).squeeze(1)
        bias[hidden : 2 * hidden] += 1
        with torch.no_grad():
            getattr(lstm, "weight_ih" + suffix).copy_(gates(own.input_weight))
            getattr(lstm, "weight_hh" + suffix).copy_(gates(own.recurrent_weight))
            getattr(lstm, "bias_ih" + suffix).copy_(bias)
            getattr(lstm, "bias_hh" + suffix).zero_()
    return lstm


def test_scores_are_those_of_torchs_bidirectional_lstm_sentence_by_sentence() -> None:
    model, X = fitted("input")
    network = model.network_
    lstm = torch_lstm([network.forward_lstm, network.backward_lstm])
    scores = model.predict_log_proba(X)
    start = 0
    for index, words in enumerate(X.words[:7]):
        one = X.of_sentences([index], [Example(0, t, t + 1, ("?",), "") for t in range(len(words))])
        batch = model._batch(one, [0], [np.arange(len(words))])
        with torch.no_grad():
            vectors = [network.word_vectors(batch.words), network._spelled(batch)]
            inputs = torch.cat([*vectors, *network._mixed(network.input_mix, batch.layers)], dim=1)
            expected = network.classify(lstm(inputs.unsqueeze(1))[0].squeeze(1)).double().log_softmax(dim=1)
        assert np.allclose(scores[start : start + len(words)], expected.numpy(), atol=1e-5)
        start += len(words)


def test_the_score_of_a_span_is_the_mean_of_its_tokens_scores() -> None:
    model, X = fitted("both")
    alone = model._scores(X)[:4]  # the first sentence's tokens
    spans = [Example(0, 0, 4, ("?",), ""), Example(0, 1, 3, ("?",), "")]
    scores = model._scores(X.of_sentences([0], spans))
    assert np.allclose(scores, [alone.mean(axis=0), alone[1:3].mean(axis=0)], atol=1e-6)


@pytest.mark.parametrize(
    ("placement", "seen"),
    [
        ("none", []),
        ("input", [0, 1, 2]),
        ("output", [0, 1, 2]),
        ("both", [0, 1, 2]),
        ("input top", [2]),
        ("both 0", [0]),
        ("output 1", [1]),
    ],
)
def test_a_model_reads_the_layers_that_its_placement_names_and_no_other(placement: str, seen: list[int]) -> None:
    model, X = fitted(placement)
    scores = model.predict_log_proba(X)
    for layer in range(3):
        changed = X.layers.copy()
        changed[layer] += np.random.default_rng(1).normal(size=changed[layer].shape)
        same = np.array_equal(model.predict_log_proba(replace(X, layers=changed)), scores)
        assert same == (layer not in seen)


@pytest.mark.parametrize(("placement", "reaches"), [("input", True), ("output", False)])
def test_elmo_at_the_input_reaches_the_neighbours_and_at_the_output_its_own_word_alone(
    placement: str, reaches: bool
) -> None:
    model, X = fitted(placement)
    changed = X.layers.copy()
    changed[:, 1] += np.random.default_rng(1).normal(size=changed[:, 1].shape)  # the first sentence's second word
    before, after = model.predict_log_proba(X)[:4], model.predict_log_proba(replace(X, layers=changed))[:4]
    moved = np.abs(after - before).max(axis=1) > 1e-7
    assert moved.tolist() == [reaches, True, reaches, reaches]


def network(placement: str) -> SpanNetwork:
    sizes = Sizes(n_layers=3, elmo_dim=6, n_words=9, word_dim=5, hidden=4, n_classes=2, dropout=0, layer_norm=None)
    return SpanNetwork(parse_placement(placement), sizes, torch.Generator().manual_seed(0))


def test_the_penalty_is_lambda_times_the_squared_logits_of_every_mix() -> None:
    both = network("both lambda=0.5")
    assert both.input_mix is not None
    assert both.output_mix is not None
    with torch.no_grad():
        both.input_mix.logits.copy_(torch.tensor([1.0, -2.0, 0.0]))
        both.output_mix.logits.copy_(torch.tensor([0.0, 0.0, 3.0]))
    assert float(both.penalty()) == pytest.approx(0.5 * (1 + 4 + 9))
    assert float(network("none").penalty()) == 0


def test_making_a_network_leaves_the_global_generator_where_it_was() -> None:
    before = torch.random.get_rng_state()
    network("both")
    assert torch.equal(torch.random.get_rng_state(), before)
