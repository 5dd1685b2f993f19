"""How a figure looks and how it is written: colours, sizes of a journal's page, small print, PNG and PDF.

Colours are Okabe and Ito's, told apart by colour-blind readers. A method has the same colour, shape and dash in every
figure of every store, so that the three together also tell it apart in grey.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from benchmark.results.files import write_atomic
from benchmark.results.names import FEATURES, FROZEN, SUPERVISED, UNTRAINED

DPI = 200
ONE_COLUMN, TWO_COLUMNS = 3.5, 7.2
"""Widths in inches of a figure in one column and across the page."""
SMALL, TINY = 6.5, 6.0
"""Points of what stands beside the axes, and the least there is."""
CHARACTERS_PER_INCH = 20
"""Of the small print."""
LINE_HEIGHT = 0.13
"""Inches of a line of the legend or of the small print."""
HANDLE_WIDTH, LETTER_WIDTH = 0.56, 0.053
"""Inches that a row takes in the legend: what stands for it, and each letter of its title."""
SETTINGS: dict[str, object] = {
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.labelsize": 7.5,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "grid.color": "#e2e2e2",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "pdf.fonttype": 42,
}
"""Fonts are embedded as TrueType (42), which journals ask for and editors of figures can change."""
FAINT = "#666666"
SHARES = "Blues"
"""Colour map."""


Dash = tuple[int, tuple[float, ...]]
"""Where a pattern begins, and the lengths of its strokes and gaps in line widths."""
SOLID: Dash = (0, ())


class Mark(NamedTuple):
    """How a row of a table is drawn in every figure."""

    colour: str
    shape: str
    dash: Dash
    fill: Literal["full", "none", "left", "right", "top", "bottom"] = "full"
    """Filled part of the shape, where rows are neither joined by lines nor named at their place."""


MARKS = {
    "pmq": Mark("#D55E00", "o", SOLID),
    "moco": Mark("#0072B2", "s", SOLID),
    "byol": Mark("#56B4E9", "D", (0, (5, 1.5))),
    "clocs": Mark("#009E73", "^", SOLID),
    "pclr": Mark("#CC79A7", "v", (0, (5, 1.5))),
    "comet": Mark("#E69F00", "P", (0, (3, 1, 1, 1))),
    "etp": Mark("#000000", "X", (0, (3, 1, 1, 1))),
    "pmq-released": Mark("#8C3B00", "h", (0, (5, 1.5))),
    UNTRAINED: Mark("#777777", "*", (0, (1, 1.2))),
    FROZEN: Mark("#777777", "<", (0, (1, 2.4))),
    FEATURES: Mark("#777777", ">", (0, (4, 2))),
    "minirocket": Mark("#777777", "8", (0, (3, 1))),
    SUPERVISED: Mark("#777777", ".", (0, (6, 1, 1, 1))),
}
OTHERS = (
    Mark("#F0E442", "p", SOLID),
    Mark("#332288", "d", (0, (2, 1))),
    Mark("#882255", "H", (0, (6, 2))),
    Mark("#44AA99", "8", (0, (1, 1))),
    Mark("#999933", "o", (0, (2, 1))),
    Mark("#AA4499", "s", (0, (6, 2))),
    Mark("#117733", "D", (0, (1, 1))),
    Mark("#661100", "^", (0, (2, 1))),
    Mark("#6699CC", "v", (0, (6, 2))),
)
"""For other methods, in the order of the table; after these they begin again."""
FURTHER: tuple[Dash, ...] = ((0, (1, 3)), (0, (8, 2, 1, 2)), (0, (2, 4)), (0, (8, 4)))
"""Dashes of a method's rows on further encoders, in the order of the table."""
FILLS: tuple[Literal["none", "left", "right", "top"], ...] = ("none", "left", "right", "top")
"""Filled parts of the shape, likewise."""


def marks(variants: Iterable[str]) -> dict[str, Mark]:
    """The mark of each row; on a further encoder that of the first, with another dash and filling."""
    found: dict[str, Mark] = {}
    strangers, encoders = dict[str, int](), dict[str, int]()
    for variant in variants:
        row, _, encoder = variant.partition("+")
        own = MARKS.get(row) or OTHERS[strangers.setdefault(row, len(strangers)) % len(OTHERS)]
        if encoder:
            further = encoders.setdefault(encoder, len(encoders))
            own = own._replace(dash=FURTHER[further % len(FURTHER)], fill=FILLS[further % len(FILLS)])
        found[variant] = own
    return found


@contextmanager
def styled() -> Iterator[None]:
    """The settings of all figures, for what is drawn and written inside; those of the process stay as they are."""
    with rc_context(SETTINGS):  # type: ignore[arg-type]
        yield


