"""The guide's tagger with ELMo inside: it learns, and gradients reach what they should."""

from types import ModuleType

import pytest
import torch

from bilm import BiLM
from probing.corpora import Sentence, load_split
from tests.docs.blocks import ROOT
from tests.docs.test_pages import load

FIRST = 16


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return load(ROOT / "docs/examples/elmo_tagger.py")


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    return load_split("homographs", "train")[::20]


@pytest.fixture(scope="module")
def tags(sentences: list[Sentence]) -> list[str]:
    return sorted({tag for sentence in sentences for tag in sentence.columns["upos"]})


@pytest.mark.parametrize("freeze", [True, False])
def test_gradients_reach_mix_and_tagger_and_the_bilm_only_where_it_is_not_frozen(
    example: ModuleType, sentences: list[Sentence], tags: list[str], freeze: bool
) -> None:
    torch.manual_seed(0)
    tagger = example.Tagger(BiLM.from_pretrained("small-en"), len(tags), freeze=freeze)
    torch.autograd.backward(example.loss_of(tagger, sentences[:FIRST], tags))
    reached = {name for name, one in tagger.named_parameters() if one.grad is not None and one.grad.any()}
    names = {name for name, _ in tagger.named_parameters()}
    own = {name for name in names if not name.startswith("elmo.bilm.")}
    assert {"elmo.mixes.0.logits", "elmo.mixes.0.gamma", "lstm.weight_ih_l0", "scores.weight"} < own
    output = {name for name in names if name.startswith("elmo.bilm.output.")}  # predicts words, and is not asked to
    assert reached == (own if freeze else names - output)


def test_the_tagger_learns_and_leaves_a_frozen_bilm_as_it_was(
    example: ModuleType, sentences: list[Sentence], tags: list[str]
) -> None:
    torch.manual_seed(0)
    bilm = BiLM.from_pretrained("small-en")
    before = bilm.fingerprint()
    tagger = example.Tagger(bilm, len(tags))
    untrained = example.accuracy(tagger, sentences, tags)
    example.train(tagger, sentences, tags, steps=25)
    assert example.accuracy(tagger, sentences, tags) > max(0.9, untrained)
    assert tagger.mix.logits.abs().min() > 0 and tagger.mix.gamma != 1
    assert bilm.fingerprint() == before
