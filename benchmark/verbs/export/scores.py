"""The scores of one encoder as a model card prints them: intervals, and differences from the untrained encoder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from benchmark.results.metrics import TITLES
from benchmark.results.names import EVALUATION_TITLES, UNIT_OF_PROTOCOL, UNTRAINED, name_on, name_on_any
from benchmark.results.plan import PlannedCell
from benchmark.results.store import CorruptRow
from benchmark.verbs.export.find import Found, of_row
from reports.runs.planned_tables import evaluations_of, role_of
from reports.statistics.columns import UnequalTestSets, score_columns
from reports.statistics.pairwise import intervals, pairwise
from reports.tables.captions import ratio_text, unit_text


@dataclass(frozen=True)
class Scores:
    """The table of an evaluation."""

    title: str
    lines: tuple[tuple[str, ...], ...]
    """`HEADER`."""
    seeds: int
    problem: str = ""
    """Why there is no line."""


HEADER = ("labels", "dataset", "score", "mean", "95 % interval", "minus untrained")


def scores_of(found: Found) -> list[Scores]:
    """One table per evaluation, in percent, from the stored predictions of the encoder's cells."""
    return [_of_evaluation(found, evaluation) for evaluation in evaluations_of(found.run.plan)]


def _of_evaluation(found: Found, evaluation: str) -> Scores:
    run, unit = found.run, UNIT_OF_PROTOCOL[found.run.plan.config["protocol"]]
    title = f"{EVALUATION_TITLES.get(evaluation, evaluation)}, scored per {unit_text(run.plan, unit)}"
    own = [cell for cell in found.cells if cell.evaluation == evaluation]
    if not own:
        return Scores(title, (), 0, "no cell of it is finished")
    untrained = untrained_on(found)
    beside = _untrained(found, untrained, own)
    try:
        columns = score_columns(run, [*own, *beside], unit)
    except (UnequalTestSets, CorruptRow) as problem:
        return Scores(title, (), 0, str(problem))
    told = intervals(columns)
    told = told[told["variant"] == found.variant]
    pairs = pairwise(columns, {(found.variant, untrained)}) if beside else pd.DataFrame()
    return Scores(title, tuple(_lines(found, evaluation, told, pairs)), len({cell.seed for cell in own}))


def untrained_on(found: Found) -> str:
    """The row of the untrained encoder of the same kind."""
    role = role_of(found.run.plan, found.variant)
    encoder = str(role.get("encoder", ""))
    return UNTRAINED if name_on_any(found.variant, encoder) == found.variant else name_on(UNTRAINED, encoder)


def _untrained(found: Found, untrained: str, own: list[PlannedCell]) -> list[PlannedCell]:
    """The cells of the untrained encoder where the encoder's own are."""
    if found.variant == untrained:
        return []
    places = {(cell.evaluation, cell.dataset, cell.ratio, cell.seed) for cell in own}
    cells = of_row(found.run, untrained)
    return [cell for cell in cells if (cell.evaluation, cell.dataset, cell.ratio, cell.seed) in places]


def _lines(found: Found, evaluation: str, told: pd.DataFrame, pairs: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    differences = {
        (line["ratio"], line["dataset"], line["metric"]): _interval(line["difference"], line["low"], line["high"], "+")
        for line in pairs.to_dict("records")
    }
    for line in told.to_dict("records"):
        dataset = found.run.plan.datasets.get(line["dataset"], {})
        yield (
            ratio_text(line["ratio"], evaluation),
            str(dataset.get("title", line["dataset"])) or "all",
            TITLES[line["metric"]],
            _percent(line["mean"]),
            _interval(None, line["low"], line["high"]),
            differences.get((line["ratio"], line["dataset"], line["metric"]), "–"),
        )


def _percent(value: float, sign: str = "") -> str:
    return "–" if pd.isna(value) else f"{100 * value:{sign}.1f}"


def _interval(mean: float | None, low: float, high: float, sign: str = "") -> str:
    """'+3.1 [+1.0, +5.2]'; without a mean the interval alone."""
    inner = "–" if pd.isna(low) else f"[{_percent(low, sign)}, {_percent(high, sign)}]"
    return inner if mean is None else f"{_percent(mean, sign)} {inner}"
