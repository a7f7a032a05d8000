"""`probing data ls | fetch | check`: what a user types, and nothing that another program would call."""

import json
from typing import Annotated

import typer

from bilm import console
from bilm.errors import UserError
from probing.corpora.registry import CORPORA, data_folder
from probing.data.catalogue import CATALOGUE, Entry, find_entry
from probing.data.check import Finding, check, place_of, presence
from probing.data.fetch import fetch, terms

app = typer.Typer(
    name="data",
    help="Corpora and released models: list, download, verify. They go to the folder that PROBING_DATA names.",
    no_args_is_help=True,
)

_AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON array.")]


@app.command("ls")
def list_data(as_json: _AsJson = False) -> None:
    """List what can be had: name, whether it is here, licence, size, source.

    Example: probing data ls
    """
    shipped = [corpus for corpus in CORPORA.values() if corpus.name not in CATALOGUE]
    if as_json:
        rows = [_as_json(entry) for entry in CATALOGUE.values()]
        rows += [
            {
                "name": corpus.name,
                "kind": "shipped",
                "here": "shipped",
                "licence": corpus.licence,
                "size": corpus.size,
                "source": corpus.source,
            }
            for corpus in shipped
        ]
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    typer.echo(f"In {data_folder()}:")
    for entry in CATALOGUE.values():
        _line(entry.name, _place(entry), entry.licence, entry.size, entry.source)
    for corpus in shipped:
        _line(corpus.name, "shipped", corpus.licence, corpus.size, corpus.source)


@app.command("fetch")
def fetch_data(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names that `probing data ls` shows.")],
) -> None:
    """Download corpora or models, verify them, and put them into the data folder.

    Licence, source and citation are shown first. An interrupted download goes on where it stopped.

    Example: probing data fetch ud-english-ewt
    """
    for entry in [find_entry(name) for name in names]:  # a misspelt name fails before anything is downloaded
        folder = place_of(entry, data_folder())
        if presence(entry) == "here":
            console.console.print(f"{entry.name} is there already", markup=False)
            typer.echo(str(folder))
            continue
        console.console.print(terms(entry), markup=False)
        typer.echo(str(fetch(entry)))


@app.command("check")
def check_data(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME...]", help="Everything that is here.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Name the files that are right, too.")] = False,
    as_json: _AsJson = False,
) -> None:
    """Verify what is here, file by file; exit code 1 where a file is missing or differs.

    Example: probing data check ud-english-ewt
    """
    entries = [find_entry(name) for name in names] if names else list(CATALOGUE.values())
    found: dict[str, list[Finding]] = {}
    for entry in entries:
        if not entry.files:
            if names:
                raise UserError(f"{entry.name}: there is nothing to check: {entry.note}")
        elif names or presence(entry) != "not here":
            found[entry.name] = check(entry)
            if not as_json:
                _report(entry, found[entry.name], verbose)
    if as_json:
        rows = [{"name": name} | finding._asdict() for name, findings in found.items() for finding in findings]
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
    elif not found:
        typer.echo(f"nothing is here, in {data_folder()}")
    if any(finding.state != "ok" for findings in found.values() for finding in findings):
        raise typer.Exit(1)


def _report(entry: Entry, findings: list[Finding], verbose: bool) -> None:
    wrong = [finding for finding in findings if finding.state != "ok"]
    known = " (checksum: not known; the weights have the right shapes)" if entry.unverifiable else ""
    total = f"{len(findings)} file{'s' * (len(findings) != 1)}"
    if not wrong:
        typer.echo(f"{entry.name}: {total} ok{known}")
    elif all(finding.state == "missing" for finding in wrong) and len(wrong) == len(findings):
        typer.echo(f"{entry.name}: missing: not here; `probing data fetch {entry.name}` gets it")
        return
    else:
        typer.echo(f"{entry.name}: {len(wrong)} of {total} wrong, in {data_folder() / entry.folder}")
    for finding in findings if verbose else wrong:
        typer.echo(f"  {finding.state}: {finding.path}" + (f" ({finding.detail})" if finding.detail else ""))


def _line(name: str, place: str, licence: str, size: str, source: str) -> None:
    typer.echo(f"{name:<25} {place:<15} {licence}\n    {size}\n    {source}")


def _place(entry: Entry) -> str:
    return "needs a licence" if entry.kind == "licensed" else presence(entry)


def _as_json(entry: Entry) -> dict[str, object]:
    return {
        "name": entry.name,
        "kind": entry.kind,
        "here": _place(entry),
        "folder": str(data_folder() / entry.folder),
        "licence": entry.licence,
        "size": entry.size,
        "source": entry.source,
        "citation": entry.citation,
        "note": entry.note,
        "addresses": [
            address for download in entry.downloads for address in (download.address, download.otherwise) if address
        ],
    }
