"""The native folder of a model, and the one place that turns what a user calls a model into files.

A folder holds `config.json` (the fields of `options.json`), `model.safetensors` and, where the model has an output
layer, `vocab.txt`. A model card (`README.md`) and the metrics of its training (`training.csv`) may lie beside them.
"""

import shutil
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from bilm.config import ARCHITECTURES, BiLMConfig, ConfigError, read_config
from bilm.files import atomic_path
from bilm.model import BiLM
from bilm.official import ModelError, find_official, load_official
from bilm.vocabulary import Vocabulary

_SHIPPED = Path(__file__).parent / "pretrained"

_FILES = {"config.json", "model.safetensors", "vocab.txt"}
_COMPANIONS = {"README.md", "training.csv"}
"""Written by people about a model: kept when its files are replaced."""


def shipped_models() -> list[str]:
    """Return the names of the models that come with the package."""
    return sorted(path.parent.name for path in _SHIPPED.glob("*/config.json"))


def load_model(model: str | Path) -> BiLM:
    """Load whatever names a model: a shipped name, a native folder, an official folder, or "options.json,weights.hdf5".

    Raises
    ------
    ModelError, ConfigError, VocabularyError
        One line that says what was expected and what was found.
    """
    found = find_model(model)
    return load_native(found) if isinstance(found, Path) else load_official(*found)


def load_config(model: str | Path) -> BiLMConfig:
    """Read a model's shape without its weights."""
    found = find_model(model)
    return read_config(found / "config.json" if isinstance(found, Path) else found[0])


def find_model(model: str | Path) -> Path | tuple[Path, Path]:
    """Return a native model's folder, or a released model's options and weights, without reading them.

    Raises
    ------
    ModelError
        If nothing here goes by that name.
    """
    name = str(model)
    if name in shipped_models():
        return _SHIPPED / name
    if not Path(name).exists() and "," in name:
        options, weights = name.split(",", maxsplit=1)
        return Path(options), Path(weights)
    folder = Path(name)
    if not folder.exists():
        hint = " (that is the name of a shape, which has no weights)" if name in ARCHITECTURES else ""
        shipped = f"a shipped name ({', '.join(shipped_models())}), " if shipped_models() else ""
        raise ModelError(f"no model {name!r}{hint}: expected {shipped}a model folder, or options.json,weights.hdf5")
    if (folder / "config.json").is_file():
        return folder
    official = find_official(folder)
    if official is None:
        raise ModelError(
            f"{folder}: no model here: expected config.json with model.safetensors, "
            "or one *options.json and one *weights.hdf5"
        )
    return official


def load_native(folder: Path) -> BiLM:
    """Load a native folder.

    Raises
    ------
    ModelError, ConfigError, VocabularyError
        If a file is missing or damaged, or weights and vocabulary do not fit the configuration.
    """
    config = read_config(folder / "config.json")
    path = folder / "model.safetensors"
    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: expected safetensors weights: {error}") from error
    for name, tensor in tensors.items():
        if not tensor.is_floating_point() or not bool(torch.isfinite(tensor).all()):
            raise ModelError(f"{path}: {name} has a value that is not finite, or no floating-point numbers")
    vocabulary = Vocabulary.read(folder / "vocab.txt") if "output.weight" in tensors else None
    model = BiLM(config, seed=None, vocabulary=vocabulary)
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    for name in sorted(expected.keys() | tensors.keys()):
        found = tuple(tensors[name].shape) if name in tensors else "nothing"
        if expected.get(name, "nothing") != found:
            source = "vocab.txt asks" if name.startswith("output.") else "config.json asks"
            raise ModelError(f"{path}: {name}: {source} for {expected.get(name, 'nothing')}, found {found}")
    model.load_state_dict({name: tensor.to(torch.float32) for name, tensor in tensors.items()})
    return model.eval()


def save_native(model: BiLM, folder: Path, *, half_precision_output: bool = False) -> None:
    """Write a native folder, atomically: an older model at the same place survives a failure.

    A model card (`README.md`) and `training.csv` that lie there stay.

    `half_precision_output` stores the output layer in float16, which takes half the space and is exact enough for it:
    vectors do not depend on it.

    Raises
    ------
    ModelError
        If the folder holds anything but a native model, which would be lost, or the weights cannot be written.
    """
    if folder.exists() and not (folder.is_dir() and _is_ours(folder)):
        raise ModelError(f"{folder}: holds other things than a native model; give the name of a new folder")
    with atomic_path(folder) as temporary:
        temporary.mkdir(parents=True)
        (temporary / "config.json").write_text(model.config.model_dump_json(indent=2) + "\n", encoding="utf-8")
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
        if half_precision_output:
            tensors = {
                name: tensor.half() if name.startswith("output.") else tensor for name, tensor in tensors.items()
            }
        try:
            save_file(tensors, temporary / "model.safetensors")
        except SafetensorError as error:  # a full disk, for example
            raise ModelError(f"{folder / 'model.safetensors'}: cannot be written ({error})") from error
        # safetensors makes files that only their owner can read; a model is for everyone who can read its config.
        (temporary / "model.safetensors").chmod((temporary / "config.json").stat().st_mode)
        if model.vocabulary is not None:
            model.vocabulary.write(temporary / "vocab.txt")
        for name in _COMPANIONS:
            if (folder / name).exists():
                shutil.copy2(folder / name, temporary / name)


def _is_ours(folder: Path) -> bool:
    """Tell whether a folder has nothing that would be lost: it is empty, or a native model with its companions."""
    content = [path for path in folder.iterdir() if not (path.name in _COMPANIONS and path.is_file())]
    if not content:
        return True
    if any(path.name not in _FILES or not path.is_file() for path in content):
        return False
    try:
        read_config(folder / "config.json")
    except ConfigError:
        return False
    return True
