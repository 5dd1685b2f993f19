"""The PMQ paper's claims as data (`paper_tables/claims.csv`), and what a claim is held against: measured cells.

A claim has our words for it, the lines of the paper's source, and the rule that judges it with that rule's rows.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from reports.paper.printed import DATASETS, METRICS, RATIOS, ROW_TITLES, Cells, Measured, Place

COST_RULE = "cheaper"
"""The one rule that reads seconds and no cells."""


@dataclass(frozen=True)
class Claim:
    """One claim of the paper in this suite's words, and how it is judged."""

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
    """Numbers that the claim names."""
    remark: str
    """What a reader must know of the paper's own evidence."""

    def places(self, variant: str) -> list[Place]:
        """The cells of a variant that the claim speaks of."""
        return [
            Place(variant, ratio, dataset, metric)
            for ratio in self.ratios
            for dataset in self.datasets
            for metric in self.metrics
        ]


@dataclass(frozen=True)
class Evidence:
    """What a claim is held against."""

    cells: Cells
    seconds: Mapping[str, float]
    """Variant -> seconds of its pretraining, of those that are comparable."""
    printed: bool
    """The numbers are those of the paper, rounded to one decimal."""

    def by_dataset(self, claim: Claim, variant: str, ratio: float) -> list[Measured]:
        """A variant's mean over the claim's metrics on each of its datasets: (datasets,).

        Its standard deviation is the mean of theirs, the most it can be: scores of one run rise and fall together.
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
        """Mean of a variant's cells of the claim at one ratio."""
        cells = self.by_dataset(claim, variant, ratio)
        return sum(cell.mean for cell in cells) / len(cells)

    def lacking(self, claim: Claim) -> tuple[str, ...]:
        """Rows of the claim that lack what its rule reads."""
        variants = dict.fromkeys([claim.subject, *claim.rivals])
        if claim.rule == COST_RULE:
            return tuple(variant for variant in variants if variant not in self.seconds)
        return tuple(v for v in variants if any(place not in self.cells for place in claim.places(v)))


def load_claims() -> list[Claim]:
    """The paper's claims, in the order of the file."""
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
    """As the tables print it."""
    return ROW_TITLES.get(variant, variant.replace("pmq:", "PMQ "))
