"""Presets beside a method's own settings."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.results.names import OVERALL
from benchmark.results.store import Predictions, Store
from reports.runs import Run, kept_in, layouts, open_run
from reports.statistics import presets as room
from reports.statistics.estimates import holm
from reports.statistics.presets import SAME, beside
from reports.statistics.table import statistics_of

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


def test_each_preset_is_held_against_its_method_alone(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = kept_in(tmp_path, run)
    lines = beside(run, "finetune", "recording", kept)
    found = {(line.of, line.preset): line for line in lines if line.metric == OVERALL}
    assert list(found) == [("pmq", "paper"), ("pmq", "tuned"), ("moco", "tuned")]
    paper, tuned, same = found.values()
    assert tuned.difference == pytest.approx(tuned.mean - tuned.own)
    assert tuned.low < tuned.difference < tuned.high
    assert tuned.p_holm < 0.05 < paper.p_holm
    assert [paper.p_holm, tuned.p_holm] == holm(np.array([paper.p, tuned.p])).tolist(), "a family, not all pairs"
    assert (same.remark, same.own, math.isnan(same.p_holm)) == (SAME, same.mean, True)
    (layout,) = layouts(run.plan, "finetune")
    assert layout.variants == ("pmq", "moco"), "rows of presets are in no other table"
    scores = statistics_of(run, layout, "recording").frames["intervals"]
    own = scores[(scores["metric"] == OVERALL) & (scores["variant"] == "pmq")]["mean"]
    assert own.tolist() == pytest.approx([tuned.own]) == [paper.own], "the same Overall as in the main table"
    assert beside(run, "linear", "recording") == []
    for roles in ({}, {name: role | {"of": "byol"} for name, role in run.plan.roles.items()}):
        assert beside(replace(run, plan=replace(run.plan, roles=roles)), "finetune", "recording") == []
    monkeypatch.setattr(room, "columns_at", None)
    assert repr(beside(run, "finetune", "recording", kept)) == repr(lines), "kept, NaN included"
