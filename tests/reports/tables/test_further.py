"""Tables of texts: costs and classes, and their files."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.data.splits import absent_classes
from benchmark.results.metrics import METRICS, Lines
from benchmark.results.store import Predictions
from reports.load import load
from reports.results import Results, layouts
from reports.statistics.classes import Estimated, class_tables
from reports.statistics.table import statistics_of
from reports.tables.further import (
    COSTS_HEADER,
    Further,
    cost_files,
    cost_lines,
    further_files,
    shown,
)
from reports.tables.render import UPRIGHT
from reports.tables.table import make_table

NAN = float("nan")


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text)))


def card(**facts: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "parameters": 637_952, "encoder_parameters": 600_000, "encoder_multiplications": 71_400_000,
        "loss": [1.0, 0.5], "windows_per_epoch": 1_280, "batch_size": 128, "updates": 20,
        "encoder_passes": 10_240.0, "seconds": 90.4, "peak_memory_gib": 1.25,
        "precision": "bf16", "device": {"type": "cpu", "name": "x86_64", "threads": 2},
    }  # fmt: skip
    return known | facts


def test_costs_are_means_over_pretrainings_and_shared_encoders_stand_once() -> None:
    cards = {
        "random": {"a": {"parameters": 5, "loss": [], "seed": 41}},
        "pmq": {"b": card(), "c": card(seconds=110.4, peak_memory_gib=1.75)},
        "pmq:queue_size=1024": {"b": card(), "c": card()},
        "old": {"d": {name: value for name, value in card().items() if "encoder" not in name}},
        "untimed": {"e": card(seconds=None, updates=40)},
    }
    lines = cost_lines(cards, {"pmq": "PMQ", "old": "Old & slow"})
    assert [" ".join(line[:-1]) for line in lines] == [
        "PMQ 637,952 600,000 71 2 2,560 128 20 10,240 100 5,020.0 1.50",
        "Old & slow 637,952 – – 2 2,560 128 20 – 90 4,520.0 1.25",
        "untimed 637,952 600,000 71 4 5,120 128 40 10,240 – – 1.25",
    ]
    assert {line[-1] for line in lines} == {"x86_64, 2 threads, bf16"}
    files = cost_files(lines)
    header, first, *_ = csv.reader(StringIO(files["costs.csv"]))
    assert header == list(COSTS_HEADER)
    assert (first[:4], first[-1]) == (["PMQ", "637952", "600000", "71"], "x86_64, 2 threads, bf16")
    assert files["costs.md"].startswith("## Pretraining cost\n\nCost of each pretraining; ")
    assert "| PMQ " in files["costs.md"]
    assert r"Old \& slow & 637,952 & " in files["costs.tex"]
    assert cost_lines({"random": cards["random"]}, {}) == []


@pytest.fixture
def run(
    simulate_predictions: Callable[..., dict[tuple[int, int], Predictions]],
    scatter: Callable[..., object],
    write_predictions: Callable[..., Path],
) -> Results:
    design = {"patients": 60, "scatter": scatter(), "advantage": 1.5}
    found = simulate_predictions(np.random.default_rng(2), methods=12, seeds=2, **design)
    return load(write_predictions({(f"m{m}", "ptb-xl", 0.1, 41 + s): own for (m, s), own in found.items()}))


@pytest.mark.parametrize(
    ("found", "text"),
    [((0.812, 0.78, 0.8412), "81.2 (78.0 to 84.1)"), ((0.812, NAN, NAN), "81.2"), ((NAN, NAN, NAN), "–")],
)
def test_an_estimate_stands_with_what_is_known_of_it(found: tuple[float, float, float], text: str) -> None:
    assert shown(Estimated(*found, 5)) == text


def test_classes_have_a_line_per_row_in_parts_that_fit_a_page_of_latex(run: Results) -> None:
    found = Further(run.plan, class_tables(run, ["heartbeat"]))
    (table,) = found.by_class
    assert len(table.lines) == 4 * 12 > UPRIGHT.lines
    assert table.lines[0][0] == "class 1: M0"
    assert [line[1:4] for line in table.lines[::12]] == [
        (f"{part.lines}", f"{part.patients}", f"{100 * part.share:.1f}") for part in found.classes[0].parts
    ]
    files = further_files(found)
    assert list(files) == ["scores.md", "scores.tex", "classes.md", "classes.tex", "classes.csv"]
    assert files["classes.tex"].count(r"\label{tab:classes-finetune-heartbeat-ptb-xl-10-2}") == 1
    assert files["classes.md"].count("class 4: M11") == 1
    lines = rows_of(files["classes.csv"])
    assert len(lines) == 12 * (1 + 4) * 6
    assert {line["class"] for line in lines} == {"macro", "class 1", "class 2", "class 3", "class 4"}
    assert all(float(line["low"]) <= float(line["mean"]) <= float(line["high"]) for line in lines if line["low"])
    assert any(line["low"] for line in lines)


def test_further_columns_stand_in_the_main_table_and_leave_overall_alone(run: Results) -> None:
    plain, wider = (next(layouts(run.plan, "finetune", further)) for further in ((), ("auprc", "brier")))
    without, table = (make_table(run, own, "heartbeat", statistics_of(run, own, "heartbeat")) for own in (plain, wider))
    assert [column.metric for column in table.columns] == ["f1", "auroc", "acc", "auprc", "brier", "overall"]
    lines = table.blocks[0].lines
    assert [line.scores[-1].mean for line in lines] == [line.scores[-1].mean for line in without.blocks[0].lines]
    assert "Overall: mean of the 3 F1, AUROC and ACC columns." in table.caption
    assert "The lower the better: Brier." in table.caption
    for place, name, best in ((3, "auprc", max), (4, "brier", min)):
        means = [line.scores[place].mean for line in lines]
        cells = [cell.key for cell in run.plan.cells if cell.variant == "m0"]
        stored = [run.predictions(key) for key in cells]
        scores = [METRICS[name].of(Lines(own.truth, own.probability, False)) for own in stored]
        assert means[0] == pytest.approx(100 * np.mean(scores))
        marked = [mean for mean, line in zip(means, lines, strict=True) if line.scores[place].best]
        assert marked[0] == best(mean for mean in means if mean is not None)


@pytest.mark.parametrize("untested", [False, True])
def test_a_class_without_both_signs_has_dashes_and_is_named(run: Results, untested: bool) -> None:
    """Of the second class no test window is; the third is in all of them, as one of several labels."""
    if untested:
        for key in run.rows:
            row, own = run.stores[0].load_row(key), run.predictions(key)
            assert row
            own.truth[:, 1], own.truth[:, 2] = 0, 1
            notes = absent_classes(np.eye(4, dtype=np.int64)[:2], ["NORM", "MI", "CD", "HYP"]) if row.seed == 41 else ()
            run.stores[0].save_row(replace(row, notes=[*row.notes, *notes]), own)
    run = load(run.stores[0].root)
    (table,) = Further(run.plan, class_tables(run, ["heartbeat"])).by_class
    lacking = {"class 2", "class 3"} if untested else set()
    for line in table.lines:
        assert line[4:].count("–") == 6 * (line[0].partition(":")[0] in lacking)
    assert ("Dashes: every or no test heartbeat is of class 2, class 3." in table.caption) == untested
    assert ("Dashes:" in table.caption) == untested
    never = "Never seen in training, for want of a labelled window: CD, HYP (in 12 of 24 cells)"
    assert (never in table.caption) == ("Never seen" in table.caption) == untested
