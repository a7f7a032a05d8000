"""The `bilm` command: what a user types, and nothing that another program would call."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from bilm import cli_training, console
from bilm.checkpoint import find_model, load_model, save_native
from bilm.embedder import Embedder, Layers
from bilm.errors import UserError
from bilm.files import atomic_path
from bilm.hdf5 import hdf5_writer
from bilm.official import save_official
from bilm.text import count_lines, read_sentences

app = console.command_line(
    "bilm",
    "The bidirectional language model behind ELMo (Peters et al. 2018): embed text, train on text, measure and convert "
    "models.",
)

_MODEL_HELP = "A shipped name, a model folder (native or released format), or options.json,weights.hdf5."


class State(StrEnum):
    """The state policies of `bilm.Embedder`."""

    reset = "reset"
    carry = "carry"
    warm = "warm"


@app.command()
def embed(
    model: Annotated[str, typer.Argument(help=_MODEL_HELP)],
    text: Annotated[Path, typer.Argument(help="UTF-8, one sentence a line, words separated by single spaces.")],
    out: Annotated[Path, typer.Option("--out", help="The HDF5 file to write.")],
    layers: Annotated[
        str,
        typer.Option(
            help=r"all: \[n_layers + 1, n_tokens, dim]. top, average, or a number (0: token encoder): \[n_tokens, dim]."
        ),
    ] = "all",
    state: Annotated[
        State,
        typer.Option(
            help="What a sentence starts from. reset: zeros, so that its vectors depend on it alone. "
            "carry: the end of the line before, as in the reference code. warm: the end of one fixed text."
        ),
    ] = State.reset,
    device: Annotated[str, typer.Option(help="auto (a GPU where there is one), cpu, cuda, cuda:1, ...")] = "auto",
) -> None:
    """Write every layer's vectors of every token.

    The file has the format of the reference tools: dataset "0" for the first line, "1" for the second, ...; float32.
    A blank line is a sentence without tokens, so dataset i is always line i + 1.

    Example: bilm embed my-model/ sentences.txt --out vectors.hdf5
    """
    _refuse_to_overwrite_input(out, model, text)
    network = load_model(model)
    choose = _layer_choice(layers, network.n_layers)
    embedder = Embedder(network, state=state.value, device=device)
    n_tokens = n_sentences = 0
    with atomic_path(out) as path, hdf5_writer(path, libver="latest") as add:
        sentences = console.track(read_sentences(text), "embedding", total=count_lines(text))
        for vectors in embedder.embed(sentences):
            add(str(n_sentences), choose(vectors))
            n_sentences += 1
            n_tokens += vectors.shape[1]
    cut = f"; {embedder.n_truncated:,} word forms longer than the model reads" if embedder.n_truncated else ""
    console.console.print(f"{out}: {n_sentences:,} sentences, {n_tokens:,} tokens{cut}")


@app.command()
def convert(
    source: Annotated[str, typer.Argument(metavar="SRC", help=_MODEL_HELP)],
    target: Annotated[Path, typer.Argument(metavar="DST", help="The folder to write.")],
) -> None:
    """Convert between the released format and the native one, told by what SRC is.

    A released model (options.json and weights.hdf5) becomes a native folder (config.json and model.safetensors); a
    native folder becomes a released one. Weights stay equal to the last bit. The released format has no output layer,
    so a model that goes through it can represent text but no longer has a perplexity.

    Example: bilm convert elmo_options.json,elmo_weights.hdf5 elmo-native/
    """
    network = load_model(source)
    if isinstance(find_model(source), Path):
        save_official(network, target)
        lost = " (without the output layer, for which the format has no place)" if network.output is not None else ""
        console.console.print(f"{target}: options.json and weights.hdf5 written{lost}")
    else:
        save_native(network, target)
        console.console.print(f"{target}: config.json and model.safetensors written (the source has no output layer)")


app.command()(cli_training.train)
app.command()(cli_training.evaluate)
app.command()(cli_training.score)


def main() -> None:
    """Run the command line."""
    console.run(app)


def _layer_choice(layers: str, n_layers: int) -> Callable[[Layers], Layers]:
    """Turn `--layers` into what is done to a sentence's array [n_layers + 1, n_tokens, dim]."""
    if layers == "all":
        return lambda vectors: vectors
    if layers == "average":
        return lambda vectors: vectors.mean(axis=0, dtype=np.float32)
    if layers == "top":
        return lambda vectors: vectors[-1]
    if layers in map(str, range(n_layers + 1)):
        return lambda vectors: vectors[int(layers)]
    raise typer.BadParameter(
        f"{layers!r}: this model takes all, top, average, or a layer from 0 to {n_layers}", param_hint="--layers"
    )


def _refuse_to_overwrite_input(out: Path, model: str, text: Path) -> None:
    found = find_model(model)
    inputs = [text, *(found.iterdir() if isinstance(found, Path) else found)]
    if out.exists() and any(path.exists() and path.samefile(out) for path in inputs):
        raise UserError(f"{out}: is read as input; give the name of another file for the output")
