"""The figure of a budget: lines over updates of the methods that sweep it, levels of the rows that do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from benchmark.results.store import Plan
from reports import load
from reports.figures import style_of
from reports.gains import BUDGET
from reports.sweeps import budget_panels, budget_points

pytestmark = pytest.mark.draws
LINE = {"metric": "overall", "low": 0.4, "high": 0.9}


@pytest.fixture
def plan(write_store: Callable[..., Path]) -> Plan:
    plan = load(write_store()).plan
    roles = {}
    for method in ("moco", "pmq"):
        for epochs in (8, 32):
            roles[f"{method}:{epochs}"] = {
                "role": "sweep", "of": method, "hyperparameter": BUDGET, "value": epochs
            }  # fmt: skip
    roles["moco:queue"] = {"role": "sweep", "of": "moco", "hyperparameter": "queue_size", "value": 8}
    variants = plan.variants | dict.fromkeys(roles, "a row")
    return replace(plan, variants=variants, roles=plan.roles | roles)


@pytest.fixture
def swept() -> pd.DataFrame:
    rows = {"moco:8": 0.5, "moco:32": 0.6, "pmq:8": 0.55, "pmq:32": 0.7, "moco:queue": 0.1}
    return pd.DataFrame([{"ratio": 0.1, "variant": row, "mean": mean, **LINE} for row, mean in rows.items()])


UPDATES = {"moco:8": 100, "moco:32": 400, "pmq:8": 90, "pmq:32": 360, "moco:queue": 100}


def test_a_line_has_the_mean_updates_of_its_pretrainings(plan: Plan, swept: pd.DataFrame) -> None:
    records = {row: {"a": {"updates": count - 10}, "b": {"updates": count + 10}} for row, count in UPDATES.items()}
    points = budget_points(swept, records, plan).sort_values(["method", "updates"])
    assert points[["method", "updates", "mean"]].to_numpy().tolist() == [
        ["moco", 100, 0.5], ["moco", 400, 0.6], ["pmq", 90, 0.55], ["pmq", 360, 0.7]
    ]  # fmt: skip


def test_the_untrained_encoder_is_a_level_beside_the_lines_of_methods(plan: Plan, swept: pd.DataFrame) -> None:
    points = budget_points(swept, {row: {"a": {"updates": count}} for row, count in UPDATES.items()}, plan)
    levels = pd.DataFrame([{"ratio": 0.1, "variant": row, "mean": 0.3, **LINE} for row in ("random", "moco")])
    style = style_of(plan)
    canvas = budget_panels(points, levels, style)
    (panel,) = canvas.subfigs[0].axes
    lines = {line.get_color(): (list(line.get_xdata()), list(line.get_ydata())) for line in panel.lines}
    assert lines[style.looks["pmq"].hue] == ([90, 360], pytest.approx([55, 70]))
    assert lines[style.looks["moco"].hue] == ([100, 400], pytest.approx([50, 60]))
    assert lines[style.looks["random"].hue][1] == pytest.approx([30, 30])
    assert panel.get_xscale() == "log"
