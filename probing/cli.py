"""The `probing` command: what a user types, and nothing that another program would call."""

import json
import math
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Table

from bilm import console
from bilm.checkpoint import shipped_models
from bilm.config import ARCHITECTURES
from bilm.errors import UserError
from probing.compare import compare
from probing.config import load_experiment
from probing.corpora import CORPORA, data_folder
from probing.data_cli import app as data_app
from probing.encoders import ENCODERS
from probing.experiment import check_inputs, run_experiment
from probing.probes import PROBES
from probing.report.page import write_report
from probing.scoring import read_keys, score_answers
from probing.summary import summary
from probing.tasks import TASKS
from probing.texts import write_texts

app = console.command_line(
    "probing", "What does each layer of a language model know? Linear probes on its frozen layers."
)
app.add_typer(data_app)

_Configs = Annotated[list[Path], typer.Argument(help="YAML configs, such as experiments/pos-ewt.yaml.")]
_Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--override", "-o", metavar="KEY.PATH=VALUE", help="Change a key, such as -o tasks.0.column=xpos. Repeatable."
    ),
]


@app.command()
def run(
    configs: _Configs,
    override: _Overrides = None,
    out: Annotated[Path, typer.Option(help="The folder that gets a folder of results for each experiment.")] = Path(
        "results"
    ),
    jobs: Annotated[int | None, typer.Option(min=1, max=4096, help="Processor cores to use; all by default.")] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Fit every probe anew instead of keeping what is done.")
    ] = False,
) -> None:
    """Run experiments: encode, probe, write rows, figures and a report; end with the verdict on each claim.

    What is done already is kept: an interrupted run goes on where it stopped. Results go to OUT/NAME: results.csv
    (one measured number a row), report.md, figures/, config.yaml (every default filled in), environment.json
    (versions, hashes).

    Corpora are looked up in the folder that PROBING_DATA names; vectors are kept in the one that PROBING_CACHE names.

    Example: probing run experiments/pos-ewt.yaml
    """
    if jobs is not None:
        torch.set_num_threads(jobs)
    for path in configs:
        outcome = run_experiment(load_experiment(path, override or ()), out, fresh=fresh)
        console.console.print(f"{outcome.n_fitted} cells fitted, {outcome.n_kept} kept from before")
        for line in summary(outcome.folder):
            console.console.print(line, markup=False)
        typer.echo(f"{outcome.folder / 'report.html'}")


@app.command()
def validate(configs: _Configs, override: _Overrides = None) -> None:
    """Check configs without running them: keys, values, corpora, models.

    Example: probing validate experiments/*.yaml
    """
    for path in configs:
        config = load_experiment(path, override or ())
        check_inputs(config)
        networks = sum(len(encoder.seeds) for encoder in config.encoders)
        typer.echo(
            f"{path}: {config.name}: {len(config.tasks)} tasks, {networks} networks, {len(config.probes)} probes: ready"
        )


@app.command()
def report(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders of results, such as results/layers.")
    ],
) -> None:
    """Write report and figures anew from the rows in a folder of results; nothing is measured.

    Example: probing report results/layers
    """
    for folder in folders:
        write_report(folder)
        typer.echo(f"{folder / 'report.html'}")


