"""Rows with weights from elsewhere in the tables: marks, dashes with a reason, footers, costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.results.plan import Plan
from reports.runs.planned_tables import layouts
from reports.runs.run import Run, open_run
from reports.tables.elsewhere import elsewhere_costs, elsewhere_files
from reports.tables.latex import latex
from reports.tables.table import make_table
from reports.tables.text import long_csv, markdown
from reports.tables.values import DASH, Line

WHY = "it cannot be fine-tuned: an ONNX file has no gradients"
FACTS: dict[str, Any] = {
    "pretrained_on": "ptb-xl, CODE-15",
    "saw": {"ptb-xl": "yes", "chapman": "no"},
    "licence": "MIT",
    "signals": "windows of 10 s at 500 Hz of 12 leads, in mV",
    "features": 1024,
    "unserved": {"linear": WHY},
}
CARD = {
    "encoder_parameters": 30_700_000,
    "encoder_multiplications": 2_500_000_000,
    "embedding": {"windows": 1, "seconds": 41.5},
    "device": {"type": "cpu", "name": "x86_64", "threads": 2},
}


def from_elsewhere(plan: Plan, **changes: Any) -> Plan:
    role = {"role": "method", "of": "", "knob": "", "value": None, "elsewhere": FACTS | changes}
    return replace(plan, roles={"moco": role})


@pytest.fixture
def opened(write_store: Callable[..., Path]) -> Callable[..., Run]:
    def open_with(**changes: Any) -> Run:
        return open_run(write_store(complete=True, alter_plan=lambda plan: from_elsewhere(plan, **changes)))

    return open_with


def line_of(run: Run, evaluation: str, variant: str) -> tuple[Line, Any]:
    layout = next(layouts(run.plan, evaluation))
    table = make_table(run, layout, "heartbeat")
    return next(line for line in table.blocks[0].lines if line.variant == variant), table


def test_numbers_of_test_patients_that_it_saw_are_marked(opened: Callable[..., Run]) -> None:
    line, table = line_of(opened(), "finetune", "moco")
    marks = {
        (column.dataset, column.metric): score.mark for column, score in zip(table.columns, line.scores, strict=True)
    }
    texts = dict(table.footnotes)
    assert {texts[marks["ptb-xl", metric]] for metric in ("f1", "auroc", "acc")} == {
        "saw these test patients: pretrained on ptb-xl, CODE-15"
    }
    assert {marks["chapman", metric] for metric in ("f1", "auroc", "acc")} == {""}
    assert texts[marks["", "overall"]] == "it saw test patients of columns that this rests on"
    assert all(not score.mark for other in table.blocks[0].lines if other != line for score in other.scores)
    told = markdown(table)
    assert (
        "MoCo: weights from elsewhere (licence MIT), pretrained on ptb-xl, CODE-15; saw these test patients: PTB-XL "
        "yes, Chapman no. Reads windows of 10 s at 500 Hz of 12 leads, in mV." in told
    )
    assert "their prediction of a recording stands for each of its windows." in told
    for text in (latex([table]), long_csv([table])):
        assert "saw these test patients" in text


def test_what_is_not_known_is_marked_too(opened: Callable[..., Run]) -> None:
    saw = {"ptb-xl": "not known", "chapman": "not known"}
    line, table = line_of(opened(saw=saw, pretrained_on="data that are not known"), "finetune", "moco")
    texts = dict(table.footnotes)
    assert [texts[score.mark] for score in line.scores] == [
        *["not known whether it saw these test patients"] * 6,
        "not known whether it saw the test patients",
    ]


def test_an_evaluation_that_it_is_not_served_by_has_dashes_and_the_reason(opened: Callable[..., Run]) -> None:
    line, table = line_of(opened(), "linear", "moco")
    assert [score.printed for score in line.scores] == [DASH] * len(table.columns)
    assert {dict(table.footnotes)[score.mark] for score in line.scores} == {WHY}
    assert f"</sup> {WHY}" in markdown(table)


def test_other_runs_have_no_word_of_it(write_store: Callable[..., Path]) -> None:
    run = open_run(write_store(complete=True))
    assert "elsewhere" not in markdown(line_of(run, "finetune", "moco")[1])
    assert [
        line.variant for line in make_table(run, next(layouts(run.plan, "linear")), "heartbeat").blocks[0].lines
    ] == [
        "random",
        "pmq",
    ]
    assert elsewhere_costs(run.plan, {"moco": {"a": CARD}}) == []


def test_its_cost_is_a_line_of_its_own(opened: Callable[..., Run]) -> None:
    unseen: Mapping[str, Any] = {name: value for name, value in CARD.items() if "encoder" not in name}
    plan = opened().plan
    (table,) = elsewhere_costs(plan, {"moco": {"a": CARD}, "pmq": {"b": CARD}})
    assert table.lines == (
        ("MoCo", "30,700,000", "2,500.0", "1,024", "1", "41.50", "MIT", "x86_64, 2 threads, float32"),
    )
    assert elsewhere_files([table])["elsewhere.csv"].splitlines()[1] == (
        'MoCo,30700000,2500.0,1024,1,41.50,MIT,"x86_64, 2 threads, float32"'
    )
    (table,) = elsewhere_costs(plan, {"moco": {"a": unseen}})
    assert table.lines[0][1:3] == (DASH, DASH)
