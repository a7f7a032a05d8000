"""A report's tables as LaTeX, to be set with the package booktabs."""

import re

from probing.report.document import Span, Table, Text, spans

_ESCAPES = {character: f"\\{character}" for character in "%_&#${}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "→": r"$\to$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "λ": r"$\lambda$",
    "γ": r"$\gamma$",
}
_COMMANDS = {"strong": "textbf", "emphasis": "emph", "code": "texttt"}


def escaped(text: str) -> str:
    """Return text in which no character means anything to LaTeX but itself."""
    return re.sub("|".join(map(re.escape, _ESCAPES)), lambda match: _ESCAPES[match.group()], text)


def latex_table(table: Table) -> str:
    """Return a table environment with caption and label."""
    columns = "".join("l" if column < table.text_columns else "r" for column in range(len(table.header)))
    header, *rows = (" & ".join(_text(cell) for cell in cells) + r" \\" for cells in (table.header, *table.rows))
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(table.caption)}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        header,
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _text(text: Text) -> str:
    return "".join(_span(span) for span in spans(text))


def _span(span: Span) -> str:
    command = _COMMANDS.get(span.kind)
    return rf"\{command}{{{escaped(span.text)}}}" if command else escaped(span.text)
