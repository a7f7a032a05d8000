"""Perplexity and per-word probabilities."""

import math

import numpy as np
import pytest
import torch

from bilm.config import BiLMConfig
from bilm.errors import UserError
from bilm.evaluation import NoOutputLayerError, SentenceScore, evaluate, score
from bilm.model import BiLM
from tests.bilm.toy_training import NETWORK, grammar, toy_model

SENTENCES = [*grammar(30), ["kettle"], ["an", "unheard", "of", "platypus"], ["the"] * 60]


@pytest.fixture(scope="module")
def model() -> BiLM:
    return toy_model(grammar(200), max_size=30)


def by_direct_probabilities(model: BiLM, sentence: list[str]) -> tuple[list[float], list[float]]:
    """Score one sentence from the layers that embedding gives, boundaries kept."""
    from bilm.characters import batch_to_ids

    assert model.output is not None and model.vocabulary is not None
    with torch.no_grad():
        layers = model(batch_to_ids([sentence], model.max_characters), keep_boundaries=True).layers[-1, 0]
        forward, backward = layers.chunk(2, dim=1)  # positions: <S> w1 ... wn </S>
        targets = [model.vocabulary.index(word) for word in ("<S>", *sentence, "</S>")]
        after = model.output(forward[:-1])[range(len(sentence) + 1), targets[1:]]
        before = model.output(backward[1:])[range(len(sentence) + 1), targets[:-1]]
    return after.tolist(), before.tolist()


def test_scores_are_the_output_layers_probabilities_of_the_layers_that_embedding_gives(model: BiLM) -> None:
    for sentence, scores in zip(SENTENCES, score(model, SENTENCES), strict=True):
        forward, backward = by_direct_probabilities(model, sentence)
        np.testing.assert_allclose(scores.forward, forward, atol=1e-5)
        np.testing.assert_allclose(scores.backward, backward, atol=1e-5)


def test_perplexity_is_the_same_for_any_batch_size_L33(model: BiLM) -> None:
    results = [evaluate(model, SENTENCES, batch_size=size) for size in (1, 7, 256)]
    for result in results[1:]:
        assert result.n_words == results[0].n_words == sum(map(len, SENTENCES))
        for name in ("forward", "backward", "mean", "forward_known", "backward_known", "mean_known"):
            assert math.isclose(getattr(result, name), getattr(results[0], name), abs_tol=1e-4)


def test_scoring_twice_gives_the_same_numbers_L6(model: BiLM) -> None:
    assert evaluate(model, SENTENCES) == evaluate(model, SENTENCES)


def test_scores_sum_to_the_perplexity_of_all_words_together_L34_L37(model: BiLM) -> None:
    scores = list(score(model, SENTENCES, batch_size=5))
    n_steps = sum(len(sentence) + 1 for sentence in SENTENCES)
    result = evaluate(model, SENTENCES)
    forward = -sum(one.forward.sum() for one in scores) / n_steps
    backward = -sum(one.backward.sum() for one in scores) / n_steps
    assert math.isclose(result.forward, math.exp(forward), rel_tol=1e-6)
    assert math.isclose(result.backward, math.exp(backward), rel_tol=1e-6)
    assert math.isclose(result.mean, math.exp((forward + backward) / 2), rel_tol=1e-6)


def test_unknown_words_are_counted_and_can_be_left_out(model: BiLM) -> None:
    assert model.vocabulary is not None
    unknown = [word for sentence in SENTENCES for word in sentence if word not in model.vocabulary.words]
    result = evaluate(model, SENTENCES)
    assert result.n_unknown == len(unknown) > 0
    total = n_steps = 0.0
    for sentence, scores in zip(SENTENCES, score(model, SENTENCES), strict=True):
        for word, value in zip([*sentence, "</S>"], scores.forward, strict=True):
            if word in model.vocabulary.words:
                total, n_steps = total - value, n_steps + 1
    assert math.isclose(result.forward_known, math.exp(total / n_steps), rel_tol=1e-6)


@pytest.mark.parametrize("place", [0, 3, 6])
def test_another_word_changes_no_forward_score_before_it_and_no_backward_score_after_it(
    model: BiLM, place: int
) -> None:
    sentence = ["the", "goose", "mends", "every", "lamp", "at", "dawn"]
    changed = [*sentence[:place], "orchard", *sentence[place + 1 :]]
    first, second = score(model, [sentence, changed], batch_size=1)
    # forward[k] is word k given the words before it; backward[k + 1] is word k given the words after it.
    np.testing.assert_array_equal(first.forward[:place], second.forward[:place])
    np.testing.assert_array_equal(first.backward[place + 2 :], second.backward[place + 2 :])
    assert (first.forward[place + 1 :] != second.forward[place + 1 :]).all()
    assert (first.backward[: place + 1] != second.backward[: place + 1]).all()


def test_probabilities_of_all_next_words_sum_to_one(model: BiLM) -> None:
    assert model.vocabulary is not None
    words = [word for word in model.vocabulary.words if not word.startswith("<")]
    scores: list[SentenceScore] = list(score(model, [["the", word] for word in [*words, "platypus"]]))
    ends = [one.forward[1] for one in score(model, [["the"]])]
    total = math.fsum(math.exp(one.forward[1]) for one in scores) + math.exp(ends[0])
    start = by_direct_probabilities(model, ["the", "<S>"])[0][1]  # the model also gives some to a start
    assert math.isclose(total + math.exp(start), 1, rel_tol=1e-5)


def test_a_model_without_output_layer_has_no_perplexity_L31() -> None:
    model = BiLM(BiLMConfig.model_validate(NETWORK))
    with pytest.raises(NoOutputLayerError, match="no output layer"):
        evaluate(model, SENTENCES)


def test_a_text_without_sentences_has_no_perplexity(model: BiLM) -> None:
    with pytest.raises(UserError, match="no sentence to score"):
        evaluate(model, [])
