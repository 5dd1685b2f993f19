"""The table of presets side by side: its texts, and the same numbers in every form."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.results.names import OVERALL
from benchmark.results.plan import Plan
from reports.runs.run import open_run
from reports.statistics.beside import Beside
from reports.tables.beside import beside_files, beside_of, beside_tables
from reports.tables.terminal import text_sheet

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


def test_all_forms_hold_the_same_numbers(plan: Plan) -> None:
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
