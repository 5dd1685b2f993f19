"""The tables of further scores as texts and files, and further columns of the main table."""

from __future__ import annotations

import csv
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from benchmark.results.metrics import METRICS
from benchmark.results.rows import Predictions
from benchmark.results.scoring.lines import Lines
from reports.runs.planned_tables import layouts
from reports.runs.run import Run, open_run
from reports.statistics.further.classes import class_tables
from reports.statistics.further.lines import Estimated
from reports.statistics.further.subgroups import subgroup_tables
from reports.statistics.of_table import statistics_of
from reports.tables.further.classes import shown
from reports.tables.further.subgroups import UNKNOWN
from reports.tables.further.texts import Further, further_files
from reports.tables.latex import UPRIGHT
from reports.tables.table import make_table

NAN = float("nan")


@pytest.fixture
def run(
    simulate_predictions: Callable[..., dict[tuple[int, int], Predictions]],
    scatter: Callable[..., object],
    write_predictions: Callable[..., Path],
) -> Run:
    design = {"patients": 60, "scatter": scatter(), "advantage": 1.5}
    found = simulate_predictions(np.random.default_rng(2), methods=12, seeds=2, **design)
    return open_run(write_predictions({(f"m{m}", "ptb-xl", 0.1, 41 + s): own for (m, s), own in found.items()}))


def test_numbers_as_shown() -> None:
    assert shown(Estimated(0.812, 0.78, 0.8412, 5)) == "81.2 (78.0 to 84.1)"
    assert shown(Estimated(0.812, NAN, NAN, 1)) == "81.2"
    assert shown(Estimated(NAN, NAN, NAN, 1)) == "–"


def test_a_line_per_class_and_row_in_parts_that_fit_a_page_of_latex(run: Run) -> None:
    found = Further(run.plan, class_tables(run, ["heartbeat"]), subgroup_tables(run, ["heartbeat"]))
    (table,) = found.by_class
    assert len(table.lines) == 4 * 12 > UPRIGHT.lines
    assert table.lines[0][0] == "class 1: M0"
    assert [line[1:4] for line in table.lines[::12]] == [
        (f"{count.lines}", f"{count.patients}", f"{100 * count.share:.1f}") for count in found.classes[0].counts
    ]
    files = further_files(found)
    assert list(files) == ["scores.md", "scores.tex", "classes.md", "classes.tex", "classes.csv"]
    assert files["classes.tex"].count(r"\label{tab:classes-finetune-heartbeat-ptb-xl-10-2}") == 1
    assert files["classes.md"].count("class 4: M11") == 1
    lines = list(csv.DictReader(StringIO(files["classes.csv"])))
    assert len(lines) == 12 * (1 + 4) * 6
    assert {line["class"] for line in lines} == {"macro", "class 1", "class 2", "class 3", "class 4"}
    assert all(float(line["low"]) <= float(line["mean"]) <= float(line["high"]) for line in lines)


def test_a_store_without_sex_and_age_says_what_adds_them(run: Run) -> None:
    found = Further(run.plan, [], subgroup_tables(run, ["heartbeat"]))
    assert [table.caption for table in found.by_group] == [UNKNOWN]


def test_further_columns_stand_in_the_main_table_and_leave_overall_alone(run: Run) -> None:
    plain, wider = (next(layouts(run.plan, "finetune", further)) for further in ((), ("auprc", "brier")))
    without = make_table(run, plain, "heartbeat", statistics_of(run, plain, "heartbeat"))
    table = make_table(run, wider, "heartbeat", statistics_of(run, wider, "heartbeat"))
    assert [column.metric for column in table.columns] == ["f1", "auroc", "acc", "auprc", "brier", "overall"]
    assert [line.scores[-1].mean for line in table.blocks[0].lines] == [
        line.scores[-1].mean for line in without.blocks[0].lines
    ]
    assert "Overall: mean of the 3 F1, AUROC and ACC columns." in table.caption
    assert "The lower the better: Brier." in table.caption
    for place, name, best in ((3, "auprc", max), (4, "brier", min)):
        means = [line.scores[place].mean for line in table.blocks[0].lines]
        assert means[0] == pytest.approx(100 * np.mean([score_of(run, "m0", seed, name) for seed in (41, 42)]))
        marked = [mean for mean, line in zip(means, table.blocks[0].lines, strict=True) if line.scores[place].best]
        assert marked[0] == best(mean for mean in means if mean is not None)


def score_of(run: Run, variant: str, seed: int, name: str) -> float:
    key = next(cell.key for cell in run.plan.cells if (cell.variant, cell.seed) == (variant, seed))
    found = run.store.predictions(key)
    return float(METRICS[name].of(Lines(found.truth, found.probability, False)))


@pytest.mark.parametrize("untested", [0, 1])
def test_a_class_without_both_signs_has_dashes_and_is_told(
    simulate_predictions: Callable[..., dict[tuple[int, int], Predictions]],
    scatter: Callable[..., object],
    write_predictions: Callable[..., Path],
    untested: int,
) -> None:
    """Of the second class no test window is; the third is in all of them, as one of several labels."""
    found = simulate_predictions(np.random.default_rng(2), methods=1, seeds=2, patients=60, scatter=scatter())
    places = {}
    for (_, seed), own in found.items():
        truth = own.truth.copy()
        if untested:
            truth[:, 1], truth[:, 2] = 0, 1
        places["m0", "ptb-xl", 0.1, 41 + seed] = Predictions(own.probability, truth, own.recording, own.patient)
    run = open_run(write_predictions(places))
    (table,) = Further(run.plan, class_tables(run, ["heartbeat"]), []).by_class
    dashes = {line[0]: line.count("–") for line in table.lines}
    whole = len(table.header) - 4
    lacking = {"class 2", "class 3"} if untested else set()
    assert dashes == {f"class {c}: M0": whole * (f"class {c}" in lacking) for c in (1, 2, 3, 4)}
    told = "Dashes: every or no test heartbeat is of class 2, class 3."
    assert (told in table.caption) == bool(untested)
    assert ("Dashes:" in table.caption) == bool(untested)
