"""The figure `reliability`: stated chances of a repeat against the share that later runs found again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

from reports.figures.style import FAINT, MARKS, TINY, Panel, plot_panels
from reports.statistics.reliability import Bin


def draw_reliability(bins: Sequence[Bin], note: str, stem: Path) -> tuple[Path, Path]:
    """Draw a point with its interval and number of comparisons per bin; returns the PNG and the PDF.

    note: the small print. stem: the path without its ending.
    """

    def draw(axes: Axes) -> None:
        axes.plot([0, 100], [0, 100], color=FAINT, linewidth=0.6, linestyle=(0, (3, 2)))
        stated, shares = [100 * own.stated for own in bins], [100 * own.share for own in bins]
        ends = [[100 * end for end in own.interval] for own in bins]
        below = [max(0.0, share - low) for share, (low, _) in zip(shares, ends, strict=True)]
        above = [max(0.0, high - share) for share, (_, high) in zip(shares, ends, strict=True)]
        colour = MARKS["pmq"].colour
        axes.errorbar(stated, shares, yerr=[below, above], fmt="o", color=colour, elinewidth=0.8, capsize=2)
        for x, y, own in zip(stated, shares, bins, strict=True):
            axes.annotate(f"{own.count:,}", (x, y), (3, -7), textcoords="offset points", fontsize=TINY, color=FAINT)
        axes.set(xlim=(0, 104), ylim=(-2, 104), aspect="equal")

    panel = Panel(draw, "Is a significant difference found again?", "stated chance, %")
    return plot_panels([panel], {}, note, stem, height=3.0, ylabel="found again, %")
