"""The printed numbers and claims of the PMQ paper, their consistency, and the rules of the verdicts.

A claim has our wording, the lines of the paper's source, and the rule that judges it with that rule's rows.

The rules of the verdicts: each judges one kind of claim by the cells of a table, printed or measured.

A rule is a pure function of a claim and its evidence, which has every cell of the claim. It judges by the means, as
the paper does; its numbers add a 95 % interval, or the count of cells with a Welch p below 0.05 (not adjusted).

Welch's test from printed means and standard deviations, and ranges of its p and of Holm's values under rounding.

The test is scipy's. A mean over several cells enters as one sample with its standard error and degrees of freedom
(Satterthwaite 1946). The printed numbers have one decimal, so p is a range over all means and standard deviations that
round to them. Holm's adjusted value is monotone in each p, so the lower ends give its lower end.

Table 1 has eight methods, Table 2 PMQ and four ablations (F1 only), each at three label ratios on three datasets. All
numbers are from the printed cells: percent, one decimal, mean and standard deviation over five fine-tuning seeds.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student
from scipy.stats import ttest_ind_from_stats

from benchmark.results.metrics import TITLES
from benchmark.results.names import OVERALL, UNTRAINED
from reports.statistics.estimates import holm

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
        return f"{self.mean:z.1f}" if self.std is None else f"{self.mean:z.1f}±{self.std:z.1f}"


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
    text = resources.files("reports").joinpath(f"paper_data/table{number}.csv").read_text(encoding="utf-8")
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
    parts: dict[tuple[str, float], list[float]] = {}
    for place, cell in cells.items():
        if place.dataset != OVERALL:
            parts.setdefault(place[:2], []).append(cell.mean)
    return [
        Derived(table, place, cell.mean, sum(parts[place[:2]]) / len(parts[place[:2]]))
        for place, cell in cells.items()
        if place.dataset == OVERALL
    ]


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
    others = load_table(second_table)
    return [
        Link(place, cell, others[twin])
        for place, cell in load_table(first_table).items()
        if place.variant == first and place.dataset != OVERALL and (twin := place._replace(variant=second)) in others
    ]


def not_above_random() -> list[Derived]:
    """Pretrained rows of Table 1 whose printed Overall does not exceed the untrained encoder's."""
    rows = overalls(1)
    floor = {row.place.ratio: row.printed for row in rows if row.place.variant == RANDOM}
    return [row for row in rows if row.place.variant != RANDOM and row.printed <= floor[row.place.ratio]]


COST_RULE = "cheaper"
"""The only rule that reads seconds instead of cells."""


@dataclass(frozen=True)
class Claim:
    """One claim of the paper, in this suite's words, and its rule."""

    id: str
    lines: str
    """Lines of the paper's source."""
    text: str
    rule: str
    """Name of a function in `reports.paper_claims`."""
    subject: str
    rivals: tuple[str, ...]
    ratios: tuple[float, ...]
    datasets: tuple[str, ...]
    metrics: tuple[str, ...]
    figures: tuple[float, ...]
    """Numbers stated in the claim."""
    remark: str
    """Caveat on the paper's own evidence."""

    def places(self, variant: str) -> list[Place]:
        """The claim's cells of a variant."""
        return [
            Place(variant, ratio, dataset, metric)
            for ratio in self.ratios
            for dataset in self.datasets
            for metric in self.metrics
        ]


@dataclass(frozen=True)
class Evidence:
    """Cells and pretraining times that judge a claim."""

    cells: Cells
    seconds: Mapping[str, float]
    """Variant -> seconds of its pretraining, where comparable."""
    printed: bool
    """The cells are the paper's, rounded to one decimal."""

    def by_dataset(self, claim: Claim, variant: str, ratio: float) -> list[Measured]:
        """A variant's mean over the claim's metrics on each of its datasets, in percent: (datasets,).

        Its standard deviation is the mean over the metrics', an upper bound, since the metrics of a run are correlated.
        """
        rows = [
            [self.cells[Place(variant, ratio, name, metric)] for metric in claim.metrics] for name in claim.datasets
        ]
        return [_over_metrics(cells) for cells in rows]

    def overall(self, claim: Claim, variant: str, ratio: float) -> float:
        """Mean of the claim's cells of a variant at one ratio, in percent."""
        cells = self.by_dataset(claim, variant, ratio)
        return sum(cell.mean for cell in cells) / len(cells)

    def lacking(self, claim: Claim) -> tuple[str, ...]:
        """Rows of the claim without the cells or seconds that its rule reads."""
        variants = dict.fromkeys([claim.subject, *claim.rivals])
        if claim.rule == COST_RULE:
            return tuple(variant for variant in variants if variant not in self.seconds)
        return tuple(variant for variant in variants if not self.cells.keys() >= set(claim.places(variant)))


