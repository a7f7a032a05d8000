"""The output layer: exact probabilities, and the sampled softmax that stands for them in training."""

import math

import numpy as np
import torch

from bilm.softmax import OutputLayer, draw_sample

N_WORDS, DIM = 40, 6


def output_layer() -> OutputLayer:
    layer = OutputLayer(N_WORDS, DIM).double()
    generator = torch.Generator().manual_seed(0)
    torch.nn.init.normal_(layer.weight, generator=generator)
    torch.nn.init.normal_(layer.bias, generator=generator)
    return layer


def hidden_and_targets(n: int = 30) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    hidden = torch.randn(n, DIM, generator=generator, dtype=torch.double)
    return hidden, torch.randint(N_WORDS, (n,), generator=generator)


def test_sampled_softmax_equals_exact_softmax_when_every_word_is_sampled() -> None:
    layer = output_layer()
    hidden, targets = hidden_and_targets()
    hidden.requires_grad_()
    wanted = [hidden, layer.weight, layer.bias]
    sampled = layer.sampled_loss(hidden, targets, draw_sample(N_WORDS, N_WORDS, np.random.default_rng(0)))
    exact = -layer.log_probability(hidden, targets).sum()
    torch.testing.assert_close(sampled, exact)
    for one, other in zip(torch.autograd.grad(sampled, wanted), torch.autograd.grad(exact, wanted), strict=True):
        torch.testing.assert_close(one.to_dense(), other)


def test_probabilities_of_all_words_sum_to_one() -> None:
    layer = output_layer()
    hidden, _ = hidden_and_targets(700)  # more rows than one pass takes
    every = torch.stack([layer.log_probability(hidden, torch.full((700,), word)) for word in range(N_WORDS)])
    torch.testing.assert_close(every.exp().sum(dim=0), torch.ones(700, dtype=torch.double))


def test_a_sample_holds_distinct_words_in_ascending_order() -> None:
    sample = draw_sample(1000, 300, np.random.default_rng(0))
    assert len(sample.words) == 300
    assert bool((sample.words.diff() > 0).all()) and int(sample.words[0]) >= 0 and int(sample.words[-1]) < 1000


def test_words_are_drawn_as_often_as_their_expected_count_says() -> None:
    generator = np.random.default_rng(0)
    seen, expected = torch.zeros(N_WORDS), torch.zeros(N_WORDS)
    for _ in range(4000):
        sample = draw_sample(N_WORDS, 10, generator)
        seen[sample.words] += 1
        expected += sample.log_expected(torch.arange(N_WORDS)).exp()
    assert float((seen - expected).abs().max()) / 4000 < 0.03
    # The most frequent word: 1 - (1 - p) ** tries with p = log(2) / log(41).
    p = math.log(2) / math.log(N_WORDS + 1)
    one = sample.log_expected(torch.tensor([0])).exp().item()
    assert math.isclose(one, 1 - (1 - p) ** sample.n_tries, rel_tol=1e-6)


def test_the_correction_by_expected_counts_makes_the_sampled_gradient_nearly_that_of_the_exact_softmax_L26() -> None:
    # Without it, frequent words, which are in every sample, would be pushed down far too much.
    layer = output_layer()
    hidden, targets = hidden_and_targets(400)
    hidden *= 0.2  # the estimate is unbiased only for many words of like probability
    (exact,) = torch.autograd.grad(-layer.log_probability(hidden, targets).sum(), layer.bias)
    generator = np.random.default_rng(0)
    mean = torch.zeros(N_WORDS, dtype=torch.double)
    for _ in range(400):
        loss = layer.sampled_loss(hidden, targets, draw_sample(N_WORDS, 20, generator))
        mean += torch.autograd.grad(loss, layer.bias)[0] / 400
    error = float((mean - exact).abs().max() / exact.abs().max())
    assert error < 0.15, error


def test_a_rows_own_word_is_not_counted_twice_when_it_is_sampled() -> None:
    layer = output_layer()
    hidden, _ = hidden_and_targets(1)
    sample = draw_sample(N_WORDS, 10, np.random.default_rng(3))
    target = sample.words[4:5]
    logits = layer.bias + hidden @ layer.weight.t() - sample.log_expected(torch.arange(N_WORDS))
    by_hand = torch.logsumexp(logits[0, sample.words], dim=0) - logits[0, target]
    torch.testing.assert_close(layer.sampled_loss(hidden, target, sample), by_hand.squeeze())
