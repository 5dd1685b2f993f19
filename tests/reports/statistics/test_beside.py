"""Presets beside a method's own setting: differences within the method alone, one family of tests per column."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.results.names import OVERALL
from benchmark.results.rows import Predictions
from benchmark.results.store import Store
from reports.runs.kept import kept_in
from reports.runs.planned_tables import layouts
from reports.runs.run import Run, open_run
from reports.statistics import beside as room
from reports.statistics.beside import SAME, beside
from reports.statistics.of_table import statistics_of
from reports.statistics.pairwise import holm

ROWS = ("pmq", "pmq@paper", "pmq@tuned", "moco", "moco@tuned")
Simulate = Callable[..., dict[tuple[int, int], Predictions]]


def facts(name: str) -> dict[str, object]:
    method, at, preset = name.partition("@")
    if not at:
        return {"role": "method", "of": "", "knob": "", "value": None}
    return {"role": "preset", "of": method, "knob": "pretrain.preset", "value": preset}


@pytest.fixture
def run(simulate_predictions: Simulate, write_predictions: Callable[..., Path], scatter: Callable[..., object]) -> Run:
    """PMQ under paper and tuned, MoCo under tuned; pmq@tuned is better, moco@tuned has MoCo's own cells."""
    found = simulate_predictions(
        np.random.default_rng(0), methods=4, seeds=3, patients=150, scatter=scatter(), advantage=1.0
    )
    of_method = {"pmq@tuned": 0, "pmq": 1, "pmq@paper": 2, "moco": 3}
    places = {
        (name, "ptb-xl", 0.1, seed): found[number, seed] for name, number in of_method.items() for seed in range(3)
    }
    root = write_predictions(places)
    store = Store(root)
    plan = store.load_plan()
    same = [replace(cell, variant="moco@tuned") for cell in plan.cells if cell.variant == "moco"]
    roles = {name: facts(name) for name in ROWS}
    store.save_plan(
        replace(plan, key="presets", roles=roles, variants={name: name for name in ROWS}, cells=[*plan.cells, *same])
    )
    return open_run(root, "presets")


def test_each_preset_is_held_against_its_method_alone(run: Run) -> None:
    found = {(line.of, line.preset): line for line in beside(run, "finetune", "recording") if line.metric == OVERALL}
    assert list(found) == [("pmq", "paper"), ("pmq", "tuned"), ("moco", "tuned")]
    tuned, paper = found["pmq", "tuned"], found["pmq", "paper"]
    assert tuned.difference == pytest.approx(tuned.mean - tuned.own)
    assert tuned.low < tuned.difference < tuned.high
    assert tuned.p_holm < 0.05 < paper.p_holm
    assert tuned.own == paper.own


def test_the_family_is_the_differences_and_not_all_pairs(run: Run) -> None:
    lines = [line for line in beside(run, "finetune", "recording") if line.metric == OVERALL and line.remark != SAME]
    assert [line.p_holm for line in lines] == holm(np.array([line.p for line in lines])).tolist()
    (layout,) = layouts(run.plan, "finetune")
    assert layout.variants == ("pmq", "moco"), "rows of presets are in no other table"
    scores = statistics_of(run, layout, "recording").frames["intervals"]
    own = scores[(scores["metric"] == OVERALL) & (scores["variant"] == "pmq")]["mean"]
    assert own.tolist() == pytest.approx([lines[0].own]), "the same Overall as in the main table"


def test_equal_settings_are_not_tested(run: Run) -> None:
    (line, *_) = [line for line in beside(run, "finetune", "recording") if line.of == "moco"]
    assert line.remark == SAME
    assert line.own == line.mean
    assert math.isnan(line.p_holm)


def test_a_run_without_presets_has_none(run: Run) -> None:
    assert beside(replace(run, plan=replace(run.plan, roles={})), "finetune", "recording") == []
    assert beside(run, "linear", "recording") == []
    astray = {name: role | {"of": "byol"} for name, role in run.plan.roles.items()}
    assert beside(replace(run, plan=replace(run.plan, roles=astray)), "finetune", "recording") == []


def test_what_was_worked_out_is_used_again(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = kept_in(tmp_path, run)
    first = beside(run, "finetune", "recording", kept)
    monkeypatch.setattr(room, "columns_at", None)
    again = beside(run, "finetune", "recording", kept)
    assert repr(again) == repr(first), "NaN included"
