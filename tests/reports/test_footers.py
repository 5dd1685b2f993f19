"""Caption and footers of a table are true of what was run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from benchmark.results.names import LEADS
from reports import load
from reports.footers import about_headline, about_scores, footers
from reports.inference import TableStatistics
from reports.layouts import layouts
from reports.results import Run


def footers_of(results: Run, statistics: TableStatistics | None = None) -> list[str]:
    (layout,) = layouts(results.plan, "finetune")
    return footers(results, layout, "heartbeat", statistics or TableStatistics())


def test_a_caption_is_made_of_what_was_run(store_root: Path) -> None:
    results = load(store_root)
    (layout,) = layouts(results.plan, "finetune")
    text = about_scores(results, layout)
    assert "seeds 41, 42." in text
    assert about_headline(layout, TableStatistics().intervals) == "Overall: mean of the 6 columns."
    assert text.endswith("Simulated ECGs: no ranking of methods follows.")
    assert "A config's own words." not in text


def test_footers_name_what_was_not_scored(store_root: Path) -> None:
    results = load(store_root)
    lines = footers_of(replace(results, plan=replace(results.plan, warnings=["test recordings were trained on"])))
    assert lines[0] == "Cells: 29 of 32 finished, 1 failed, 2 not run; commit 0123456789ab."
    assert lines[1].startswith(
        "Scored per heartbeat; protocol paper, preset unified, single labels. Data: PTB-XL (simulated), Chapman (real)"
    )
    assert "Warning: test recordings were trained on." in lines
    counted = {"recordings": 100, "left_out": {"several labels": 40, "no label": 3}}
    datasets = results.plan.datasets | {"chapman": results.plan.datasets["chapman"] | counted}
    of_plan = footers_of(replace(results, plan=replace(results.plan, datasets=datasets)))
    assert "Left out of Chapman: of 100 recordings 40 with several labels and 3 with no label." in of_plan
    assert "Failed: PMQ (Chapman, 1 %, seed 42): RuntimeError: the loss is not finite" in lines
    assert "Test patients: PTB-XL 2, Chapman 2. Without a scored recording: PTB-XL HYP 3 of 4." in lines


def test_a_footer_names_how_signals_are_taken_where_it_is_not_as_in_the_paper(store_root: Path) -> None:
    results = load(store_root)
    paper = {"labels": "single", "rate": 250, "standardise": "recording", "pool": "mean", "leads": list(LEADS)}

    def settings(**changes: object) -> str:
        config = results.plan.config | {"data": paper | changes}
        return footers_of(replace(results, plan=replace(results.plan, config=config)))[1]

    assert footers_of(replace(results, rows={}, failures={}))[0] == "Cells: 0 of 32 finished, 32 not run."
    assert "Signals" not in settings(segmentation={"kind": "heartbeats"})
    crops = {"kind": "recordings", "seconds": 2.5, "stride": None}
    assert settings(rate=100, pool="max", leads=["I", "II"], segmentation=crops).endswith(
        ". Signals: rate 100, pool max, leads I II, crops of 2.5 s every 1.25 s."
    )
    assert settings(segmentation=crops | {"stride": 2}).startswith("Scored per window; ")


def test_limits_state_what_a_mark_means(store_root: Path) -> None:
    results = load(store_root)
    column = {"ratio": 0.3, "dataset": "", "metric": "overall", "seeds": 2}
    detectable = {
        "detectable": 0.05,
        "detectable_2x": 0.04,
        "detectable_4x": 0.03,
        "patients_se": 0.03,
        "seeds_se": 0.04,
    }
    statistics = TableStatistics(pairs=pd.DataFrame([column | detectable]))
    *_, mark, last = footers_of(results, statistics)
    assert "within 5 points" in mark
    assert "2 seeds on 1 labelled subset" in mark
    assert [number in last for number in ("5.0 points", "within 2 points", "0.68 points", "5.00")] == [True] * 4
    strict = replace(results, plan=replace(results.plan, config=results.plan.config | {"protocol": "strict"}))
    last = footers_of(strict, statistics)[-1]
    numbers = ("5.0 points", "twice the pretrainings 4.0", "four times 3.0", "within 1 point", "0.34 points")
    assert [number in last for number in numbers] == [True] * 5
