"""Mixes of layers against hand calculations, and `Elmo` as a part of somebody's own model."""

import copy
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from bilm.elmo import Elmo, ScalarMix
from bilm.model import BiLM
from tests.bilm.models import LONG, SENTENCE, SHORT, ids, run, strong_model

MASK = torch.tensor([[True, True], [True, False]])


@pytest.fixture
def bilm() -> BiLM:
    return strong_model(seed=4)


def random_layers(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


# Scalar mix


def test_a_mix_is_gamma_times_the_softmax_weighted_sum() -> None:
    mix = ScalarMix(2)
    with torch.no_grad():
        mix.logits.copy_(torch.tensor([math.log(3.0), 0.0]))  # softmax: 3/4 and 1/4
        mix.gamma.fill_(2)
    layers = torch.tensor([[[[4.0, 0.0, -8.0]]], [[[8.0, 4.0, 0.0]]]])
    # 2 * (3/4 * 4 + 1/4 * 8), 2 * (0 + 1/4 * 4), 2 * (3/4 * -8 + 0)
    torch.testing.assert_close(mix(layers, torch.ones(1, 1, dtype=torch.bool)), torch.tensor([[[10.0, 2.0, -12.0]]]))


def test_a_new_mix_is_the_plain_average_of_three_layers_L49() -> None:
    mix = ScalarMix(3)
    torch.testing.assert_close(mix.weights(), torch.tensor([1 / 3, 1 / 3, 1 / 3]))
    assert mix.gamma.item() == 1
    layers = random_layers(0, 3, 2, 2, 4)
    mixed = mix(layers, MASK)
    torch.testing.assert_close(mixed[MASK], layers.mean(dim=0)[MASK])
    assert not mixed[~MASK].any()


def test_weights_are_after_the_softmax_and_sum_to_one_L49() -> None:
    mix = ScalarMix(3)
    with torch.no_grad():
        mix.logits.copy_(torch.tensor([2.0, -1.0, 0.5]))
    raised = np.exp([2.0, -1.0, 0.5])
    np.testing.assert_allclose(mix.weights().detach().numpy(), raised / raised.sum(), rtol=1e-6)
    assert mix.weights().sum().item() == pytest.approx(1)


def test_the_penalty_is_the_coefficient_times_the_sum_of_squared_logits() -> None:
    mix = ScalarMix(3)
    assert mix.penalty(1.0).item() == 0  # at the average there is nothing to pull back
    with torch.no_grad():
        mix.logits.copy_(torch.tensor([1.0, 2.0, -1.0]))
    assert mix.penalty(0.5).item() == pytest.approx(3.0)
    torch.autograd.backward(mix.penalty(0.5))
    assert mix.logits.grad is not None
    torch.testing.assert_close(mix.logits.grad, torch.tensor([1.0, 2.0, -1.0]))  # 2 * 0.5 * logits
    assert mix.gamma.grad is None


def test_what_stands_in_padding_does_not_reach_a_mix() -> None:
    layers = random_layers(1, 3, 2, 2, 4)
    other = layers.clone()
    other[:, 1, 1] = 1e6
    for layer_norm in (None, "token", "batch"):
        mix = ScalarMix(3, layer_norm)
        torch.testing.assert_close(mix(other, MASK), mix(layers, MASK))


def test_token_normalisation_gives_every_vector_mean_zero_and_variance_one() -> None:
    layers = torch.tensor([[[[1.0, 3.0], [0.0, 10.0]]], [[[5.0, 5.0], [4.0, -4.0]]]])
    mixed = ScalarMix(2, "token")(layers, torch.ones(1, 2, dtype=torch.bool))
    # (-1, 1) and (0, 0) average to (-.5, .5); (-1, 1) and (1, -1) to (0, 0).
    torch.testing.assert_close(mixed, torch.tensor([[[-0.5, 0.5], [0.0, 0.0]]]))


def test_token_normalisation_does_not_depend_on_the_batch_L5() -> None:
    layers = random_layers(2, 3, 2, 2, 4)
    mix = ScalarMix(3, "token")
    torch.testing.assert_close(mix(layers, MASK)[:1], mix(layers[:, :1], MASK[:1]), rtol=0, atol=1e-6)


def test_batch_normalisation_has_one_mean_and_variance_a_layer_over_all_tokens_and_dimensions() -> None:
    # Unmasked values 1, 3, 5, 7, 9, 11: mean 6, variance 70 / 6.
    layers = torch.tensor([[[[1.0, 3.0], [5.0, 7.0]], [[9.0, 11.0], [100.0, 100.0]]]])
    mixed = ScalarMix(1, "batch")(layers, MASK)
    expected = (layers[0] - 6) / math.sqrt(70 / 6)
    torch.testing.assert_close(mixed[MASK], expected[MASK])
    assert not mixed[~MASK].any()


def test_batch_normalisation_depends_on_the_batch_as_documented_L5() -> None:
    layers = random_layers(3, 3, 2, 2, 4)
    mix = ScalarMix(3, "batch")
    assert (mix(layers, MASK)[:1] - mix(layers[:, :1], MASK[:1])).abs().max() > 0.01


@pytest.mark.parametrize("layer_norm", [None, "token", "batch"])
def test_a_batch_without_tokens_mixes_to_nothing_and_not_to_nan_L9(layer_norm: str | None) -> None:
    mix = ScalarMix(3, layer_norm)  # type: ignore[arg-type]
    assert mix(torch.zeros(3, 2, 0, 4), torch.zeros(2, 0, dtype=torch.bool)).shape == (2, 0, 4)
    mixed = mix(torch.zeros(3, 2, 2, 4), torch.zeros(2, 2, dtype=torch.bool))
    assert not mixed.any()
    mixed.sum().backward()
    assert mix.logits.grad is not None and torch.isfinite(mix.logits.grad).all()


def test_a_representation_with_another_number_of_layers_is_refused() -> None:
    with pytest.raises(ValueError, match=r"3.*2"):
        ScalarMix(3)(torch.zeros(2, 2, 2, 4), MASK)


def test_an_unknown_normalisation_is_refused() -> None:
    with pytest.raises(ValueError, match="layer"):
        ScalarMix(3, "layer")  # type: ignore[arg-type]


# Elmo


def test_a_new_elmo_in_evaluation_gives_the_average_of_the_layers(bilm: BiLM) -> None:
    elmo = Elmo(bilm).eval()
    output = elmo(ids(bilm, [SENTENCE, SHORT]))
    layers = run(bilm, [SENTENCE, SHORT])
    assert len(output.representations) == 1
    assert output.representations[0].shape == (2, len(SENTENCE), bilm.dim)
    torch.testing.assert_close(output.representations[0], layers.layers.mean(dim=0))
    assert torch.equal(output.mask, layers.mask)
    torch.testing.assert_close(output.state, layers.state)


def test_gradients_reach_the_mixes_alone_when_the_bilm_is_frozen(bilm: BiLM) -> None:
    elmo = Elmo(bilm, n_mixes=2)
    output = elmo(ids(bilm, [SENTENCE, SHORT]))
    sum(vectors.square().sum() for vectors in output.representations).backward()
    with_gradient = {name for name, parameter in elmo.named_parameters() if parameter.grad is not None}
    assert with_gradient == {"mixes.0.logits", "mixes.0.gamma", "mixes.1.logits", "mixes.1.gamma"}
    trainable = {name for name, parameter in elmo.named_parameters() if parameter.requires_grad}
    assert trainable == with_gradient


def test_gradients_reach_every_weight_of_the_bilm_when_it_is_not_frozen(bilm: BiLM) -> None:
    elmo = Elmo(bilm, freeze=False)
    elmo(ids(bilm, [SENTENCE, SHORT])).representations[0].square().sum().backward()
    assert all(parameter.grad is not None for parameter in elmo.parameters())


def test_a_frozen_bilm_is_the_same_after_training_and_its_mix_is_not_L49(bilm: BiLM) -> None:
    fingerprint = bilm.fingerprint()
    elmo = Elmo(bilm, dropout=0)
    optimizer = torch.optim.SGD(elmo.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        elmo(ids(bilm, [SENTENCE])).representations[0].square().mean().backward()
        optimizer.step()
    assert bilm.fingerprint() == fingerprint
    mix = elmo.mixes[0]
    assert isinstance(mix, ScalarMix)
    assert (mix.weights() - 1 / 3).abs().max() > 1e-3
    assert mix.weights().sum().item() == pytest.approx(1)


def test_the_outputs_of_a_frozen_elmo_hold_no_graph_of_the_bilm_L19(bilm: BiLM) -> None:
    output = Elmo(bilm)(ids(bilm, [SENTENCE]))
    assert output.representations[0].requires_grad  # through the mix
    assert not any(tensor.requires_grad for direction in output.state for tensor in direction)
    with torch.no_grad():
        assert not Elmo(bilm)(ids(bilm, [SENTENCE])).representations[0].requires_grad


def test_fine_tuning_may_carry_the_state_from_step_to_step_L19(bilm: BiLM) -> None:
    elmo = Elmo(bilm, freeze=False)
    state = None
    for words in (SENTENCE, SHORT):
        # A state that held the graph of the step before would grow without end, and backward() would fail here.
        output = elmo(ids(bilm, [words]), state)
        output.representations[0].sum().backward()
        state = output.state
        assert not any(tensor.requires_grad for direction in state for tensor in direction)


def test_several_mixes_share_one_pass_of_the_bilm_and_learn_apart(bilm: BiLM) -> None:
    elmo = Elmo(bilm, n_mixes=3).eval()
    passes = []
    bilm.register_forward_hook(lambda *_: passes.append(1))
    first, second = elmo.mixes[0], elmo.mixes[1]
    assert isinstance(first, ScalarMix) and isinstance(second, ScalarMix)
    with torch.no_grad():
        second.logits.copy_(torch.tensor([0.0, 0.0, 50.0]))  # the top layer alone
    output = elmo(ids(bilm, [SENTENCE]))
    assert len(passes) == 1
    layers = run(bilm, [SENTENCE]).layers
    torch.testing.assert_close(output.representations[1], layers[2])
    torch.testing.assert_close(output.representations[0], layers.mean(dim=0))
    torch.testing.assert_close(output.representations[2], output.representations[0])
    output.representations[1].sum().backward()
    assert first.logits.grad is None and second.logits.grad is not None


def test_dropout_acts_in_training_and_not_in_evaluation(bilm: BiLM) -> None:
    elmo = Elmo(bilm, dropout=0.5)
    character_ids = ids(bilm, [LONG])
    torch.manual_seed(0)
    kept = elmo.eval()(character_ids).representations[0]
    dropped = elmo.train()(character_ids).representations[0]
    share = float((dropped == 0).float().mean())
    assert 0.4 < share < 0.6
    torch.testing.assert_close(dropped[dropped != 0], 2 * kept[dropped != 0])
    assert (kept != 0).all()


@pytest.mark.parametrize("layer_norm", [None, "token"])
def test_a_sentences_task_vectors_do_not_depend_on_its_batch_L5(bilm: BiLM, layer_norm: str | None) -> None:
    elmo = Elmo(bilm, layer_norm=layer_norm).eval()  # type: ignore[arg-type]
    with torch.no_grad():
        alone = elmo(ids(bilm, [SENTENCE])).representations[0]
        batched = elmo(ids(bilm, [SHORT, SENTENCE, LONG])).representations[0]
    torch.testing.assert_close(batched[1:2, : len(SENTENCE)], alone, rtol=0, atol=1e-6)


def test_a_state_that_is_handed_on_is_the_bilms_L3(bilm: BiLM) -> None:
    elmo = Elmo(bilm).eval()
    state = elmo(ids(bilm, [SENTENCE])).state
    carried = elmo(ids(bilm, [SHORT]), state).representations[0]
    expected = run(bilm, [SHORT], state=run(bilm, [SENTENCE]).state).layers.mean(dim=0)
    torch.testing.assert_close(carried, expected)
    assert (carried - elmo(ids(bilm, [SHORT])).representations[0]).abs().max() > 0.01


@pytest.mark.parametrize("given", [[["the", "cat"]], ["the cat"], torch.ones(3, 12)])
def test_what_is_no_batch_of_ids_is_refused_with_what_makes_one(bilm: BiLM, given: Any) -> None:
    with pytest.raises(TypeError, match="as batch_to_ids makes it"):
        Elmo(bilm)(given)


@pytest.mark.parametrize("batch", [[[]], [[], []], [[], ["a"]]])
def test_a_batch_with_empty_sentences_has_vectors_for_its_words_alone_L9(bilm: BiLM, batch: list[list[str]]) -> None:
    output = Elmo(bilm).eval()(ids(bilm, batch))
    assert output.representations[0].shape == (len(batch), max(map(len, batch)), bilm.dim)
    assert not output.representations[0][~output.mask].any()


class Tagger(nn.Module):
    """What a user writes: a part-of-speech tagger on ELMo's vectors."""

    def __init__(self, elmo: Elmo, n_tags: int) -> None:
        super().__init__()
        self.elmo = elmo
        self.scores = nn.Sequential(nn.Linear(elmo.bilm.dim, 8), nn.ReLU(), nn.Linear(8, n_tags))

    def forward(self, character_ids: Tensor) -> Tensor:
        scores: Tensor = self.scores(self.elmo(character_ids).representations[0])
        return scores


def test_a_users_model_learns_with_elmo_inside(bilm: BiLM) -> None:
    torch.manual_seed(0)
    tagger = Tagger(Elmo(bilm, dropout=0.1), n_tags=3)
    character_ids = ids(bilm, [SENTENCE])
    gold = torch.arange(len(SENTENCE)) % 3
    optimizer = torch.optim.Adam(tagger.parameters(), lr=0.05)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(tagger(character_ids)[0], gold)
        torch.autograd.backward(loss)
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.75 * losses[0]


def test_a_state_dict_brings_a_users_model_back(tmp_path: Path) -> None:
    tagger = Tagger(Elmo(strong_model(seed=4), n_mixes=1), n_tags=3).eval()
    mix = tagger.elmo.mixes[0]
    assert isinstance(mix, ScalarMix)
    with torch.no_grad():
        mix.logits.copy_(torch.tensor([0.5, -1.0, 2.0]))
        mix.gamma.fill_(1.5)
    torch.save(tagger.state_dict(), tmp_path / "tagger.pt")
    other = Tagger(Elmo(strong_model(seed=8)), n_tags=3).eval()
    character_ids = ids(tagger.elmo.bilm, [SENTENCE, SHORT])
    assert not torch.equal(other(character_ids), tagger(character_ids))
    other.load_state_dict(torch.load(tmp_path / "tagger.pt", weights_only=True))
    assert torch.equal(other(character_ids), tagger(character_ids))


def test_a_copy_of_a_users_model_gives_the_same_and_is_apart(bilm: BiLM) -> None:
    tagger = Tagger(Elmo(bilm), n_tags=3).eval()
    character_ids = ids(bilm, [SENTENCE])
    before = tagger(character_ids)
    other = copy.deepcopy(tagger)
    assert torch.equal(other(character_ids), before)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    assert torch.equal(tagger(character_ids), before)
