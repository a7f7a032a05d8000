"""A model of the transformers library: where it is, its config, tokenizer and weights. The library is imported late.

Weights are read from safetensors; from a pickle only where it is asked for by name, and then as tensors only. Code that
comes with a model is never run.
"""

import importlib
import importlib.util
import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from bilm.errors import UserError
from probing.corpora import data_folder
from probing.corpora.registry import expand

PACKAGE = "package:"
_ON_THE_HUB = re.compile(r"[\w.-]+(/[\w.-]+)?")
_SAFE = ("model.safetensors", "model.safetensors.index.json")
_SHOWN = 200  # characters of what the library says of an error
_UNUSED = ("pooler.",)
"""Weights above the last hidden state: not every checkpoint has them, and no layer depends on them."""


def transformers_library() -> Any:
    """Import the library, which comes with an extra of this package.

    Raises
    ------
    UserError
        If it is not installed.
    """
    try:
        return importlib.import_module("transformers")
    except ImportError as error:
        raise UserError(
            f'the encoder huggingface needs more: pip install "layer-probing[transformers]" ({error})'
        ) from error


def find_source(name: str) -> str:
    """Return what the library loads a model from: a folder, or a name on the hub.

    Parameters
    ----------
    name : str
        A folder, also relative to the data folder; `package:NAME/folder`, in an installed Python package, which is not
        imported; or a name on the hub.

    Raises
    ------
    UserError
        If it is none of them, or the folder has no config.json.
    """
    if name.startswith(PACKAGE):
        folder = _in_package(name)
    else:
        folders = [place for place in (expand(name), data_folder() / name) if place.is_dir()]
        if not folders:
            if _ON_THE_HUB.fullmatch(name):
                return name
            raise UserError(f"{name}: no such folder, here or in the data folder {data_folder()}")
        folder = folders[0]
    if not (folder / "config.json").is_file():
        raise UserError(f"{folder}: there is no config.json, so that it is not the folder of a Transformer")
    return str(folder)


def _in_package(name: str) -> Path:
    """Return a folder in an installed package."""
    package, _, inside = name.removeprefix(PACKAGE).partition("/")
    if not package.isidentifier():
        raise UserError(f"{name}: expected {PACKAGE}NAME/folder, with the name by which Python imports a package")
    try:
        spec = importlib.util.find_spec(package)
    except ValueError:  # a module without one, such as __main__
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise UserError(
            f"{name}: no package {package} is installed here: pip install --no-deps {package.replace('_', '-')}"
        )
    for place in spec.submodule_search_locations:
        if (Path(place) / inside).is_dir():
            return Path(place) / inside
    raise UserError(f"{name}: the package {package} has no folder {inside!r}")


def load_config(source: str, revision: str | None) -> Any:
    """Return the config of a model.

    Raises
    ------
    UserError
        If it cannot be had, or is not that of one stack of layers.
    """
    library = transformers_library()
    with _errors_named(source, "config.json"):
        config = library.AutoConfig.from_pretrained(source, revision=revision, trust_remote_code=False)
    if config.is_encoder_decoder:
        raise UserError(f"{source}: {config.model_type} is an encoder and a decoder, whose layers are not one sequence")
    n_layers = getattr(config, "num_hidden_layers", None)
    if not isinstance(n_layers, int) or n_layers < 1:
        raise UserError(f"{source}: by its config.json, {config.model_type} has {n_layers} layers, expected 1 or more")
    return config


def load_tokenizer(source: str, revision: str | None) -> Any:
    """Return the tokenizer of a model, a fast one where there is one."""
    library = transformers_library()
    with _errors_named(source, "the tokenizer"):
        return library.AutoTokenizer.from_pretrained(source, revision=revision, use_fast=True, trust_remote_code=False)


def check_weights(source: str, weights: str | None) -> None:
    """See that a folder has weights of the kind that is asked for; of the hub, loading will tell.

    Raises
    ------
    UserError
        If there are none, or only a pickle that was not asked for.
    """
    folder = Path(source)
    if not folder.is_dir():
        return
    if weights is not None:
        if not (folder / weights).is_file():
            raise UserError(f"{folder / weights}: there is no such file, which should hold the weights")
        return
    if not any((folder / name).is_file() for name in _SAFE):
        pickles = sorted(path.name for pattern in ("*.bin", "*.pt", "*.pth") for path in folder.glob(pattern))
        if pickles:
            raise UserError(
                f"{folder}: there is no {_SAFE[0]}, only a pickle, which is not read unless asked for by name: "
                f"weights: {pickles[0]}"
            )
        raise UserError(f"{folder}: there is no {_SAFE[0]}, which should hold the weights")


def load_model(source: str, revision: str | None, config: Any, weights: str | None) -> Any:
    """Return the trained network, in float32.

    Raises
    ------
    UserError
        If the weights cannot be read, or lack some that a layer depends on.
    """
    library = transformers_library()
    check_weights(source, weights)
    options = {"config": config, "output_loading_info": True, "ignore_mismatched_sizes": True}
    # What the file lacks is drawn anew: refused below, or above the layers; in neither case the caller's randomness.
    with _errors_named(source, weights or "model.safetensors"), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        if weights is None:
            model, info = library.AutoModel.from_pretrained(
                source, revision=revision, use_safetensors=True, trust_remote_code=False, **options
            )
        else:
            path = library.utils.cached_file(source, weights, revision=revision)
            state = _load_pickle(path)
            kind = type(library.AutoModel.from_config(config, trust_remote_code=False))
            model, info = kind.from_pretrained(None, state_dict=state, **options)
    for name, found, expected in sorted(info["mismatched_keys"]):
        if not name.startswith(_UNUSED):
            raise UserError(
                f"{source}: the weights are not those of its config: {name} has the shape {tuple(found)}, expected "
                f"{tuple(expected)}"
            )
    missing = sorted(name for name in info["missing_keys"] if not name.startswith(_UNUSED))
    if missing:
        raise UserError(
            f"{source}: the weights are not those of its config: {missing[0]} and {len(missing) - 1} more are missing"
        )
    return model.float()


def draw_model(source: str, config: Any, seed: int) -> Any:
    """Return a network of the same shape with weights drawn from `seed`, in float32."""
    library = transformers_library()
    with _errors_named(source, "config.json"), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return library.AutoModel.from_config(config, trust_remote_code=False).float()


def used_weights(model: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the weights that layers depend on, by name."""
    for name, tensor in sorted(model.state_dict().items()):
        if not name.startswith(_UNUSED):
            yield name, tensor


def _load_pickle(path: str) -> Any:
    """Read tensors; the library's own message would advise to run what else is in there."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file can raise almost anything
        raise UserError(f"{path}: not a file of tensors and nothing else, so that it is not read") from error


@contextmanager
def _errors_named(source: str, what: str) -> Iterator[None]:
    """Keep the library quiet, and turn its errors, which can be almost anything and go on for a page, into one line."""
    logging = transformers_library().utils.logging
    verbosity, has_bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        reason = textwrap.shorten(f"{type(error).__name__}: {error}", _SHOWN, placeholder=" ...")
        if Path(source).is_dir():
            raise UserError(f"{source}: {what} cannot be used ({reason})") from error
        raise UserError(
            f"{source}: no such folder, and the hub did not give it ({reason}); without network, download it elsewhere "
            "and give its folder: {huggingface: path/to/folder}"
        ) from error
    finally:
        logging.set_verbosity(verbosity)
        if has_bar:
            logging.enable_progress_bar()