def _over_metrics(cells: Sequence[Measured]) -> Measured:
    stds = [cell.std for cell in cells if cell.std is not None]
    std = sum(stds) / len(stds) if len(stds) == len(cells) else None
    return Measured(sum(cell.mean for cell in cells) / len(cells), std, min(cell.seeds for cell in cells))


def load_claims() -> list[Claim]:
    """The paper's claims, in file order."""
    text = resources.files("reports").joinpath("paper_data/claims.csv").read_text(encoding="utf-8")
    return [
        Claim(
            id=line["id"],
            lines=line["lines"],
            text=line["claim"],
            rule=line["rule"],
            subject=line["subject"],
            rivals=_listed(line["rivals"]),
            ratios=tuple(map(float, _listed(line["ratios"]))) or RATIOS,
            datasets=_listed(line["datasets"]) or tuple(DATASETS),
            metrics=_listed(line["metrics"]) or tuple(METRICS),
            figures=tuple(map(float, _listed(line["figures"]))),
            remark=line["remark"],
        )
        for line in csv.DictReader(text.splitlines())
    ]


def _listed(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(";")))


def title_of(variant: str) -> str:
    """A row's title in the paper's tables."""
    return ROW_TITLES.get(variant, variant.replace("pmq:", "PMQ "))


ALPHA = 0.05
GRID = 21
"""Number of standard deviations tried in the rounding interval."""


class Difference(NamedTuple):
    """First minus second, in points, with its 95 % interval and two-sided p value."""

    points: float
    low: float
    high: float
    p: float


class WelchTest(NamedTuple):
    """A variant against its best rival in one cell, with ranges under rounding and Holm's correction over all cells."""

    place: Place
    rival: str
    difference: Difference
    p_range: tuple[float, float]
    holm: float
    holm_range: tuple[float, float]

    @property
    def remains(self) -> bool:
        """Significant after Holm's correction."""
        return self.holm < ALPHA

    @property
    def depends_on_rounding(self) -> bool:
        """Significance changes within the rounding interval."""
        return self.holm_range[0] < ALPHA <= self.holm_range[1]


def p_value(points: Any, std1: Any, std2: Any, n1: float, n2: float) -> Any:
    """Two-sided p of Welch's test, element by element; 1 where both standard deviations and the difference are 0."""
    p = ttest_ind_from_stats(points, std1, n1, 0.0, std2, n2, equal_var=False).pvalue
    return np.where(np.isnan(p), 1.0, p)


def compare(first: Sequence[Measured], second: Sequence[Measured]) -> Difference:
    """Mean of the first cells minus mean of the second, which have the same places, in points.

    With one cell each this is Welch's test; several, of different datasets, count as independent. Interval and p are
    NaN where a cell has a single seed.
    """
    points = float(np.mean([cell.mean for cell in first]) - np.mean([cell.mean for cell in second]))
    if any(cell.std is None or cell.seeds < 2 for cell in (*first, *second)):
        return Difference(points, math.nan, math.nan, math.nan)
    (variance1, n1), (variance2, n2) = _as_one_sample(first), _as_one_sample(second)
    p = float(p_value(points, math.sqrt(variance1 * n1), math.sqrt(variance2 * n2), n1, n2))
    total = variance1 + variance2
    if total == 0:
        return Difference(points, points, points, p)
    freedom = total**2 / (variance1**2 / (n1 - 1) + variance2**2 / (n2 - 1))
    low, high = student.interval(1 - ALPHA, freedom, points, total**0.5)
    return Difference(points, float(low), float(high), p)


def _as_one_sample(cells: Sequence[Measured]) -> tuple[float, float]:
    """Variance of the mean of some cells, and its number of draws by Satterthwaite, not necessarily whole."""
    variances = [(cell.std or 0.0) ** 2 / cell.seeds / len(cells) ** 2 for cell in cells]
    total = sum(variances)
    parts = sum(variance**2 / (cell.seeds - 1) for variance, cell in zip(variances, cells, strict=True))
    return total, 1 + (total**2 / parts if parts else sum(cell.seeds - 1 for cell in cells))


def p_range(first: Measured, second: Measured) -> tuple[float, float]:
    """Smallest and largest p of Welch's test within rounding, of two cells with standard deviations."""
    points = abs(first.mean - second.mean)
    std1, std2 = (
        np.linspace(max(0.0, std - HALF_STEP), std + HALF_STEP, GRID) for std in (first.std or 0.0, second.std or 0.0)
    )
    ends = points + 2 * HALF_STEP, max(0.0, points - 2 * HALF_STEP)
    low, high = (p_value(end, std1[:, None], std2, first.seeds, second.seeds) for end in ends)  # (GRID, GRID)
    return float(low.min()), float(high.max())


