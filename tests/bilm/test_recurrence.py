"""The hand-written gradient of the LSTM's recurrence."""

import pytest
import torch
from torch import Tensor, nn

from bilm.config import LSTMConfig
from bilm.lstm import ProjectedLSTM

BATCH_SIZES = [4, 3, 3, 1]
INPUT_DIM, DIM = 4, 5


def layer(projection_dim: int, clip: float | None) -> ProjectedLSTM:
    config = LSTMConfig(dim=DIM, projection_dim=projection_dim, n_layers=1, cell_clip=clip, proj_clip=clip)
    made = ProjectedLSTM(INPUT_DIM, config).double()
    generator = torch.Generator().manual_seed(1)
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.7, generator=generator)
    return made


def inputs(projection_dim: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    # Five rows of state for four running rows: the last has no step.
    shapes = ((sum(BATCH_SIZES), INPUT_DIM), (5, projection_dim), (5, DIM))
    packed, hidden, cell = (torch.randn(shape, generator=generator, dtype=torch.double) for shape in shapes)
    return packed, 0.2 * hidden, 0.2 * cell


@pytest.mark.parametrize(("projection_dim", "clip"), [(3, None), (3, 0.3), (5, 0.3)])
def test_gradients_equal_finite_differences(projection_dim: int, clip: float | None) -> None:
    lstm = layer(projection_dim, clip)
    packed, hidden, cell = inputs(projection_dim)

    def run(packed: Tensor, *_: Tensor) -> Tensor:
        output, _, _ = lstm(packed, BATCH_SIZES, hidden, cell)
        return torch.as_tensor(output)

    assert torch.autograd.gradcheck(run, (packed.requires_grad_(), *lstm.parameters()))


@pytest.mark.parametrize(("projection_dim", "clip"), [(3, None), (3, 0.3), (5, 0.3)])
def test_training_computes_what_inference_computes(projection_dim: int, clip: float | None) -> None:
    lstm = layer(projection_dim, clip)
    packed, hidden, cell = inputs(projection_dim)
    trained = lstm(packed, BATCH_SIZES, hidden, cell)
    with torch.no_grad():
        plain = lstm(packed, BATCH_SIZES, hidden, cell)
    for one, other in zip(trained, plain, strict=True):
        torch.testing.assert_close(one.detach(), other, rtol=0, atol=1e-12)


def test_without_clips_outputs_and_gradients_are_those_of_torchs_lstm() -> None:
    lstm = layer(3, None)
    packed, hidden, cell = inputs(3)
    theirs = nn.LSTM(INPUT_DIM, DIM, proj_size=3).double()
    weights = dict(theirs.named_parameters())

    def reorder(weight: Tensor) -> Tensor:
        admit, candidate, keep, emit = weight.detach().chunk(4)
        return torch.cat([admit, keep, candidate, emit])

    one = torch.cat([torch.zeros(2 * DIM), torch.ones(DIM), torch.zeros(DIM)]).double()
    with torch.no_grad():
        weights["weight_ih_l0"].copy_(reorder(lstm.input_weight))
        weights["weight_hh_l0"].copy_(reorder(lstm.recurrent_weight))
        weights["bias_ih_l0"].copy_(reorder(lstm.bias + one))
        weights["bias_hh_l0"].zero_()
        assert lstm.projection_weight is not None
        weights["weight_hr_l0"].copy_(lstm.projection_weight)
    sequence = nn.utils.rnn.PackedSequence(packed, torch.tensor(BATCH_SIZES))
    expected, _ = theirs(sequence, (hidden[None, :4], cell[None, :4]))
    output, _, _ = lstm(packed, BATCH_SIZES, hidden, cell)
    torch.testing.assert_close(output, expected.data)
    output.square().sum().backward()
    expected.data.square().sum().backward()
    assert lstm.recurrent_weight.grad is not None and weights["weight_hh_l0"].grad is not None
    torch.testing.assert_close(reorder(lstm.recurrent_weight.grad), weights["weight_hh_l0"].grad)
    assert lstm.projection_weight.grad is not None and weights["weight_hr_l0"].grad is not None
    torch.testing.assert_close(lstm.projection_weight.grad, weights["weight_hr_l0"].grad)


def test_no_gradient_passes_a_value_that_is_clipped() -> None:
    lstm = layer(3, None)
    lstm.proj_clip = 1e-6  # every output clips
    packed, hidden, cell = inputs(3)
    output, _, _ = lstm(packed.requires_grad_(), BATCH_SIZES, hidden, cell)
    assert output.detach().abs().eq(1e-6).all()
    (gradient,) = torch.autograd.grad(output.sum(), packed)
    assert not gradient.any()
