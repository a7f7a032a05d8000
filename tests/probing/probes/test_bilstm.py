"""The downstream model as a probe: its views, the part of the sentences that it is given, its facts."""

from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from bilm.errors import UserError
from probing.features import Features
from probing.probes import Problem
from probing.probes.bilstm import BilstmConfig
from probing.tasks import Split
from tests.probing.probes.toy_problems import split_of

SPLIT = split_of([[("a", "x"), ("b", "y")], [("c", "x")], [("d", "y"), ("a", "x"), ("b", "y")]])


def features(folder: Path, split: Split) -> Features:
    n_tokens = len(split.by_token().examples)
    folder.mkdir(exist_ok=True)
    np.save(folder / "layers.npy", np.random.default_rng(0).normal(size=(3, n_tokens, 4)).astype(np.float32))
    return Features(folder)


def test_features_of_every_token_are_those_of_a_tagging_task_and_more_than_those_of_a_sentence() -> None:
    assert SPLIT.by_token().content == SPLIT.content
    whole = Split(SPLIT.sentences, SPLIT.examples[2:3])  # the one word of the second sentence
    assert whole.by_token().content == SPLIT.content
    assert whole.content != SPLIT.content


def test_a_part_of_the_sentences_has_their_words_and_their_vectors(tmp_path: Path) -> None:
    config = BilstmConfig()
    X = config.matrix(features(tmp_path, SPLIT), "both", SPLIT)
    drawn, rows = SPLIT.of_sentences([0, 2])
    part = config.part(X, drawn, [0, 2], rows)
    assert [list(words) for words in part.words] == [["a", "b"], ["d", "a", "b"]]
    assert part.first_tokens.tolist() == [0, 3]
    assert [example.sentence for example in part.examples] == [0, 0, 1, 1, 1]


def test_views_are_the_conditions_whatever_the_experiments_views_are() -> None:
    config = BilstmConfig(elmo=("none", "input top", "input lambda=1"))
    assert list(config.all_views(["0", "mean"], 3)) == ["none", "input top", "input lambda=1"]
    with pytest.raises(ValidationError, match="unknown placement 'inside'"):
        BilstmConfig(elmo=("inside",))


@pytest.mark.parametrize("view", ["input 3", "both 99"])
def test_a_layer_that_the_network_lacks_is_refused_before_anything_is_fitted(view: str) -> None:
    with pytest.raises(UserError, match=f"'{view}': the layers are 0 to 2"):
        BilstmConfig(elmo=("input 2", view)).all_views(["0"], 3)


def test_the_facts_are_the_epochs_the_size_and_each_mixs_weights_which_sum_to_one(tmp_path: Path) -> None:
    config = BilstmConfig(word_dim=3, hidden=2)
    X = config.matrix(features(tmp_path, SPLIT), "both", SPLIT)
    (model,) = config.fit([Problem(SPLIT, SPLIT, 0, {})], X, X)
    facts = config.facts(model)
    for place in ("input", "output"):
        assert sum(facts[f"{place}_weight_{layer}"] for layer in range(3)) == pytest.approx(1)
    # By hand: words (a, b twice, and the unknown one) 3 x 3; characters 262 x 16 and 48 x 32 + 32; two LSTMs of 2 that
    # read 3 + 32 + 4 numbers: 8 x (39 + 2 + 1) each; 2 classes of 2 * 2 + 4 numbers and a bias; two mixes of 3 + 1.
    assert facts["parameters"] == 9 + 4192 + 1568 + 2 * 336 + 18 + 8
    answers = config.answer(model, X, SPLIT)
    assert answers.bits is not None
    assert len(answers.labels) == len(answers.bits) == 6
