"""Scores of a finished arm with their intervals, by the statistics of the reports.

The score is the macro AUROC per recording on one dataset, at one label ratio, over the arm's seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from benchmark.results.names import FEATURES, RECORDING
from benchmark.verbs.answers.answer import Finding, Ran
from reports.statistics.columns import ScoreColumn, score_columns
from reports.statistics.interval import LEVEL, Estimate, estimate
from reports.statistics.pairwise import holm
from reports.statistics.test_set import Floats

METRIC = "auroc"
CHANCE = 0.5
RESAMPLES = 1000


def column_of(ran: Ran, evaluation: str = "linear", *, resamples: int = RESAMPLES) -> ScoreColumn:
    """The AUROC of an arm's rows in one evaluation's table, on its first dataset and label ratio."""
    cells = [cell for cell in ran.run.plan.cells if cell.evaluation == evaluation]
    cells = [cell for cell in cells if (cell.dataset, cell.ratio) == (cells[0].dataset, cells[0].ratio)]
    return score_columns(ran.run, cells, RECORDING, metrics=[METRIC], resamples=resamples)[0]


def scores_of(column: ScoreColumn, variant: str) -> Floats:
    """Scores of a row, (S, 1+R)."""
    scores: Floats = column.scores[column.variants.index(variant)]  # (S, 1+R)
    return scores


def score(column: ScoreColumn, variant: str) -> Estimate:
    """A row's mean over seeds."""
    return estimate(scores_of(column, variant), column.patients)


def difference(column: ScoreColumn, first: str, second: str) -> Estimate:
    """First row minus second of one column, paired by test patient and seed."""
    return estimate(scores_of(column, first) - scores_of(column, second), column.patients)


def at_chance(columns: Mapping[str, ScoreColumn]) -> list[Finding]:
    """One finding per row of the columns, given by table: its AUROC may not differ from .5 (Holm over all rows).

    The boosted features are the same cells in every table of a run and count once.
    """
    rows: list[tuple[str, ScoreColumn, str]] = []
    for table, column in columns.items():
        told = [scores_of(earlier, FEATURES) for _, earlier, variant in rows if variant == FEATURES]
        for variant in column.variants:
            if variant != FEATURES or not any(np.array_equal(scores_of(column, variant), scores) for scores in told):
                rows.append((f"{variant}, {table}", column, variant))
    p = holm(np.array([estimate(scores_of(column, name) - CHANCE, column.patients).p for _, column, name in rows]))
    wanted = f"0.500: p of at least {LEVEL:g} (Holm, {len(rows)} rows)"
    return [
        Finding(what, f"{shown(score(column, name))}, p = {own:.2f}", wanted, bool(own >= LEVEL))
        for (what, column, name), own in zip(rows, p, strict=True)
    ]


def ahead(name: str, found: Estimate) -> Finding:
    """A difference whose interval must lie above zero."""
    return Finding(name, shown(found, signed=True), "interval above 0", bool(found.low > 0))


def shown(found: Estimate, *, signed: bool = False) -> str:
    """'0.512 (0.480 to 0.544)'."""
    sign = "+" if signed else ""
    return f"{found.mean:{sign}.3f} ({found.low:{sign}.3f} to {found.high:{sign}.3f})"


def apart(one: Estimate, other: Estimate) -> Estimate:
    """One estimate minus another of other test patients: a normal interval from both standard errors."""
    mean, error = one.mean - other.mean, float(np.hypot(standard_error(one), standard_error(other)))
    return Estimate(mean, mean - 1.96 * error, mean + 1.96 * error, np.nan, error, np.nan, one.seeds, np.nan)


def mean_of(found: Sequence[Estimate]) -> Estimate:
    """Mean of estimates of different test patients: a normal interval from their standard errors."""
    mean = float(np.mean([one.mean for one in found]))
    error = float(np.sqrt(np.sum([standard_error(one) ** 2 for one in found]))) / len(found)
    return Estimate(mean, mean - 1.96 * error, mean + 1.96 * error, np.nan, error, np.nan, found[0].seeds, np.nan)


def standard_error(found: Estimate) -> float:
    """Standard error of an estimate from its two parts."""
    return float(np.hypot(found.patients_se, np.nan_to_num(found.seeds_se)))


def paired(one: tuple[ScoreColumn, str], other: tuple[ScoreColumn, str]) -> Estimate:
    """A row of one arm minus a row of another with the same test patients, paired by patient and seed."""
    (column, row), (second, second_row) = one, other
    assert column.patients == second.patients, "arms with other test patients cannot be paired"
    return estimate(scores_of(column, row) - scores_of(second, second_row), column.patients)
