"""The released format of the reference code: `options.json` and `weights.hdf5`, read and written.

Every dataset's name and shape is checked before a number is used. The output layer is not part of the format: a model
that is written here and read again can represent text, but has no perplexity.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import h5py
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bilm.config import ConfigError, read_config
from bilm.errors import UserError
from bilm.files import atomic_path, write_text
from bilm.hdf5 import hdf5_writer
from bilm.lstm import ProjectedLSTM
from bilm.model import BiLM
from bilm.token_encoder import Highway


class ModelError(UserError):
    """Files that are not the model they should be; the message says what was expected and what was found."""


class _Dataset(NamedTuple):
    """One dataset of the file and the parameters that hold it."""

    name: str
    parameters: tuple[Tensor, ...]
    layout: Literal["vector", "matrix", "convolution", "embedding"]

    def to_official(self) -> Tensor:
        """Return the parameters as the file has them: matrices multiply from the right (x W)."""
        if self.layout == "vector":
            return self.parameters[0].detach()
        if self.layout == "convolution":
            return self.parameters[0].detach().permute(2, 1, 0).unsqueeze(0)  # [1, width, input, output]
        if self.layout == "embedding":
            return self.parameters[0].detach()[1:]  # the file has no row for "no token"
        return torch.cat([parameter.detach() for parameter in self.parameters], dim=1).t()

    def from_official(self, values: Tensor) -> None:
        """Fill the parameters from the file's array."""
        with torch.no_grad():
            if self.layout == "vector":
                self.parameters[0].copy_(values)
            elif self.layout == "convolution":
                self.parameters[0].copy_(values.squeeze(0).permute(2, 1, 0))
            elif self.layout == "embedding":
                self.parameters[0][0] = 0
                self.parameters[0][1:] = values
            else:
                widths = [parameter.shape[1] for parameter in self.parameters]
                for parameter, part in zip(self.parameters, torch.split(values.t(), widths, dim=1), strict=True):
                    parameter.copy_(part)


def load_official(options: Path, weights: Path) -> BiLM:
    """Load a released model.

    Parameters
    ----------
    options, weights : Path
        `n_characters` in the options may be 261 or 262.

    Raises
    ------
    ConfigError
        If the options do not describe a network.
    ModelError
        If the weights are no HDF5 file, or lack a dataset, or have one of another shape; the message names it.
    """
    model = BiLM(read_config(options), seed=None)
    try:
        with h5py.File(weights, "r") as file:
            datasets = list(_datasets(model))
            for dataset in datasets:
                dataset.from_official(torch.from_numpy(_read(file, dataset, weights)))
            _refuse_unexpected(file, {dataset.name for dataset in datasets}, weights)
    # A damaged file can make the HDF5 library raise almost anything.
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        raise ModelError(f"{weights}: expected HDF5 weights of a biLM, found {describe_file(weights)}") from error
    return model.eval()


def save_official(model: BiLM, folder: Path) -> None:
    """Write `options.json` and `weights.hdf5` into `folder`; an output layer has no place in the format.

    Raises
    ------
    ModelError
        If the folder holds other options or weights: they would be lost, or the two models confused.
    """
    _refuse_to_overwrite(folder)
    options = model.config.model_copy(
        # 262 is what the reference code wants for prediction, which is what the files are for.
        update={"char_cnn": model.config.char_cnn.model_copy(update={"n_characters": 262})}
    )
    with atomic_path(folder / "weights.hdf5") as path, hdf5_writer(path) as add:
        for dataset in _datasets(model):
            add(dataset.name, dataset.to_official().cpu().contiguous().numpy())
    write_text(folder / "options.json", options.model_dump_json(indent=2, exclude_none=True) + "\n")


def _refuse_to_overwrite(folder: Path) -> None:
    ours = {folder / "options.json", folder / "weights.hdf5"}
    present = {*folder.glob("*options.json"), *folder.glob("*weights.hdf5")}
    try:
        if folder / "options.json" in present:
            read_config(folder / "options.json")
        others = sorted(present - ours) or sorted(path for path in present if not path.is_file())
    except ConfigError:
        others = [folder / "options.json"]
    if others:
        raise ModelError(f"{others[0]}: would be lost or confused with the new model; give the name of a new folder")


def find_official(folder: Path) -> tuple[Path, Path] | None:
    """Return the `*options.json` and `*weights.hdf5` in `folder`, or None where there is not exactly one of each."""
    options, weights = sorted(folder.glob("*options.json")), sorted(folder.glob("*weights.hdf5"))
    return (options[0], weights[0]) if len(options) == len(weights) == 1 else None


