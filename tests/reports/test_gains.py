"""Gains of a longer pretraining: differences of the swept scores, and their differences between methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmark.results.store import Store
from reports import load
from reports.build import build_report
from reports.gains import BUDGET, budget_gains
from reports.results import Run

from .conftest import Scatter, simulated_predictions

SEEDS = (41, 42, 43)
LENGTHS = {"moco:8": 8, "moco:32": 32, "pmq:8": 8, "pmq:32": 32}


@pytest.fixture
def swept(write_predictions: Callable[..., Path]) -> Run:
    """A run whose first row is the best: MoCo at eight epochs, which loses by a longer pretraining."""
    design = {"methods": 4, "seeds": 3, "patients": 60, "scatter": Scatter(), "advantage": 2.0}
    simulated = simulated_predictions(np.random.default_rng(0), **design)
    predictions = {}
    for (method, seed), outputs in simulated.items():
        row = list(LENGTHS)[method]
        predictions[row, "ptb-xl", 0.1, SEEDS[seed]] = outputs
        if row.endswith(":8"):
            predictions[row.removesuffix(":8"), "ptb-xl", 0.1, SEEDS[seed]] = outputs
    root = write_predictions(predictions, protocol="strict")
    plan = load(root).plan
    roles = {}
    for row, epochs in LENGTHS.items():
        roles[row] = {"role": "sweep", "of": row.partition(":")[0], "hyperparameter": BUDGET, "value": epochs}
    Store(root).save_plan(replace(plan, roles=roles))
    return load(root)


def test_a_gain_is_the_difference_of_the_swept_means(swept: Run, tmp_path: Path) -> None:
    build_report(swept, tmp_path)
    intervals = pd.read_csv(tmp_path / "intervals.csv").query("metric == 'overall' and table.str.contains('epochs')")
    means = intervals.set_index("variant")["mean"]
    gains = pd.read_csv(tmp_path / "gains.csv").fillna({"second": ""}).set_index(["first", "second"])["difference"]
    expected = {method: means[f"{method}:32"] - means[f"{method}:8"] for method in ("moco", "pmq")}
    assert gains["moco", ""] == pytest.approx(expected["moco"], abs=1e-5)
    assert gains["pmq", ""] == pytest.approx(expected["pmq"], abs=1e-5)
    assert gains["moco", "pmq"] == pytest.approx(expected["moco"] - expected["pmq"], abs=1e-5)


def test_a_method_that_loses_is_told_from_one_that_stays(swept: Run) -> None:
    gains = budget_gains(swept, "recording").set_index(["first", "second"])
    assert gains["high"]["moco", ""] < 0
    assert gains["low"]["pmq", ""] < 0 < gains["high"]["pmq", ""]
    assert gains["high_holm"]["moco", "pmq"] < 0
    assert gains["p_holm"]["moco", "pmq"] < 0.05


def test_lengths_that_are_not_computed_yet_have_no_gain(swept: Run) -> None:
    rows = {key: row for key, row in swept.rows.items() if row.variant != "pmq:32"}
    gains = budget_gains(replace(swept, rows=rows), "recording")
    assert gains[["first", "second"]].to_numpy().tolist() == [["moco", ""]]
    rows = {key: row for key, row in rows.items() if row.variant != "moco:32"}
    assert budget_gains(replace(swept, rows=rows), "recording").empty


def test_one_method_alone_has_no_gains(swept: Run) -> None:
    cells = [cell for cell in swept.plan.cells if cell.variant.startswith("pmq")]
    assert budget_gains(replace(swept, plan=replace(swept.plan, cells=cells)), "recording").empty
