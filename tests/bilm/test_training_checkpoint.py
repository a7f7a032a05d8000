"""The checkpoint file: all or nothing."""

import resource
from pathlib import Path

import pytest
import torch

from bilm.errors import UserError
from bilm.training_checkpoint import CheckpointError, load_checkpoint, read_progress, save_checkpoint
from tests.bilm.toy_training import grammar, toy_model


def test_everything_comes_back_bit_for_bit(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    saved, loaded = toy_model(grammar(20), seed=0), toy_model(grammar(20), seed=1)
    optimizers = [torch.optim.AdamW(model.parameters(), fused=True) for model in (saved, loaded)]
    for parameter in saved.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizers[0].step()
    state = saved.zero_state(3)
    state.forward.hidden.fill_(0.25)
    save_checkpoint(path, saved, optimizers[0], state, {"step": 7})
    assert read_progress(path) == {"step": 7}
    carried = load_checkpoint(path, loaded, optimizers[1])
    assert carried is not None and torch.equal(carried.forward.hidden, state.forward.hidden)
    for one, other in zip(saved.parameters(), loaded.parameters(), strict=True):
        assert torch.equal(one, other)
        for name, value in optimizers[0].state[one].items():
            assert torch.equal(value, optimizers[1].state[other][name])


def test_a_full_disk_while_saving_is_one_line_and_the_old_checkpoint_survives(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    model = toy_model(grammar(20))
    optimizer = torch.optim.AdamW(model.parameters())
    save_checkpoint(path, model, optimizer, None, {"step": 1})
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, limits[1]))  # no file may grow beyond that
    try:
        with pytest.raises(UserError, match=r"checkpoint\.safetensors: cannot be written"):
            save_checkpoint(path, model, optimizer, None, {"step": 2})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_damaged_or_missing_checkpoint_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    model = toy_model(grammar(20))
    with pytest.raises(CheckpointError, match="no checkpoint to go on from"):
        read_progress(path)
    path.write_bytes(b"not tensors")
    with pytest.raises(CheckpointError, match="no checkpoint to go on from"):
        load_checkpoint(path, model, torch.optim.AdamW(model.parameters()))