def against_the_best(cells: Cells, variant: str, rivals: Sequence[str]) -> list[WelchTest]:
    """A variant against the best of its rivals in each of its cells; the first rival on a tie."""
    pairs = {
        place: max((place._replace(variant=rival) for rival in rivals), key=lambda other: cells[other].mean)
        for place in cells
        if place.variant == variant
    }
    differences = [compare([cells[place]], [cells[rival]]) for place, rival in pairs.items()]
    ranges = [p_range(cells[place], cells[rival]) for place, rival in pairs.items()]
    adjusted = holm(np.array([difference.p for difference in differences])).tolist()
    lows, highs = (holm(ends).tolist() for ends in np.array(ranges).T)
    return [
        WelchTest(place, rival.variant, differences[index], ranges[index], adjusted[index], (lows[index], highs[index]))
        for index, (place, rival) in enumerate(pairs.items())
    ]


PRINTED_STEP = 0.1
"""The last printed decimal: numbers that differ by no more agree."""
TINY = 1e-9
"""Tolerance in points of equal means: sums of decimals are not exact."""


class Finding(NamedTuple):
    """The result of a rule; `holds` is None where the numbers are inconclusive."""

    holds: bool | None
    numbers: str


def overall_above(claim: Claim, evidence: Evidence) -> Finding:
    """The subject's Overall is above every rival's at every ratio."""
    holds, shown = True, []
    for ratio in claim.ratios:
        rival = strongest(claim, evidence, ratio)
        points = difference(claim, evidence, rival, ratio)
        holds &= points.points > TINY
        means = [evidence.overall(claim, variant, ratio) for variant in (claim.subject, rival)]
        shown.append(
            f"{percent(ratio)} {means[0]:z.1f} against {means[1]:z.1f} ({title_of(rival)}), {interval(points)}"
        )
    return Finding(holds, "; ".join(shown))


def best_cells(claim: Claim, evidence: Evidence) -> Finding:
    """The subject is best, alone or with others, in as many cells as the figure says."""
    counted = ranks(evidence.cells, claim.places(claim.subject), claim.rivals)
    return Finding(counted[1] == claim.figures[0], f"best in {counted[1]} of {counted.total()}")


def second_elsewhere(claim: Claim, evidence: Evidence) -> Finding:
    """The subject is second in as many cells as the figure says, and never lower."""
    counted = ranks(evidence.cells, claim.places(claim.subject), claim.rivals)
    below = counted.total() - counted[1] - counted[2]
    return Finding(counted[2] == claim.figures[0] and not below, f"second in {counted[2]}, third or lower in {below}")


def every_cell(claim: Claim, evidence: Evidence) -> Finding:
    """The subject is above each rival in every cell."""
    above, total, numbers = count_above(claim, evidence)
    return Finding(above == total, numbers)


def mostly_above(claim: Claim, evidence: Evidence) -> Finding:
    """The subject is above its rivals in more than half of the cells."""
    above, total, numbers = count_above(claim, evidence)
    return Finding(2 * above > total, numbers)


def lowest(claim: Claim, evidence: Evidence) -> Finding:
    """The subject is below every rival in every cell."""
    cells, places = evidence.cells, claim.places(claim.subject)
    below = sum(
        cells[place].mean < min(cells[place._replace(variant=rival)].mean for rival in claim.rivals) for place in places
    )
    return Finding(below == len(places), f"lowest in {below} of {len(places)}")


def rising(claim: Claim, evidence: Evidence) -> Finding:
    """In every cell the means of the rivals, in their order, and the subject do not fall, and rise overall."""
    holds, shown = True, []
    for place in claim.places(claim.subject):
        means = [evidence.cells[place._replace(variant=v)].mean for v in (*claim.rivals, claim.subject)]
        holds &= means[-1] > means[0] and all(later >= earlier for earlier, later in pairwise(means))
        shown.append(f"{DATASETS[place.dataset]} {', '.join(f'{mean:z.1f}' for mean in means)}")
    return Finding(holds, "; ".join(shown))


def relative_gain(claim: Claim, evidence: Evidence) -> Finding:
    """The first rival is the strongest at every ratio, and the mean relative gain over it is the figure, in percent."""
    named, gains, shown = claim.rivals[0], [], []
    best = [strongest(claim, evidence, ratio) for ratio in claim.ratios]
    for ratio, rival in zip(claim.ratios, best, strict=True):
        subject, other = (evidence.overall(claim, variant, ratio) for variant in (claim.subject, named))
        gains.append(100 * (subject / other - 1))
        stronger = f", strongest is {title_of(rival)}" if rival != named else ""
        points = f"{subject - other:z.2f} points over {title_of(named)}"
        shown.append(f"{percent(ratio)} {gains[-1]:z.2f} % or {points}{stronger}")
    agrees = abs(sum(gains) / len(gains) - claim.figures[0]) <= PRINTED_STEP
    return Finding(agrees and set(best) == {named}, "; ".join(shown))


