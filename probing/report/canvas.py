"""The paper that figures are drawn on: colours, room for title, legend and footnote, and files of the same bytes.

Figures are made for print at text width: colours that colour-blind readers tell apart (Okabe & Ito) doubled by marker
shapes, nothing drawn over data, and a footnote that says what every bar and band is. No pyplot, no global state: the
same numbers always give the same bytes.
"""

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bilm.files import atomic_path

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P")
GREY = "#444444"
_LINE = 0.19  # inches: the height of a line of text

# Text stays text in SVG: it can be searched, read aloud and edited, and the font list falls back to fonts of nearly the
# same widths where DejaVu Sans is missing. The PNG beside it is the copy that looks the same everywhere.
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "layer-probing",
    "text.parse_math": False,  # a "$" in a label is a "$"
    "font.size": 8.5,
    "axes.titlesize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.0,
    "lines.markersize": 5.5,
    "legend.frameon": False,
}


def save(figure: Figure, folder: Path, stem: str) -> str:
    """Write `folder/stem.svg` and `folder/stem.png` (200 dots per inch), atomically, without dates or versions.

    Return the SVG.
    """
    with house_style():
        with atomic_path(folder / f"{stem}.svg") as path:
            figure.savefig(
                path, metadata={"Date": None, "Creator": None, "Title": figure.get_suptitle().replace("\n", " ")}
            )
        with atomic_path(folder / f"{stem}.png") as path:
            figure.savefig(path, dpi=200, metadata={"Software": None})
    return (folder / f"{stem}.svg").read_text(encoding="utf-8")


@contextmanager
def house_style() -> Iterator[None]:
    """Draw with this module's settings whatever the user's own are, and put those back afterwards."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def frame(
    title: str,
    handles: Sequence[Artist],
    note: str,
    shape: tuple[int, int],
    *,
    columns: int,
    width: float,
    middle: float,
    sharex: bool = True,
) -> tuple[Figure, list[Axes]]:
    """Lay out title, legend, axes and footnote, each in room of its own, so that nothing can cover data.

    Parameters
    ----------
    title, note : str
    handles : sequence of Artist
        What the legend explains, by their labels, set in `columns`.
    shape : (rows, columns)
        Of the axes.
    width, middle : float
        Inches: of the figure, and the height of the axes with their labels.
    """
    title_lines = textwrap.wrap(title, int(width * 12.3))
    note_lines = textwrap.wrap(note, int(width * 19))
    headed = 0.15 + _LINE * len(title_lines)
    above = headed + _LINE * -(-len(handles) // columns) + 0.1
    below = 0.75 * _LINE * len(note_lines) + 0.1
    height = above + middle + below
    figure = Figure(figsize=(width, height))
    figure.set_layout_engine("constrained", rect=(0, below / height, 1, middle / height))
    left = 0.08 / width
    heading = "\n".join(title_lines)
    figure.suptitle(heading, x=left, y=1 - 0.1 / height, ha="left", va="top", fontsize=10.5).set_in_layout(False)
    figure.legend(
        handles=list(handles),
        loc="upper left",
        bbox_to_anchor=(left, 1 - (headed + 0.02) / height),
        ncols=columns,
        borderaxespad=0,
        borderpad=0,
    )
    figure.text(left, 0.06 / height, "\n".join(note_lines), fontsize=7, color=GREY, va="bottom", linespacing=1.3)
    return figure, list(figure.subplots(*shape, sharex=sharex, squeeze=False).flat)


def draw_spread(
    axes: Axes,
    x: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    ranged: NDArray[np.bool_],
    colour: str,
    *,
    banded: bool,
    label: str = "",
) -> None:
    """Draw the range of seeds as a band (a broad bar where no line joins the values), an interval as a bar."""
    if banded and len(x) > 1 and ranged.all():
        axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    elif ranged.any():
        axes.vlines(x[ranged], low[ranged], high[ranged], color=colour, alpha=0.25, linewidth=5)
    if not ranged.all():  # around the middle: a percentile interval need not be symmetric, nor even contain the value
        middle, half = ((low + high) / 2)[~ranged], ((high - low) / 2)[~ranged]
        axes.errorbar(x[~ranged], middle, half, fmt="none", ecolor=colour, capsize=2, label=label or None)
