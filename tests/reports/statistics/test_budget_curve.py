"""A budget curve: snapshots in order of their epochs, their scores, and the costs on their cards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reports.runs.run import Run, open_run
from reports.statistics.bands import BAND, bands
from reports.statistics.budget_curve import COSTS, BudgetCurve, budget_curves, costs_of


def curves(run: Run, evaluation: str = "finetune") -> list[BudgetCurve]:
    return list(budget_curves(run, bands(run.tidy, evaluation, "heartbeat")))


def test_a_curve_has_a_point_per_snapshot_and_dataset_with_what_its_pretraining_cost(budget_store: Path) -> None:
    (curve,) = curves(open_run(budget_store))
    points = curve.points[curve.points["dataset"] == "chapman"]
    assert points["variant"].tolist() == ["pmq@0.5", "pmq@2"]
    assert points["epochs"].tolist() == [0.5, 2.0]
    assert points[list(COSTS)].to_numpy().tolist() == [[1000, 4000, 10], [4000, 16000, 40]]
    assert points["mean"].tolist() == pytest.approx([45.0, 55.04])
    assert curve.points.columns.tolist() == [*BAND, "of", "epochs", *COSTS]
    assert set(curve.points["dataset"]) == {"ptb-xl", "chapman", "overall"}
    assert COSTS == ("windows", "passes", "seconds")
    assert (curve.ratio, curve.machine) == (0.01, "x86_64, 2 threads, float32")


def test_a_run_without_snapshots_or_with_one_has_no_curve(budget_store: Path) -> None:
    run = open_run(budget_store)
    assert curves(run, "linear") == []
    one = replace(run, plan=replace(run.plan, variants={k: v for k, v in run.plan.variants.items() if k != "pmq@2"}))
    assert curves(one) == []
    assert curves(replace(run, plan=replace(run.plan, roles={}))) == []


def test_a_method_with_one_snapshot_stands_beside_those_with_more(budget_store: Path) -> None:
    run = open_run(budget_store)
    roles = run.plan.roles | {"random": run.plan.roles["pmq@2"] | {"of": "random", "value": 1}}
    (curve,) = curves(replace(run, plan=replace(run.plan, roles=roles)))
    assert list(dict.fromkeys(curve.points["variant"])) == ["random", "pmq@0.5", "pmq@2"]


def test_a_value_that_is_no_number_is_left_out(budget_store: Path) -> None:
    run = open_run(budget_store)
    roles = {name: facts | {"value": "much"} for name, facts in run.plan.roles.items()}
    assert curves(replace(run, plan=replace(run.plan, roles=roles))) == []


def test_costs_that_no_card_says_are_not_known() -> None:
    assert costs_of([]) == {"windows": None, "passes": None}
    assert costs_of([{"updates": 2, "batch_size": 8}]) == {"windows": 16, "passes": None}
