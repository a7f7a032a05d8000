"""Loss and gradients of one batch."""

from typing import Any

import pytest
import torch

from bilm.batches import pack, whole
from bilm.evaluation import score
from bilm.gradients import GradientMaker
from bilm.model import BiLM
from tests.bilm.toy_training import grammar, toy_model

SENTENCES = [tuple(sentence) for sentence in grammar(6)]
ROWS = [whole(sentence) for sentence in SENTENCES]


def run(model: BiLM, rows: list[Any] = ROWS, part: int = 0, **settings: Any) -> float:
    """Set the gradients of one step; return the loss, summed over directions."""
    assert model.vocabulary is not None
    batch = pack(rows, model.vocabulary, model.max_characters)
    for parameter in model.parameters():
        parameter.grad = None
    maker = GradientMaker(model, **{"n_sampled": 12, **settings})
    loss = maker.add(batch, scale=1.0, seed=[5], part=part, state=model.zero_state(len(rows)))
    return loss.forward + loss.backward


def gradients(model: BiLM) -> dict[str, torch.Tensor]:
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters() if parameter.grad is not None}


def test_gradients_of_the_whole_model_equal_finite_differences_in_double_precision() -> None:
    model = toy_model(grammar(100)).double()
    rows = ROWS[:3]
    run(model, rows, dropout=0.3)
    found = gradients(model)
    assert set(found) == {name for name, _ in model.named_parameters()}
    generator = torch.Generator().manual_seed(0)
    for name, parameter in model.named_parameters():
        # Along one random direction of each weight.
        direction = torch.randn(parameter.shape, generator=generator, dtype=torch.double)
        start, step = parameter.detach().clone(), 1e-6
        losses = []
        for sign in (1, -1):
            parameter.data = start + sign * step * direction
            losses.append(run(model, rows, dropout=0.3))
        parameter.data = start
        expected = (found[name] * direction).sum().item()
        assert (losses[0] - losses[1]) / (2 * step) == pytest.approx(expected, rel=1e-4, abs=1e-5), name


def test_with_all_words_sampled_the_loss_is_the_exact_one_that_evaluation_reports() -> None:
    model = toy_model(grammar(100))
    loss = run(model, n_sampled=1000)
    exact = sum(-one.forward.sum() - one.backward.sum() for one in score(model, SENTENCES))
    assert loss == pytest.approx(exact, rel=1e-5)


def test_two_threads_give_the_same_bits_as_one() -> None:
    model = toy_model(grammar(100))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        results = []
        for parallel in (False, True, True):
            loss = run(model, parallel=parallel)
            results.append((loss, gradients(model)))
    finally:
        torch.set_num_threads(threads)
    for loss, found in results[1:]:
        assert loss == results[0][0]
        assert all(torch.equal(found[name], gradient) for name, gradient in results[0][1].items())


def test_the_parts_of_a_batch_add_up_to_the_batch() -> None:
    model = toy_model(grammar(100)).double()
    total = run(model)
    expected = gradients(model)
    parts = []
    for part in range(3):
        total -= run(model, ROWS[part::3], part)
        parts.append(gradients(model))
    assert total == pytest.approx(0, abs=1e-9)
    for name, gradient in expected.items():
        torch.testing.assert_close(sum(part[name] for part in parts), gradient)


def test_dropout_masks_differ_between_steps_and_parts_but_not_between_runs() -> None:
    model = toy_model(grammar(100))
    assert run(model, dropout=0.5) == run(model, dropout=0.5)
    assert run(model, dropout=0.5) != run(model, dropout=0.5, part=1)


def test_bfloat16_products_change_the_loss_by_less_than_a_percent() -> None:
    model = toy_model(grammar(100))
    assert run(model, bfloat16=True) == pytest.approx(run(model), rel=0.01)