def smallest_loss(claim: Claim, evidence: Evidence) -> Finding:
    """From the first to the last ratio the subject's Overall falls by less than any rival's."""
    loss = {}
    for variant in (claim.subject, *claim.rivals):
        first, last = (evidence.overall(claim, variant, ratio) for ratio in (claim.ratios[0], claim.ratios[-1]))
        loss[variant] = first - last
    order = sorted(loss, key=loss.__getitem__)
    shown = ", ".join(f"{title_of(variant)} {loss[variant]:z.1f}" for variant in order)
    return Finding(order[0] == claim.subject, f"points lost: {shown}")


def gain(claim: Claim, evidence: Evidence) -> Finding:
    """The subject's Overall is above the rival's by the figure at each ratio.

    Printed numbers must agree to the last decimal. Measured ones agree where the intervals contain the figures and
    exclude 0, disagree where one does not contain its figure, and are inconclusive otherwise.
    """
    gains, numbers = gains_of(claim, evidence)
    pairs = list(zip(gains, claim.figures, strict=True))
    if evidence.printed:
        return Finding(all(abs(gain.points - figure) <= PRINTED_STEP for gain, figure in pairs), numbers)
    if any(math.isnan(gain.low) for gain in gains):
        return Finding(None, numbers)
    if not all(gain.low <= figure <= gain.high for gain, figure in pairs):
        return Finding(False, numbers)
    return Finding(True if all(gain.low > 0 for gain in gains) else None, numbers)


def rising_gain(claim: Claim, evidence: Evidence) -> Finding:
    """The subject's Overall is above the rival's at each ratio, by a margin that rises from ratio to ratio."""
    found, numbers = gains_of(claim, evidence)
    rises = all(later.points > earlier.points for earlier, later in pairwise(found))
    return Finding(rises and found[0].points > TINY, numbers)


def cheaper(claim: Claim, evidence: Evidence) -> Finding:
    """The subject's pretraining takes less time than the rival's."""
    own, other = (evidence.seconds[variant] for variant in (claim.subject, claim.rivals[0]))
    shown = f"{title_of(claim.subject)} {own:z.0f} s, {title_of(claim.rivals[0])} {other:z.0f} s"
    return Finding(own < other, f"{shown}: {other / own:z.2f} times as long")


RULES: dict[str, Callable[[Claim, Evidence], Finding]] = {
    rule.__name__: rule
    for rule in (
        overall_above, best_cells, second_elsewhere, every_cell, mostly_above, lowest, rising, relative_gain,
        smallest_loss, gain, rising_gain, cheaper,
    )
}  # fmt: skip


def strongest(claim: Claim, evidence: Evidence, ratio: float) -> str:
    """The rival with the highest Overall."""
    return max(claim.rivals, key=lambda rival: evidence.overall(claim, rival, ratio))


def difference(claim: Claim, evidence: Evidence, rival: str, ratio: float) -> Difference:
    """Overall of the subject minus a rival's, in points."""
    return compare(evidence.by_dataset(claim, claim.subject, ratio), evidence.by_dataset(claim, rival, ratio))


def gains_of(claim: Claim, evidence: Evidence) -> tuple[list[Difference], str]:
    """The subject minus its only rival at each ratio, and the same as text."""
    found = [difference(claim, evidence, claim.rivals[0], ratio) for ratio in claim.ratios]
    shown = [f"{percent(ratio)} {interval(points)}" for ratio, points in zip(claim.ratios, found, strict=True)]
    return found, "; ".join(shown)


def count_above(claim: Claim, evidence: Evidence) -> tuple[int, int, str]:
    """Comparisons of a cell with a rival's: those the subject wins, all, and text with the significant ones."""
    cells = evidence.cells
    pairs = [(place, place._replace(variant=rival)) for rival in claim.rivals for place in claim.places(claim.subject)]
    differences = [compare([cells[place]], [cells[other]]) for place, other in pairs]
    above = [points for points in differences if points.points > TINY]
    significant = sum(points.p < ALPHA for points in above)
    against = sum(points.points < -TINY and points.p < ALPHA for points in differences)
    other_way = f", {against} the other way" if against else ""
    text = f"above in {len(above)} of {len(pairs)}, {significant} of them with p < {ALPHA:g}{other_way}"
    return len(above), len(pairs), text


def percent(ratio: float) -> str:
    """0.3 -> '30 %:'."""
    return f"{100 * ratio:g} %:"


def interval(found: Difference) -> str:
    """'+0.57 [-0.24, 1.38]', or the points alone for a single seed."""
    if math.isnan(found.low):
        return f"{found.points:+z.2f} (no interval: one seed)"
    return f"{found.points:+z.2f} [{found.low:z.2f}, {found.high:z.2f}]"