@app.command("compare")
def compare_rows(
    first: Annotated[str, typer.Argument(metavar="ROW", help="FOLDER:key=value,... singles out a row of results.csv.")],
    second: Annotated[
        str, typer.Argument(metavar="ROW", help="The same; without FOLDER, the rest is as in the first.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare two rows of results on the same examples: difference, interval, p.

    Keys are the columns of results.csv; the split is test and the subset all unless they are named. The interval and p
    are of a paired bootstrap of sentences, McNemar's exact test stands beside.

    Example: probing compare results/layers:task=pos-upos,probe=linear,encoder=small-en,view=1 :view=2
    """
    found = compare(first, second)
    if as_json:
        flat = found._asdict() | {"difference": found.difference._asdict()}
        typer.echo(json.dumps(flat))
        return
    typer.echo(f"{100 * found.first_value:.2f} %  {found.first}")
    typer.echo(f"{100 * found.second_value:.2f} %  {found.second}")
    value, low, high, p, mcnemar = found.difference
    typer.echo(
        f"difference {100 * value:+.2f} points [{100 * low:+.2f}, {100 * high:+.2f}], p = {p:.4g} "
        f"(McNemar {mcnemar:.4g}), {found.n:,} examples"
    )


@app.command()
def score(
    gold: Annotated[Path, typer.Argument(help="Key file: an instance id and its senses on each line.")],
    answers: Annotated[Path, typer.Argument(help="A system's answers, in the same format.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Score answers of word sense disambiguation as the official scorer of Raganato et al. 2017 does.

    Any gold sense is right; of several answers for one instance each counts its share; instances that gold lacks are
    ignored, and those without an answer lower recall alone.

    Example: probing score ALL.gold.key.txt answers.key.txt
    """
    found = score_answers(read_keys(gold), read_keys(answers))
    if as_json:
        typer.echo(json.dumps({name: None if math.isnan(value) else value for name, value in found._asdict().items()}))
    else:
        for name, value in zip(("P", "R", "F1"), found, strict=True):
            typer.echo(f"{name}=\t{100 * value:.1f}%")


@app.command()
def text(
    config: Annotated[Path, typer.Argument(help="A YAML config; its tasks count, its encoders need not be here.")],
    out: Annotated[Path, typer.Option("--out", help="The folder that gets TASK.SPLIT.txt for each task and split.")],
    override: _Overrides = None,
) -> None:
    """Write the words of an experiment's tasks, one tokenised sentence a line: what to make vectors of elsewhere.

    With the HDF5 file that `bilm embed` or another tool makes of each, put beside it under the same name, the folder is
    an encoder: {hdf5: DIR}. White space within a word, which would split it, is written as "_".

    Example: probing text experiments/quickstart.yaml --out vectors
    """
    for path, n_sentences in write_texts(load_experiment(config, override or ()), out):
        console.console.print(f"{path}: {n_sentences:,} sentences", markup=False)
    typer.echo(str(out))


@app.command("ls")
def list_parts() -> None:
    """List what a config can name: corpora, models, tasks, encoders, probes; and the experiments in ./experiments."""
    screen = Console(soft_wrap=True)
    folder = data_folder()
    _table(
        screen,
        f"Corpora (in {folder})",
        [
            (
                corpus.name,
                "here" if all(path.exists() for path in corpus.paths().values()) else "not here",
                corpus.description,
            )
            for corpus in CORPORA.values()
        ],
    )
    _table(
        screen,
        "Models",
        [
            *((name, "shipped", "trained weights") for name in shipped_models()),
            *((name, "shape", "for untrained networks; the trained weights are a download") for name in ARCHITECTURES),
        ],
    )
    for title, parts in (("Tasks", TASKS), ("Encoders", ENCODERS), ("Probes", PROBES)):
        _table(screen, title, [(name, (part.__doc__ or "").partition("\n")[0]) for name, part in parts.items()])
    experiments = sorted(path for path in Path("experiments").rglob("*.yaml") if path.parent.name != "bilm")
    _table(screen, "Experiments", [(str(path), _question(path)) for path in experiments])


def main() -> None:
    """Run the command line."""
    console.run(app, when_stopped="stopped; what is done is kept: the same command goes on from there")


def _question(path: Path) -> str:
    try:
        return load_experiment(path).question
    except UserError as error:
        return f"cannot be run: {error}"


def _table(screen: Console, title: str, rows: list[tuple[str, ...]]) -> None:
    if rows:
        table = Table(
            title=title, title_justify="left", title_style="bold", box=None, show_header=False, padding=(0, 2)
        )
        table.add_column(no_wrap=True)  # a name is never cut: it is what one has to type
        for row in rows:
            table.add_row(*row)
        screen.print(table, "")
