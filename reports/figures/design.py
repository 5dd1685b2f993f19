"""Figure of the design of a comparison: what other numbers of pretrainings and labelled subsets would tell apart.

The formulas are those of `reports.statistics.design`, the parts of the variance those of the run itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes

from reports.figures.style import FAINT, Panel, plot_panels
from reports.statistics.design import FEWEST_SEEDS, PairParts, Reach, median_reach, shares_text
from reports.tables.words import labels_text

HEIGHT = 2.15
"""Inches of a line of panels."""
LEGEND_ROOM = 2.0
"""Highest value of a panel's vertical axis, as a multiple of the highest line's."""
SEEDS = (*range(FEWEST_SEEDS, 11), 12, 14, 17, 20, 25, 30)
SUBSETS = (1, 5, 20)
DASHES = ((0, (1, 1.2)), (0, (5, 1.5)), "-", (0, (3, 1, 1, 1)))
"""Of the numbers of labelled subsets, ascending."""


def plot_design(
    parts: Mapping[float, Sequence[PairParts]], pairs: int, repeats: int, evaluation: str, note: str, stem: Path
) -> tuple[Path, Path]:
    """The difference in Overall that is told apart against the pretrainings per row, a panel per label ratio.

    parts: label ratio -> those of the pairs of rows. pairs: rows compared, over which Holm's correction goes.
    """
    panels = [
        Panel(partial(_draw, own, pairs, repeats), labels_text(ratio, evaluation), "pretrainings per row")
        for ratio, own in parts.items()
    ]
    shares = [
        f"{labels_text(ratio, evaluation)}: {shares_text(_own(own, pairs, repeats))}" for ratio, own in parts.items()
    ]
    sentences = f"{note} Variance of the median pair's difference in this run. {'. '.join(shares)}."
    return plot_panels(panels, {}, sentences, stem, height=HEIGHT, share="y", ylabel="difference told apart (points)")


def _own(parts: Sequence[PairParts], pairs: int, repeats: int) -> Reach:
    """What the run itself tells apart."""
    first = parts[0]
    return median_reach(
        parts, seeds=first.seeds, subsets=first.subsets, patients=first.patients, pairs=pairs, repeats=repeats
    )


def _draw(parts: Sequence[PairParts], pairs: int, repeats: int, axes: Axes) -> None:
    first, varied = parts[0], any(own.subsets_sd for own in parts)
    shown = sorted({first.subsets, *SUBSETS}) if varied else [first.subsets]
    for subsets, dash in zip(shown, DASHES, strict=False):
        grid = {"subsets": subsets, "patients": first.patients, "pairs": pairs, "repeats": repeats}
        told = [100 * median_reach(parts, seeds=seeds, **grid).detectable for seeds in SEEDS]
        name = f"{subsets} labelled subset{'s' if subsets > 1 else ''}"
        axes.plot(SEEDS, told, color="black" if subsets == first.subsets else FAINT, linestyle=dash, label=name)
    axes.plot([first.seeds], [100 * _own(parts, pairs, repeats).detectable], "o", color="black", label="this run")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.update_datalim([(SEEDS[0], LEGEND_ROOM * axes.dataLim.y1)])
    axes.autoscale_view()
    axes.set_xticks([3, 5, 10, 20, 30], ["3", "5", "10", "20", "30"])
    axes.set_xticks([], minor=True)
    low, high = axes.get_ylim()
    ticks = [points for points in (0.5, 1, 2, 3, 5, 10, 20, 30, 50) if low <= points <= high]
    axes.set_yticks(ticks, [f"{points:g}" for points in ticks])
    axes.set_yticks([], minor=True)
    axes.legend(loc="upper right", frameon=False)
