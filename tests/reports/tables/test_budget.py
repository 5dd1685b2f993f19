"""The budget table: its lines, and the same numbers in every form and on the page."""

from __future__ import annotations

import csv
from pathlib import Path

from reports.build import build_report
from reports.runs.run import open_run
from reports.tables.budget import budget_files, budget_tables
from reports.tables.text import text_markdown


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


def test_all_forms_hold_the_same_numbers(budget_store: Path) -> None:
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
    assert '<td class="number">16,000</td>' in page
    assert "Snapshots" in page
