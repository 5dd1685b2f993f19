"""The PMQ paper's claims as data (`data/claims.csv`), and the evidence that judges them: printed or measured cells.

A claim has our wording, the lines of the paper's source, and the rule that judges it with that rule's rows.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from reports.paper.printed import DATASETS, METRICS, RATIOS, ROW_TITLES, Cells, Measured, Place

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
    """Name of a function in `reports.paper.rules`."""
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
        found = []
        for dataset in claim.datasets:
            cells = [self.cells[Place(variant, ratio, dataset, metric)] for metric in claim.metrics]
            stds = [cell.std for cell in cells if cell.std is not None]
            std = sum(stds) / len(stds) if len(stds) == len(cells) else None
            mean = sum(cell.mean for cell in cells) / len(cells)
            found.append(Measured(mean, std, min(cell.seeds for cell in cells)))
        return found

    def overall(self, claim: Claim, variant: str, ratio: float) -> float:
        """Mean of the claim's cells of a variant at one ratio, in percent."""
        cells = self.by_dataset(claim, variant, ratio)
        return sum(cell.mean for cell in cells) / len(cells)

    def lacking(self, claim: Claim) -> tuple[str, ...]:
        """Rows of the claim without the cells or seconds that its rule reads."""
        variants = dict.fromkeys([claim.subject, *claim.rivals])
        if claim.rule == COST_RULE:
            return tuple(variant for variant in variants if variant not in self.seconds)
        return tuple(v for v in variants if any(place not in self.cells for place in claim.places(v)))


def load_claims() -> list[Claim]:
    """The paper's claims, in file order."""
    text = resources.files("reports.paper").joinpath("data/claims.csv").read_text(encoding="utf-8")
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
    return tuple(part for part in text.split(";") if part)


def title_of(variant: str) -> str:
    """A row's title in the paper's tables."""
    return ROW_TITLES.get(variant, variant.replace("pmq:", "PMQ "))
