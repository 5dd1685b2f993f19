"""What curves are drawn from: macro F1 over seeds, and the scores of snapshots against the cost of their pretraining.

A band is the mean over seeds ± one standard deviation (ddof = 1), as in the tables. Overall is the mean over the
datasets of each seed, then over seeds. Costs are pairs of windows, encoder passes and seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from benchmark.results.names import OVERALL, SNAPSHOT
from reports.runs import Card, Run, costs, role_of

METRIC = "f1"
BAND = ("variant", "ratio", "dataset", "mean", "std", "seeds")


def bands(frame: pd.DataFrame, evaluation: str, unit: str) -> pd.DataFrame:
    """Mean and deviation over seeds of macro F1, in percent, with the columns `BAND`.

    frame: `Run.tidy`. Seeds without a score are left out; a single seed's deviation is NaN. Overall is over the seeds
    with a score on every dataset that any row has one on, and is left out for a single dataset.
    """
    own = (frame["evaluation"] == evaluation) & (frame["unit"] == unit) & (frame["metric"] == METRIC)
    scored = frame[own & frame["value"].notna()]
    scored = scored.assign(value=100 * scored["value"])
    by_dataset = scored.groupby(["variant", "ratio", "dataset"], sort=False)["value"].agg(["mean", "std", "count"])
    datasets = scored["dataset"].nunique()
    by_seed = scored.groupby(["variant", "ratio", "seed"], sort=False)["value"].agg(["mean", "count"])
    whole = by_seed.loc[by_seed["count"] == datasets, "mean"]
    overall = whole.groupby(["variant", "ratio"], sort=False).agg(["mean", "std", "count"])
    parts = [by_dataset.reset_index()]
    if datasets > 1:
        parts.append(overall.reset_index().assign(dataset=OVERALL))
    return pd.concat(parts, ignore_index=True).rename(columns={"count": "seeds"})[list(BAND)]


WINDOWS, PASSES, SECONDS = COSTS = ("windows", "passes", "seconds")
"""Columns of costs: pairs of windows, encoder passes, seconds on one machine; NaN where not known."""


@dataclass(frozen=True)
class BudgetCurve:
    """The snapshots of all methods at one label ratio."""

    ratio: float
    points: pd.DataFrame
    """`BAND`, the method `of`, `epochs` and `COSTS`; a line per snapshot and dataset, by method, then epochs."""
    machine: str
    """Where the seconds were measured."""


def budget_curves(run: Run, found: pd.DataFrame) -> Iterator[BudgetCurve]:
    """A curve per label ratio at which a method has two scored snapshots; found: `bands` of the run."""
    spent = costs({name: cards for name, cards in run.cards.items() if role_of(run.plan, name)["role"] == SNAPSHOT})
    facts: dict[str, dict[str, Any]] = {}
    for name in run.plan.variants:
        role = role_of(run.plan, name)
        if role["role"] == SNAPSHOT and isinstance(role["value"], int | float):
            own = costs_of(list(run.cards.get(name, {}).values()))
            facts[name] = {"of": role["of"], "epochs": role["value"], SECONDS: spent.seconds.get(name)} | own
    methods = list(dict.fromkeys(own["of"] for own in facts.values()))
    points = found[found["variant"].isin(list(facts))]
    for ratio in sorted(points["ratio"].unique()):
        at_ratio = points[points["ratio"] == ratio]
        columns = {name: [facts[variant][name] for variant in at_ratio["variant"]] for name in ("of", "epochs", *COSTS)}
        curve = at_ratio[list(BAND)].assign(**columns).astype(dict.fromkeys(("epochs", *COSTS), float))
        if curve.groupby("of")["variant"].nunique().max() > 1:
            by = {"of": lambda column: column.map(methods.index), "epochs": lambda column: column}
            ordered = curve.sort_values(
                ["of", "epochs"], key=lambda column: by[str(column.name)](column), kind="stable"
            )
            yield BudgetCurve(float(ratio), ordered.reset_index(drop=True), spent.machine)


def costs_of(cards: Sequence[Card]) -> dict[str, float | None]:
    """Mean pairs of windows and encoder passes of some pretrainings; None where a card does not say."""
    trained = [card for card in cards if "updates" in card and "batch_size" in card]
    seen = [card["updates"] * card["batch_size"] for card in trained]
    passes = [card["encoder_passes"] for card in trained if "encoder_passes" in card]
    return {name: sum(own) / len(own) if own else None for name, own in ((WINDOWS, seen), (PASSES, passes))}
