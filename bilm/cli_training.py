"""The commands `bilm train`, `bilm evaluate` and `bilm score`; `bilm.cli` registers them."""

import json
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from bilm import console, evaluation, training
from bilm.checkpoint import load_model
from bilm.device import usable_device
from bilm.text import count_lines, read_sentences
from bilm.training_config import read_training_config

_Model = Annotated[
    str,
    typer.Argument(
        help="A shipped name, or a folder that `bilm train` wrote. Released ELMo weights will not do: they have no "
        "output layer."
    ),
]
_Text = Annotated[
    Path, typer.Argument(help="UTF-8, plain or .gz, one sentence a line, words separated by single spaces.")
]
_BatchSize = Annotated[int, typer.Option(min=1, help="Sentences run together; changes the speed, not the numbers.")]
_Device = Annotated[str, typer.Option(help="auto (a GPU where there is one), cpu, cuda, cuda:1, ...")]


def train(
    config: Annotated[Path, typer.Argument(help="YAML file of the run; experiments/bilm/ has some to start from.")],
    override: Annotated[
        list[str] | None,
        typer.Option(
            "-o",
            "--override",
            metavar="KEY.PATH=VALUE",
            help="Change a key, such as -o optimizer.rate=0.002. Repeatable.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the run's last checkpoint, with the same CONFIG and -o.")
    ] = False,
    allow_changes: Annotated[
        bool,
        typer.Option(
            "--allow-changes",
            help="With --resume: go on though keys have changed that shape the steps, such as the rate or the batch. "
            "Keys of stop and report may always change.",
        ),
    ] = False,
) -> None:
    """Train a biLM on text, or train one further on a text of your own.

    CONFIG needs name, out (the folder to write), text.train (a pattern such as text/*.txt.gz: one sentence a line,
    words separated by single spaces), stop (epochs, words or minutes), and either network (a shape, for random weights)
    or start (a shipped name, a model folder or released weights, to train those further).

    The folder gets model/ at the end, which `bilm evaluate` and `bilm embed` read; best/, the model with the lowest
    validation perplexity so far (where there is text.valid); metrics.csv; and the checkpoint. The losses on the screen
    are those of a sampled softmax: they fall, but only the validation perplexity says how good the model is.

    Ctrl-C saves and stops; --resume goes on, and ends with the same bytes as a run that was never stopped.

    On many processes: torchrun --nproc-per-node N -m bilm train CONFIG

    Example: bilm train experiments/bilm/tiny.yaml

    Example: bilm train experiments/bilm/my-text.yaml -o start=small-en -o 'text.train=my/*.txt' -o text.valid=null
    """
    if allow_changes and not resume:
        raise typer.BadParameter("it says how to go on, so it needs --resume beside it", param_hint="--allow-changes")
    model = training.train(read_training_config(config, override or []), resume=resume, allow_changes=allow_changes)
    console.console.print(f"{model}: the trained model")


def evaluate(
    model: _Model,
    text: _Text,
    batch_size: _BatchSize = 64,
    device: _Device = "auto",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object on standard output instead of the table.")
    ] = False,
) -> None:
    """Tell the exact perplexity of a text: how many words the model hesitates between, in each direction.

    Lower is better; a model that knew nothing would have the size of its vocabulary. Forward, each word is predicted
    from those before it in its sentence; backward, from those after it. Every sentence starts from the zero state.

    Words that are not in the vocabulary count as <UNK>, which is easier than the word itself, so compare perplexities
    between equal vocabularies only. The second row leaves them out.

    Example: bilm evaluate runs/tiny/model runs/grammar/valid.txt
    """
    network = load_model(model).to(usable_device(device))
    with _progress(text) as advance:
        result = evaluation.evaluate(network, _sentences(text), batch_size=batch_size, on_batch=advance)
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


def score(model: _Model, text: _Text, batch_size: _BatchSize = 64, device: _Device = "auto") -> None:
    """Print each word's natural-log probability in both directions, one JSON object a sentence.

    "forward" has one number a word and one for the sentence's end; "backward" one for the sentence's start and one a
    word; "known" says which words are in the vocabulary (the others are scored as <UNK>). Blank lines are passed over;
    "line" counts them. A direction's perplexity, as `bilm evaluate` prints it, is exp(-mean) of all its numbers.

    Example: bilm score runs/tiny/model runs/grammar/valid.txt > scores.jsonl
    """
    network = load_model(model).to(usable_device(device))
    lines: deque[tuple[int, list[str]]] = deque()

    def sentences() -> Iterator[list[str]]:
        for number, words in enumerate(read_sentences(text), start=1):
            if words:
                lines.append((number, words))
                yield words

    with _progress(text) as advance:
        scores: evaluation.SentenceScore | None = None
        for scores in evaluation.score(network, sentences(), batch_size=batch_size, on_batch=advance):
            line, words = lines.popleft()
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
    if scores is None:
        console.console.print(f"{text}: no sentence to score")


def _sentences(text: Path) -> Iterator[list[str]]:
    return (words for words in read_sentences(text) if words)


@contextmanager
def _progress(text: Path) -> Iterator[Callable[[int], None]]:
    """Show a bar over a text's lines; gives what is to be told of each batch's sentences."""
    with console.progress_bar() as progress:
        task = progress.add_task("scoring", total=count_lines(text))
        yield lambda n_sentences: progress.advance(task, n_sentences)
