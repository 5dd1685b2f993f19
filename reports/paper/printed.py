"""The two printed tables of the PMQ paper as data, and their internal consistency.

Table 1 has eight methods, Table 2 PMQ and four ablations (F1 only), each at three label ratios on three datasets. All
numbers are from the printed cells: percent, one decimal, mean and standard deviation over five fine-tuning seeds.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import NamedTuple

from benchmark.results.metrics import TITLES
from benchmark.results.names import OVERALL, UNTRAINED

PMQ, RANDOM, WITHOUT_NEIGHBOUR = "pmq", UNTRAINED, "pmq:w/o neighbor"
SEEDS = 5
HALF_STEP = 0.05
"""Half of the last printed decimal."""
DATASETS = {"ptb-xl": "PTB-XL", "chapman": "Chapman", "cpsc2018": "CPSC2018"}
METRICS = {name: TITLES[name] for name in ("f1", "auroc", "acc")}
"""Metrics in the paper's tables."""
RATIOS = (0.3, 0.1, 0.01)
PRETRAINING_SECONDS = {"pmq": 1.5 * 3600}
"""The only time in the paper (line 429), on one RTX 4090."""
ROW_TITLES = {
    "random": "Random", "moco": "MoCo", "byol": "BYOL", "clocs": "CLOCS", "pclr": "PCLR", "comet": "COMET",
    "etp": "ETP", "pmq": "PMQ", "pmq:w/o mask_t": "w/o mask_t", "pmq:w/o mask_f": "w/o mask_f",
    "pmq:w/o neighbor": "w/o neighbor", "pmq:w/o queue": "w/o queue",
}  # fmt: skip
"""Every row of the two tables, by its name in this suite; the paper calls PMQ "Ours" and "All"."""


class Place(NamedTuple):
    """Coordinates of a number in a table."""

    variant: str
    ratio: float
    dataset: str
    metric: str

    @property
    def column(self) -> str:
        """Title of the column, e.g. 'Chapman F1, 30 %'."""
        head = TITLES[OVERALL] if self.dataset == OVERALL else f"{DATASETS[self.dataset]} {METRICS[self.metric]}"
        return f"{head}, {100 * self.ratio:g} %"


class Measured(NamedTuple):
    """A mean over seeds, in percent."""

    mean: float
    std: float | None
    """Over the seeds with ddof = 1; None for Overall and for a single seed."""
    seeds: int
    bold: bool = False
    """Printed in bold, the paper's mark for the best of a block."""

    def __str__(self) -> str:
        return f"{self.mean:.1f}" if self.std is None else f"{self.mean:.1f}±{self.std:.1f}"


Cells = Mapping[Place, Measured]


class Derived(NamedTuple):
    """A printed Overall and the mean of its cells, in percent."""

    table: int
    place: Place
    printed: float
    derived: float

    @property
    def gap(self) -> float:
        """Points between the two."""
        return abs(self.derived - self.printed)


class Column(NamedTuple):
    """One column of one block: rows with the highest number, and rows in bold."""

    table: int
    place: Place
    """Of the best, the first on a tie."""
    best: tuple[str, ...]
    bold: tuple[str, ...]


class Link(NamedTuple):
    """A cell that two rows have in common."""

    place: Place
    """Of the first row."""
    first: Measured
    second: Measured

    @property
    def same(self) -> bool:
        """Printed mean and standard deviation are equal."""
        return self.first[:2] == self.second[:2]


def load_table(number: int) -> dict[Place, Measured]:
    """Table 1 (240 numbers) or 2 (60), Overall included."""
    text = resources.files("reports.paper").joinpath(f"data/table{number}.csv").read_text(encoding="utf-8")
    return {
        Place(line["variant"], float(line["ratio"]), line["dataset"], line["metric"]): Measured(
            float(line["mean"]), float(line["std"]) if line["std"] else None, SEEDS, line["bold"] == "1"
        )
        for line in csv.DictReader(text.splitlines())
    }


def printed_cells() -> dict[Place, Measured]:
    """The 216 cells of Table 1 and the 36 of Table 2 that are not PMQ itself, without the Overalls."""
    first = load_table(1)
    both = first | {place: cell for place, cell in load_table(2).items() if place not in first}
    return {place: cell for place, cell in both.items() if place.dataset != OVERALL}


def overalls(table: int) -> list[Derived]:
    """Every printed Overall and the mean of its cells; these are nine in Table 1, three in Table 2."""
    cells = load_table(table)
    found = []
    for place, measured in cells.items():
        if place.dataset == OVERALL:
            own = [
                cell.mean
                for other, cell in cells.items()
                if (other.variant, other.ratio) == (place.variant, place.ratio) and other.dataset != OVERALL
            ]
            found.append(Derived(table, place, measured.mean, sum(own) / len(own)))
    return found


def columns(table: int) -> list[Column]:
    """Best and bold of every column of every block, Overall included."""
    cells = load_table(table)
    by_column: dict[tuple[float, str, str], list[Place]] = {}
    for place in cells:
        by_column.setdefault(place[1:], []).append(place)
    found = []
    for places in by_column.values():
        highest = max(cells[place].mean for place in places)
        best = [place for place in places if cells[place].mean == highest]
        bold = tuple(place.variant for place in places if cells[place].bold)
        found.append(Column(table, best[0], tuple(place.variant for place in best), bold))
    return found


def wrong_marks() -> list[Column]:
    """Columns whose bold number is not the highest."""
    return [column for table in (1, 2) for column in columns(table) if column.best != column.bold]


def ranks(cells: Cells, places: Sequence[Place], rivals: Sequence[str]) -> Counter[int]:
    """Rank -> number of places; a rank is one plus the number of rivals above."""
    return Counter(
        1 + sum(cells[place._replace(variant=rival)].mean > cells[place].mean for rival in rivals) for place in places
    )


def methods_of(table: int) -> tuple[str, ...]:
    """Rows of a table, in its order."""
    return tuple(dict.fromkeys(place.variant for place in load_table(table)))


def links(first_table: int, first: str, second_table: int, second: str) -> list[Link]:
    """The cells that two rows have in common, without Overall."""
    one, other = load_table(first_table), load_table(second_table)
    return [
        Link(place, measured, other[twin])
        for place, measured in one.items()
        if place.variant == first and place.dataset != OVERALL and (twin := place._replace(variant=second)) in other
    ]


def not_above_random() -> list[Derived]:
    """Pretrained rows of Table 1 whose printed Overall does not exceed the untrained encoder's."""
    found = overalls(1)
    floor = {derived.place.ratio: derived.printed for derived in found if derived.place.variant == RANDOM}
    return [
        derived
        for derived in found
        if derived.place.variant != RANDOM and derived.printed <= floor[derived.place.ratio]
    ]
