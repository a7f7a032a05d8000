"""A report's description as Markdown."""

import re

from probing.report.document import (
    Block,
    Bullets,
    Code,
    Document,
    Paragraph,
    Picture,
    Span,
    Table,
    Text,
    Verdicts,
    spans,
)

_FENCES = {"plain": "", "strong": "**", "emphasis": "*"}


def markdown_page(document: Document) -> str:
    """Return the whole report as Markdown; pictures are links to files under figures/."""
    parts = [f"# {_text(document.title)}", *([_text(document.question)] if document.question else [])]
    for section in document.sections:
        parts += [f"{'#' * section.level} {_text(section.heading)}", *(_block(block) for block in section.blocks)]
    return "\n\n".join(parts) + "\n"


def markdown_table(table: Table) -> str:
    """Return a table without its caption; the columns that are numbers are set right."""
    rules = [":--" if column < table.text_columns else "--:" for column in range(len(table.header))]
    lines = [[_text(cell).replace("|", "\\|") for cell in cells] for cells in (table.header, *table.rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (lines[0], rules, *lines[1:]))


def _block(block: Block) -> str:
    match block:
        case Paragraph(text):
            return _text(text)
        case Bullets(items):
            return "\n".join(f"- {_text(item)}" for item in items)
        case Verdicts(items):
            lines = (f"**{one.word}**: {_text(one.claim)} ({_text(one.about)}): {one.numbers}" for one in items)
            return "\n".join(f"- {line}" for line in lines)
        case Table():
            caption = f"{_text((Span(block.caption, 'emphasis'),))}\n\n" if block.caption else ""
            return caption + markdown_table(block)
        case Picture():  # the PNG looks the same everywhere; a click opens the SVG
            alternative = re.sub(r"([\[\]])", r"\\\1", _text(block.alternative))
            return f"[![{alternative}](figures/{block.stem}.png)](figures/{block.stem}.svg)"
        case Code():
            fence = "`" * max([3, *(len(ticks) + 1 for ticks in re.findall("`+", block.text))])
            return f"{fence}{block.language}\n{block.text.rstrip()}\n{fence}"


def _text(text: Text) -> str:
    return "".join(_span(span) for span in spans(text))


def _span(span: Span) -> str:
    if span.kind == "code":
        return f"`{span.text}`"
    return _FENCES[span.kind] + re.sub(r"([\\`*<])", r"\\\1", span.text) + _FENCES[span.kind]
