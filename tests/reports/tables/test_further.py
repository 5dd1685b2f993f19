"""The cost table: means over a row's pretrainings, each encoder once, and the same numbers in every form.

The table of presets side by side: its texts, and the same numbers in every form.

The budget table: its lines, and the same numbers in every form and on the page.

The trials of a search: the best first, the config's own setting and the failed ones among them.

The tables of further scores as texts and files, and further columns of the main table.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.results.metrics import METRICS, Lines
from benchmark.results.names import OVERALL
from benchmark.results.store import Plan, Predictions
from reports.build import build_report
from reports.runs import Run, layouts, open_run
from reports.statistics.classes import Estimated, class_tables, subgroup_tables
from reports.statistics.table import Beside, statistics_of
from reports.tables.further import (
    COSTS_HEADER,
    UNKNOWN,
    Further,
    beside_files,
    beside_of,
    beside_tables,
    budget_files,
    budget_tables,
    cost_lines,
    costs_csv,
    costs_latex,
    costs_markdown,
    further_files,
    ranking,
    search_caption,
    shown,
    trial_files,
    trial_tables,
)
from reports.tables.render import UPRIGHT, text_markdown, text_sheet
from reports.tables.table import make_table
from tests.reports.searches import CLOCS, MOCO, SEARCHES


def card(**facts: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "parameters": 637_952, "encoder_parameters": 600_000, "encoder_multiplications": 71_400_000,
        "loss": [1.0, 0.5], "windows_per_epoch": 1_280, "batch_size": 128, "updates": 20,
        "encoder_passes": 10_240.0, "seconds": 90.4, "peak_memory_gib": 1.25, "joules": None,
        "precision": "bf16", "device": {"type": "cpu", "name": "x86_64", "threads": 2},
    }  # fmt: skip
    return known | facts


CARDS = {
    "random": {"a": {"parameters": 5, "loss": [], "seed": 41}},
    "pmq": {"b": card(), "c": card(seconds=110.4, peak_memory_gib=1.75, joules=9_000.0)},
    "pmq:queue_size=1024": {"b": card(), "c": card()},
    "old": {"d": {name: value for name, value in card().items() if "encoder" not in name}},
}
TITLES = {"pmq": "PMQ", "old": "Old & slow"}


def test_a_row_has_the_means_of_its_pretrainings_and_shared_encoders_stand_once() -> None:
    assert cost_lines(CARDS, TITLES) == [
        (
            "PMQ",
            "637,952",
            "600,000",
            "71",
            "2",
            "2,560",
            "128",
            "20",
            "10,240",
            "100",
            "5,020.0",
            "1.50",
            "2.5",
            "x86_64, 2 threads, bf16",
        ),
        (
            "Old & slow",
            "637,952",
            "–",
            "–",
            "2",
            "2,560",
            "128",
            "20",
            "–",
            "90",
            "4,520.0",
            "1.25",
            "–",
            "x86_64, 2 threads, bf16",
        ),
    ]


def test_a_pretraining_whose_time_is_not_known_counts_for_the_rest() -> None:
    (line,) = cost_lines({"pmq": {"b": card(), "c": card(seconds=None, updates=40)}}, {})
    assert line[7:11] == ("30", "10,240", "90", "4,520.0")
    (alone,) = cost_lines({"pmq": {"c": card(seconds=None)}}, {})
    assert alone[9:11] == ("–", "–")


def test_all_forms_hold_the_same_numbers() -> None:
    lines = cost_lines(CARDS, TITLES)
    found = list(csv.reader(StringIO(costs_csv(lines))))
    assert found[0] == list(COSTS_HEADER)
    assert found[1][:4] == ["PMQ", "637952", "600000", "71"]
    assert found[1][-1] == "x86_64, 2 threads, bf16"
    assert "| PMQ " in costs_markdown(lines)
    assert r"Old \& slow & 637,952 & " in costs_latex(lines)
    assert "PMQ & 637,952 & 600,000 & 71 & 2 & 2,560" in costs_latex(lines)


def test_nothing_trained_has_no_table() -> None:
    lines = cost_lines({"random": CARDS["random"]}, TITLES)
    assert lines == []


PAPER = Beside("heartbeat", 0.3, "", OVERALL, "pmq", "paper", 0.5, 0.49, -0.01, -0.04, 0.02, 0.4, 0.4, 3, "")
TUNED = replace(PAPER, preset="tuned", mean=0.53, difference=0.031, low=0.012, high=0.05, p_holm=0.01)
LINES = [PAPER, TUNED, replace(TUNED, metric="f1", dataset="chapman"),
         Beside("heartbeat", 0.3, "", OVERALL, "moco", "paper", 0.4, float("nan"), remark="no seed has a score"),
         Beside("heartbeat", 0.3, "", OVERALL, "moco", "tuned", 0.4, 0.4)]  # fmt: skip
FOUND = {("finetune", "heartbeat"): LINES}


@pytest.fixture
def plan(store_root: Path) -> Plan:
    found = open_run(store_root).plan
    return replace(found, config=found.config | {"pretrain": {"preset": "unified"}})


def test_a_line_has_the_scores_under_each_preset_and_the_differences(plan: Plan) -> None:
    (table,) = beside_tables(plan, FOUND)
    assert table.header == ("Method", "labels", "unified", "paper", "tuned", "paper − unified", "tuned − unified")
    assert table.lines == (
        ("PMQ", "30 %", "50.0", "49.0", "53.0", "−1.0 (−4.0 to 2.0)", "+3.1 (1.2 to 5.0)*"),
        ("MoCo", "30 %", "40.0", "–", "40.0", "–", "same settings"),
    )
    assert table.title == "Presets side by side: Fine-tuned, per heartbeat"
    assert "Differences of these encoders (one pretraining each), not of the methods." in table.caption
    assert "Simulated ECGs: no ranking of methods follows." in table.caption


def test_all_forms_hold_the_same_numbers_beside(plan: Plan) -> None:
    tables = beside_tables(plan, FOUND)
    files = beside_files(FOUND, tables)
    first, *_ = csv.DictReader(files["presets.csv"].splitlines())
    assert (first["of"], first["preset"], first["difference"], first["p_holm"]) == ("pmq", "paper", "-0.01", "0.4")
    assert len(files["presets.csv"].splitlines()) == 1 + len(LINES)
    assert ",nan" not in files["presets.csv"]
    assert r"PMQ & 30\,\% & 50.0" in files["presets.tex"] or r"PMQ & 30 \% & 50.0" in files["presets.tex"]
    sheet = text_sheet(tables[0])
    assert [span for cell in sheet.blocks[0][0] for span, _ in cell] == list(tables[0].lines[0])


def test_a_run_without_presets_has_no_table(store_root: Path) -> None:
    assert beside_of(open_run(store_root), ["heartbeat"]) == {}


def test_a_line_has_what_a_snapshot_cost_and_scored(budget_store: Path) -> None:
    (table,) = budget_tables(open_run(budget_store), ["heartbeat"])
    assert table.header == (
        "Method",
        "epochs",
        "window pairs",
        "encoder passes",
        "seconds",
        "PTB-XL",
        "Chapman",
        "Overall",
    )
    assert table.lines == (
        ("PMQ", "0.5", "1,000", "4,000", "10", "40.0±1.4", "45.0±1.4", "42.5±1.4"),
        ("PMQ", "2", "4,000", "16,000", "40", "50.0±1.4", "55.0±1.4", "52.5±1.4"),
    )
    assert table.title == "Budget curves: Fine-tuned, per heartbeat, 1 % of the labels"
    assert "Simulated ECGs: no ranking of methods follows." in table.caption


def test_all_forms_hold_the_same_numbers_budget(budget_store: Path) -> None:
    tables = budget_tables(open_run(budget_store), ["heartbeat", "recording"])
    files = budget_files(tables)
    lines = list(csv.reader(files["budget.csv"].splitlines()))
    assert len(lines) == 1 + 4
    assert lines[2][:5] == ["budget-finetune-heartbeat-1", "PMQ", "2", "4000", "16000"]
    assert "| PMQ " in text_markdown(tables[0])
    assert r"PMQ & 2 & 4,000 & 16,000 & 40" in files["budget.tex"]


def test_a_report_shows_it(budget_store: Path, tmp_path: Path) -> None:
    with_them = {file.name for file in build_report(open_run(budget_store), tmp_path / "with").files}
    assert {"budget.csv", "budget.tex", "finetune-heartbeat-budget.png"} <= with_them
    assert "## Budget curves" in (tmp_path / "with" / "results.md").read_text()
    page = (tmp_path / "with" / "report.html").read_text()
    assert '<section id="budget-curves">' in page
    assert "<td>16,000</td>" in page
    assert "Snapshots" in page


def test_a_table_has_the_trials_of_a_method_the_best_first() -> None:
    table, other = trial_tables(SEARCHES)
    assert table.header == ("Trial", "momentum", "lr", "chapman", "mean", "note")
    assert table.lines == (
        ("1", "0.9", "0.004", "60.0", "60.0", "chosen"),
        ("0", "0.99", "0.001", "50.0", "50.0", "own setting"),
        ("2", "0.999", "0.01", "–", "–", "failed: ValueError: the loss is not finite"),
    )
    assert other.lines[0][-1] == "chosen, own setting"
    assert (ranking(MOCO), ranking(CLOCS)) == ([1, 0, 2], [0, 1, 2])
    assert (table.caption, other.caption) == (search_caption(SEARCHES), "")


def test_what_the_scores_are_is_said_once() -> None:
    files = trial_files(SEARCHES)
    assert files["trials.md"].count("Macro-F1 in percent") == 1
    told = search_caption(SEARCHES)
    assert "with 10 % of the labels" in told
    assert "3 trials per method, one pretraining each (seed 42; labels 41, draws 1)." in told
    assert "1 trials failed." in told
    assert "no test result" in told
    assert "Simulated ECGs" in told


def test_the_csv_has_all_knobs_unrounded() -> None:
    lines = list(csv.DictReader(trial_files(SEARCHES)["trials.csv"].splitlines()))
    assert len(lines) == 6
    first, *_, last = lines
    assert (first["method"], first["trial"], first["chosen"], first["mean"], first["recipe.lr"]) == (
        "moco", "1", "1", "0.6", "0.004",
    )  # fmt: skip
    assert (last["method"], last["momentum"], last["own"]) == ("clocs", "", "0")
    assert lines[2]["error"] == "ValueError: the loss is not finite"


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
    assert all(float(line["low"]) <= float(line["mean"]) <= float(line["high"]) for line in lines if line["low"])
    assert any(line["low"] for line in lines)


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