def _datasets(model: BiLM) -> Iterator[_Dataset]:
    """List every dataset of the format with the parameters that hold it."""
    encoder = model.token_encoder

    def linear(prefix: str, suffix: str, layer: nn.Linear) -> Iterator[_Dataset]:
        yield _Dataset(f"{prefix}/W_{suffix}", (layer.weight,), "matrix")
        yield _Dataset(f"{prefix}/b_{suffix}", (layer.bias,), "vector")

    yield _Dataset("char_embed", (encoder.embedding.weight,), "embedding")
    for index, convolution in enumerate(encoder.convolutions):
        assert isinstance(convolution, nn.Conv1d) and convolution.bias is not None
        yield _Dataset(f"CNN/W_cnn_{index}", (convolution.weight,), "convolution")
        yield _Dataset(f"CNN/b_cnn_{index}", (convolution.bias,), "vector")
    for index, highway in enumerate(encoder.highways):
        assert isinstance(highway, Highway)
        yield from linear(f"CNN_high_{index}", "carry", highway.gate)
        yield from linear(f"CNN_high_{index}", "transform", highway.transform)
    if encoder.projection is not None:
        yield from linear("CNN_proj", "proj", encoder.projection)
    for direction, stack in enumerate((model.forward_lstm, model.backward_lstm)):
        for index, layer in enumerate(stack.layers):
            assert isinstance(layer, ProjectedLSTM)
            prefix = f"RNN_{direction}/RNN/MultiRNNCell/Cell{index}/LSTMCell"
            yield _Dataset(f"{prefix}/W_0", (layer.input_weight, layer.recurrent_weight), "matrix")
            yield _Dataset(f"{prefix}/B", (layer.bias,), "vector")
            if layer.projection_weight is not None:
                yield _Dataset(f"{prefix}/W_P_0", (layer.projection_weight,), "matrix")


def _read(file: h5py.File, dataset: _Dataset, path: Path) -> NDArray[np.float32]:
    """Read one dataset, checked against the shape that the options ask for."""
    found = file.get(dataset.name)
    if not isinstance(found, h5py.Dataset):
        raise ModelError(
            f"{path}: expected the weights of a biLM, but dataset {dataset.name} is missing; {_contents(file)}"
        )
    expected = tuple(dataset.to_official().shape)
    if found.shape != expected:
        raise ModelError(f"{path}: dataset {dataset.name} has shape {found.shape}, the options ask for {expected}")
    if found.dtype.kind != "f":
        raise ModelError(f"{path}: dataset {dataset.name} holds {found.dtype}, expected floating-point numbers")
    values: NDArray[np.float32] = np.asarray(found, dtype=np.float32)
    if not np.isfinite(values).all():
        raise ModelError(f"{path}: dataset {dataset.name} has a value that is not finite")
    return values


def _refuse_unexpected(file: h5py.File, expected: set[str], path: Path) -> None:
    """Refuse parts of a network that the options do not speak of, such as a third layer."""
    found: list[str] = []
    file.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None)
    unexpected = [name for name in found if name.startswith(("RNN_", "CNN")) and name not in expected]
    if unexpected:
        raise ModelError(f"{path}: dataset {unexpected[0]} belongs to a larger network than the options describe")


def _contents(file: h5py.File) -> str:
    """Say what an HDF5 file holds instead of weights."""
    names = list(file)
    if any(name.isdigit() for name in names):
        return f"the file looks like embeddings that were written for {sum(name.isdigit() for name in names)} sentences"
    return f"the file holds {', '.join(names[:5]) + (', ...' if len(names) > 5 else '') or 'nothing'}"


def describe_file(path: Path) -> str:
    """Say what a file that is no HDF5 seems to be."""
    if not path.exists():
        return "no such file"
    if path.is_dir():
        return "a folder"
    try:
        with path.open("rb") as file:
            start = file.read(512)
    except OSError as error:
        return f"a file that cannot be read ({error.strerror})"
    if not start:
        return "an empty file"
    if start.startswith(b"\x89HDF"):
        return "a damaged or cut-off HDF5 file"
    if start.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
        return "a web page (a failed download?)"
    if start.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer instead of the file it points to"
    try:
        start.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.end < len(start) - 3:
            return "a binary file of another kind"
    return "a text file"
