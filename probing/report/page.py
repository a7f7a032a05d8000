"""The report of one experiment, from its folder alone: one description of it, written as a web page and as Markdown."""

import re
from pathlib import Path

from bilm.files import write_text
from probing.report.beside import beside_blocks
from probing.report.canvas import save
from probing.report.document import Block, Bullets, Code, Document, Paragraph, Section
from probing.report.facts import data_blocks, networks_table, versions, warnings
from probing.report.html import html_page
from probing.report.inputs import Inputs, read_inputs
from probing.report.latex import latex_table
from probing.report.markdown import markdown_page, markdown_table
from probing.report.methods import LIMITS, methods
from probing.report.task_sections import more_pictures, side_by_side, task_sections, tasks_of
from probing.report.verdicts import claims_blocks


def write_report(folder: Path) -> None:
    """Write `report.html`, `report.md`, `figures/` and `tables/` from the results in `folder`.

    Parameters
    ----------
    folder : Path
        Has results.csv, config.yaml and environment.json. The same files give the same bytes: no dates are written.

    Raises
    ------
    UserError
        If one of the three is missing or cannot be used, or the report cannot be written.
    """
    inputs = read_inputs(folder)
    document = described(inputs, folder.resolve().name)
    drawings = {picture.stem: save(picture.figure, folder / "figures", picture.stem) for picture in document.pictures()}
    for table in document.named_tables():
        write_text(folder / "tables" / f"{table.name}.md", markdown_table(table) + "\n")
        write_text(folder / "tables" / f"{table.name}.tex", latex_table(table))
    _remove_what_is_shown_no_more(folder, document)
    write_text(folder / "report.md", markdown_page(document))
    write_text(folder / "report.html", html_page(document, drawings))


def _remove_what_is_shown_no_more(folder: Path, document: Document) -> None:
    """Remove the figures and tables of the report before this one that `document` lacks. A file of any other is kept.

    What it showed is what that report itself tells.
    """
    try:
        before = (folder / "report.md").read_text(encoding="utf-8")
    except (FileNotFoundError, UnicodeDecodeError):
        return
    pictures = {picture.stem for picture in document.pictures()}
    for stem in set(re.findall(r"\]\(figures/([A-Za-z0-9.-]+)\.svg\)", before)) - pictures:
        for ending in ("svg", "png"):
            (folder / "figures" / f"{stem}.{ending}").unlink(missing_ok=True)
    tables = {table.name for table in document.named_tables()}
    for path in (folder / "tables").glob("*.tex"):
        shown = path.with_suffix(".md")
        if path.stem not in tables and shown.is_file() and shown.read_text(encoding="utf-8") in f"{before}\n":
            shown.unlink()
            path.unlink()


def described(inputs: Inputs, name: str) -> Document:
    """Return what the report says; its title is the experiment's name, or `name` where the rows have none.

    Verdicts come first, then what each network is (one may see only the words to the left), then pictures and tables,
    then how each number was made.
    """
    title = next((experiment for experiment in inputs.rows["experiment"] if experiment), name)
    sections: list[Section] = []

    def add(heading: str, *blocks: Block) -> None:
        if blocks:
            sections.append(Section(heading, blocks))

    add("Claims", *(claims_blocks(inputs) if inputs.claims else ()))
    add("Networks", *([networks_table(inputs.environment)] if inputs.environment.encoders else []))
    add("Pictures", *side_by_side(inputs), *more_pictures(inputs))
    add("Beside the published numbers", *(beside_blocks(inputs) if inputs.settings.published else ()))
    for task, corpus in tasks_of(inputs.rows):
        sections += task_sections(inputs, task, corpus)
    add("Data", *data_blocks(inputs.environment))
    found = tuple(warnings(inputs))
    add("Warnings", Bullets(found) if found else Paragraph("None."))
    add("How each number was made", Bullets(tuple(methods(inputs))))
    add("What probing does not show", Bullets(LIMITS))
    told = "probing run config.yaml repeats this experiment; config.yaml is this:"
    add("Configuration", Paragraph(told), Code(inputs.config, "yaml"))
    add("Versions", Paragraph(versions(inputs.environment)))
    return Document(title, inputs.settings.question, tuple(sections))
