"""Figures: which a run has data for, what they show, and that the same run gives the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.lines import Line2D

from benchmark.results.store import Plan
from reports import load
from reports.figures import draw_figures, look_of
from tests.reports.conftest import write_record

pytestmark = pytest.mark.draws
RETRIEVED = ["variant", "dataset", "metric", "mean", "low", "high"]
SWEEP = {"role": "sweep", "of": "pmq", "hyperparameter": "queue_size"}


def with_sweep(plan: Plan) -> Plan:
    roles = {"moco": SWEEP | {"value": 1024}, "pmq:w/o mask_t": SWEEP | {"value": 256}}
    return replace(plan, roles=roles)


def differences() -> pd.DataFrame:
    columns = ["ratio", "reference", "variant", "difference", "low_holm", "high_holm", "significant"]
    rows = [("moco", 0.1, -0.05, 0.2, False), ("pmq", 0.1, 0.02, 0.2, True)]
    return pd.DataFrame([(ratio, "random", *row) for ratio in (0.3, 0.01) for row in rows], columns=columns)


def test_every_kind_of_figure_is_drawn_once_and_alike(write_store: Callable[..., Path], tmp_path: Path) -> None:
    root = write_store(complete=True, alter_plan=with_sweep)
    for variant in ("random", "pmq"):
        health = [{"epoch": epoch, "effective_rank": 3.0 + epoch, "retrieval": 0.1 * epoch} for epoch in range(3)]
        write_record(root, variant, seed=42, loss=[3.0, 2.0], health=health)
    of_tables = {("finetune", "heartbeat"): differences(), ("linear", "heartbeat"): differences()[:0]}
    where = [("ptb-xl", "recall@1"), ("ptb-xl", "recall@5"), ("chapman", "recall@1"), ("", "overall")]
    points = pd.DataFrame([("pmq", *one, 0.6, 0.5, 0.9) for one in where], columns=RETRIEVED)
    of_run = load(root), ["heartbeat"], of_tables, points
    figures, again = (list(draw_figures(of_run[0], tmp_path / name, *of_run[1:])) for name in "ab")
    names = [figure.png.stem for figure in figures]
    assert names == [
        "finetune-heartbeat-differences-30", "finetune-heartbeat-differences-1", "finetune-heartbeat-label-efficiency",
        "finetune-heartbeat-pmq-queue-size", "identifiability", "training",
    ]  # fmt: skip
    assert [figure.answers for figure in figures] == [True, True] + 4 * [False]
    assert "per heartbeat, seeds 41, 42. Lines: 95 % intervals, adjusted by Holm" in figures[0].caption
    for one, other in zip(figures, again, strict=True):
        for suffix in (".png", ".pdf"):
            assert one.png.with_suffix(suffix).read_bytes() == other.png.with_suffix(suffix).read_bytes()


def test_a_row_looks_the_same_in_every_figure_and_readers_of_reports_are_marked(store_root: Path) -> None:
    plan = load(store_root).plan
    more = plan.variants | {f"m{number}": f"M{number}" for number in range(10)}
    look = look_of(replace(plan, variants=more, roles={"moco": {"role": "method", "reads_reports": True}}))
    assert list(look.palette)[:2] == list(look.markers)[:2] == ["Random", "MoCo (reads reports)"]
    assert len(set(look.markers.values()) & set(Line2D.filled_markers)) == len(more) == 14
    assert len(set(look.palette.values())) == 10
