"""The biLM as an encoder: what it is called, and what its fingerprint tells apart."""

from pathlib import Path

import numpy as np
import pytest

from bilm import BiLM, Embedder
from bilm.errors import UserError
from probing.encoders import BilmEncoderConfig, HuggingfaceEncoderConfig
from tests.probing.toy import save_network

SENTENCES = [["the", "goose", "sinks"], [], ["a", "boat"]]


@pytest.fixture
def network(tmp_path: Path) -> str:
    return save_network(tmp_path / "tiny")


def test_it_yields_the_embedders_arrays_and_names_its_layers(network: str) -> None:
    encoder = BilmEncoderConfig(bilm=network).build(None)
    assert encoder.layer_names == ("token encoder", "LSTM 1", "LSTM 2")
    expected = list(Embedder(BiLM.from_pretrained(network)).embed(SENTENCES))
    for found, right in zip(encoder.encode(SENTENCES), expected, strict=True):
        np.testing.assert_array_equal(found, right)


def test_an_untrained_network_has_the_shape_and_other_weights_by_seed(network: str) -> None:
    config = BilmEncoderConfig(bilm=network, untrained=(0, 7))
    assert config.label == "tiny (untrained)"
    assert config.seeds == (0, 7)
    first, again, other = (config.build(seed) for seed in (0, 0, 7))
    trained = BilmEncoderConfig(bilm=network).build(None)
    assert first.fingerprint == again.fingerprint
    assert len({first.fingerprint, other.fingerprint}) == 2
    assert first.dim == trained.dim
    # The toy network was drawn from seed 0: the same seed must give the same network.
    assert first.fingerprint == trained.fingerprint


def test_the_state_policy_is_part_of_the_label_and_of_the_fingerprint(network: str) -> None:
    configs = [
        BilmEncoderConfig.model_validate({"bilm": network, "state": state}) for state in ("reset", "carry", "warm")
    ]
    assert [config.label for config in configs] == ["tiny", "tiny (carry)", "tiny (warm)"]
    assert len({config.build(None).fingerprint for config in configs}) == 3


def test_carried_state_starts_anew_with_each_corpus_P23(network: str) -> None:
    encoder = BilmEncoderConfig(bilm=network, state="carry").build(None)
    first, second = list(encoder.encode(SENTENCES)), list(encoder.encode(SENTENCES))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("here", [".", "./", "/"])
def test_the_folder_one_is_in_has_a_label_too_as_none_is_that_of_a_baseline(here: str) -> None:
    assert BilmEncoderConfig(bilm=here).label
    assert BilmEncoderConfig(bilm=here, untrained=(0,)).label.strip() != "(untrained)"
    assert HuggingfaceEncoderConfig(huggingface=here).label


def test_a_model_in_the_home_folder_is_found(network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(Path(network).parent))
    assert BilmEncoderConfig(bilm="~/tiny").build(None).dim == 12


def test_a_shape_alone_can_only_be_untrained() -> None:
    BilmEncoderConfig(bilm="elmo-small", untrained=(0,)).check()
    with pytest.raises(UserError, match="the name of a shape, which has no weights"):
        BilmEncoderConfig(bilm="elmo-small").check()


def test_a_model_is_also_looked_up_in_the_data_folder(network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBING_DATA", str(Path(network).parent))
    assert BilmEncoderConfig(bilm="tiny").build(None).dim == 12