def legend(figure: Figure, titles: Mapping[str, str], *, lines: bool = True) -> None:
    """Rows of a table and how they are drawn, above the panels, in as few lines as the width holds.

    lines: the panels have lines, not marks alone.
    """
    drawn = marks(titles)
    handles = [
        Line2D(
            [], [], color=mark.colour, marker=mark.shape, linestyle=mark.dash if lines else "", label=titles[variant],
            fillstyle="full" if lines else mark.fill, markerfacecoloralt="white",
        )
        for variant, mark in drawn.items()
    ]  # fmt: skip
    columns = legend_columns(list(titles.values()), figure.get_figwidth())
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, handlelength=3 if lines else 1)


def legend_columns(titles: Sequence[str], width: float) -> int:
    """Columns of a legend in the fewest lines that so many inches hold; one where none do."""
    for lines in range(1, len(titles)):
        columns = -(-len(titles) // lines)
        longest = [max(map(len, column)) for column in np.array_split(titles, columns)]
        if sum(HANDLE_WIDTH + LETTER_WIDTH * letters for letters in longest) < width:
            return columns
    return 1


def width_of(panels: int) -> float:
    """Inches of a figure with so many panels abreast."""
    return ONE_COLUMN if panels == 1 else TWO_COLUMNS


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of so many inches, which lays itself out."""
    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)  # keeps its renderer and what it measured: a bare canvas makes one for each question
    return figure


class Panel(NamedTuple):
    """Axes of a figure, and what draws into them."""

    draw: Callable[[Axes], None]
    title: str = ""
    xlabel: str = ""


def plot_panels(
    panels: Sequence[Panel],
    rows: Mapping[str, str],
    note: str,
    stem: Path,
    *,
    height: float,
    ylabel: str = "",
    lines: bool = True,
    names: Sequence[str] | None = None,
    share: Literal["", "x", "y", "xy"] = "",
    width: float = 0.0,
) -> tuple[Path, Path]:
    """Draw panels side by side, with a legend above and small print below; returns the PNG and the PDF.

    rows: variant -> title, of the legend; none without. note: the small print. stem: the path without its ending.
    height: inches of the panels. lines: as of `legend`. names: what stands at 0, 1, ... of the vertical axis,
    from the top, where values run to the right. share: axes that all panels have in common. width: in
    inches, 0 for `width_of` as many panels.
    """
    with styled():
        width = width or width_of(len(panels))
        figure = new_figure(width, height + words_height(rows, note, width))
        grid = figure.subplots(1, len(panels), squeeze=False, sharex="x" in share, sharey="y" in share)[0]
        for axes, panel in zip(grid, panels, strict=True):
            panel.draw(axes)
            axes.set_title(panel.title)
            axes.set_xlabel(panel.xlabel)
            axes.grid(axis="y" if names is None else "x")
        grid[0].set_ylabel(ylabel)
        if names is not None:
            grid[0].set_yticks(range(len(names)), names)
            grid[0].set_ylim(len(names) - 0.5, -0.5)
        if rows:
            legend(figure, rows, lines=lines)
        small_print(figure, note)
        return save(figure, stem)


def small_print(figure: Figure, sentences: str) -> None:
    """What a reader must know of the numbers, wrapped below the figure."""
    text = "\n".join(wrapped(sentences, figure.get_figwidth()))
    figure.supxlabel(text, fontsize=TINY, color=FAINT, x=0.01, ha="left", linespacing=1.25)


def wrapped(sentences: str, width: float) -> list[str]:
    """Lines of the small print that so many inches hold."""
    return textwrap.wrap(sentences, round(width * CHARACTERS_PER_INCH), break_on_hyphens=False)


def words_height(titles: Mapping[str, str], note: str, width: float) -> float:
    """Inches that a legend (none without titles) and the small print take of a figure."""
    lines = -(-len(titles) // legend_columns(list(titles.values()), width)) if titles else 0
    return LINE_HEIGHT * (lines + len(wrapped(note, width)))


def save(figure: Figure, stem: Path) -> tuple[Path, Path]:
    """Write a figure as PNG and PDF beside each other, whole or not at all; the same figure gives the same bytes.

    `stem` is the path without its ending. The layout is worked out once, for both.
    """
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)
    files = stem.with_name(f"{stem.name}.png"), stem.with_name(f"{stem.name}.pdf")
    for file in files:
        buffer = BytesIO()
        dated = {"CreationDate": None} if file.suffix == ".pdf" else {}
        figure.savefig(buffer, format=file.suffix[1:], dpi=DPI, metadata=dated)
        write_atomic(file, buffer.getvalue())
    return files
