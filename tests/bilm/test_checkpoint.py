"""The native folder: what may lie in it, what is kept, and an output layer in half precision."""

import resource
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from bilm.checkpoint import load_model, save_native
from bilm.errors import UserError
from bilm.evaluation import evaluate
from bilm.official import ModelError
from tests.bilm.toy_training import grammar, toy_model


def test_a_card_and_a_training_curve_stay_when_a_model_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save_native(toy_model(grammar(10)), folder)
    (folder / "README.md").write_text("# A card\n", encoding="utf-8")
    (folder / "training.csv").write_text("step\n", encoding="utf-8")
    other = toy_model(grammar(10), seed=1)
    save_native(other, folder)
    assert load_model(folder).fingerprint() == other.fingerprint()
    assert (folder / "README.md").read_text(encoding="utf-8") == "# A card\n"
    assert {path.name for path in folder.iterdir()} == {
        "README.md",
        "config.json",
        "model.safetensors",
        "training.csv",
        "vocab.txt",
    }


def test_a_folder_with_anything_else_in_it_is_not_replaced(tmp_path: Path) -> None:
    for name in ("notes.md", "README.md/page.md"):
        folder = tmp_path / name[:3]
        save_native(toy_model(grammar(10)), folder)
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("mine", encoding="utf-8")
        with pytest.raises(ModelError, match="holds other things than a native model"):
            save_native(toy_model(grammar(10)), folder)
        assert (folder / name).read_text(encoding="utf-8") == "mine"


def test_a_half_precision_output_layer_evaluates_as_the_same_rounded_values_do_in_float32(tmp_path: Path) -> None:
    model = toy_model(grammar(50))
    save_native(model, tmp_path / "half", half_precision_output=True)
    stored = load_file(tmp_path / "half/model.safetensors")
    assert {name for name, tensor in stored.items() if tensor.dtype == torch.float16} == {
        "output.weight",
        "output.bias",
    }
    loaded = load_model(tmp_path / "half")
    assert all(parameter.dtype == torch.float32 for parameter in loaded.parameters())
    assert loaded.fingerprint() == model.fingerprint()
    assert model.output is not None
    with torch.no_grad():
        for parameter in model.output.parameters():
            parameter.copy_(parameter.half().float())
    assert evaluate(loaded, grammar(30, seed=1)) == evaluate(model.eval(), grammar(30, seed=1))


def test_a_full_disk_while_saving_is_one_line_and_the_old_model_survives(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save_native(toy_model(grammar(10)), folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))  # no file may grow beyond that
    try:
        with pytest.raises(UserError, match=r"model\.safetensors: cannot be written"):
            save_native(toy_model(grammar(10), seed=1), folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert list(tmp_path.iterdir()) == [folder]
