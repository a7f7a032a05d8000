"""The commands `bilm train`, `bilm evaluate` and `bilm score`; `bilm.cli` registers them."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from bilm import console, evaluation, training
from bilm.checkpoint import load_model
from bilm.text import read_sentences
from bilm.training_config import read_training_config

_Model = Annotated[str, typer.Argument(help="A shipped name, or a model folder that has an output layer.")]
_Text = Annotated[
    Path, typer.Argument(help="UTF-8, plain or .gz, one sentence a line, words separated by single spaces.")
]
_BatchSize = Annotated[int, typer.Option(min=1, help="Sentences run together; changes the speed, not the numbers.")]
_Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1, ...")]


def train(
    config: Annotated[Path, typer.Argument(help="YAML file of the run; experiments/bilm/ has some to start from.")],
    override: Annotated[
        list[str] | None, typer.Option("-o", "--override", metavar="K=V", help="Set a key: -o optimizer.rate=0.002.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the run's last checkpoint.")] = False,
    allow_changes: Annotated[
        bool,
        typer.Option("--allow-changes", help="With --resume: go on though keys that shape the steps have changed."),
    ] = False,
) -> None:
    """Train a biLM on text, or fine-tune one (`start: MODEL` in the file).

    The run's folder (`out` in the file) gets metrics.csv, the best model, the last checkpoint and, at the end, model/.
    Ctrl-C saves and stops; --resume goes on, and ends with the same bytes as a run that was never stopped.

    On many processes: torchrun --nproc-per-node N -m bilm train CONFIG

    Example: bilm train experiments/bilm/tiny.yaml
    """
    model = training.train(read_training_config(config, override or []), resume=resume, allow_changes=allow_changes)
    console.console.print(f"{model}: the trained model")


def evaluate(
    model: _Model,
    text: _Text,
    batch_size: _BatchSize = 64,
    device: _Device = "cpu",
    as_json: Annotated[bool, typer.Option("--json", help="Print numbers for a script.")] = False,
) -> None:
    """Tell the exact perplexity of a text: how many words the model hesitates between, in each direction.

    Every sentence starts from the zero state. Words that are not in the vocabulary count as <UNK>, which is easier than
    the word itself, so compare perplexities between equal vocabularies only.

    Example: bilm evaluate runs/tiny/model test.txt
    """
    network = load_model(model).to(device)
    result = evaluation.evaluate(network, _sentences(text), batch_size=batch_size)
    if as_json:
        typer.echo(json.dumps(asdict(result)))
        return
    table = Table("", "forward", "backward", "mean")
    table.add_row("perplexity", *(f"{value:.3f}" for value in (result.forward, result.backward, result.mean)))
    known = (result.forward_known, result.backward_known, result.mean_known)
    table.add_row("without unknown words", *(f"{value:.3f}" for value in known))
    console.console.print(table)
    console.console.print(
        f"{result.n_words:,} words in {result.n_sentences:,} sentences (each direction also scores one boundary a "
        f"sentence); {result.n_unknown:,} words ({result.n_unknown / result.n_words:.2%}) are not in the vocabulary"
    )


def score(model: _Model, text: _Text, batch_size: _BatchSize = 64, device: _Device = "cpu") -> None:
    """Print each word's natural-log probability in both directions, one JSON object a sentence.

    "forward" has one number a word and one for the sentence's end; "backward" one for the sentence's start and one a
    word; "known" says which words are in the vocabulary. Blank lines are passed over; "line" counts them.

    Example: bilm score runs/tiny/model test.txt > scores.jsonl
    """
    network = load_model(model).to(device)
    lines = ((number, words) for number, words in enumerate(read_sentences(text), start=1) if words)
    numbers: list[tuple[int, list[str]]] = []

    def remember() -> Iterator[list[str]]:
        for line in lines:
            numbers.append(line)
            yield line[1]

    for scores in evaluation.score(network, remember(), batch_size=batch_size):
        line, words = numbers.pop(0)
        typer.echo(
            json.dumps(
                {
                    "line": line,
                    "words": words,
                    "forward": scores.forward.tolist(),
                    "backward": scores.backward.tolist(),
                    "known": scores.known.tolist(),
                },
                ensure_ascii=False,
            )
        )


def _sentences(text: Path) -> Iterator[list[str]]:
    return (words for words in read_sentences(text) if words)
