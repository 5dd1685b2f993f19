"""Printed numbers in a table: in their places, in italics, ranked nowhere, with their source below."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.results.plan import Plan
from benchmark.results.printed.numbers import Printed, Source
from reports.build import build_report
from reports.runs.planned_tables import layouts
from reports.runs.run import open_run
from reports.tables import printed
from reports.tables.table import make_table
from reports.tables.text import long_csv, markdown
from reports.tables.values import Table

HERE = Printed("a-2020", "theirs", "chapman", "finetune", 0.3, "auroc", 99.9, 0.4)
ELSEWHERE = (
    HERE._replace(row="other ratio", ratio=0.5),
    HERE._replace(row="other evaluation", evaluation="linear"),
    HERE._replace(row="other column", column="cpsc2018"),
    HERE._replace(row="other source", source="b-2021"),
)
SOURCE = Source("a-2020", "A et al. 2020", "their protocol", "everything")


def table_with(root: Path, monkeypatch: pytest.MonkeyPatch, sources: list[str]) -> Table:
    monkeypatch.setattr(printed, "numbers", lambda: (HERE, *ELSEWHERE))
    monkeypatch.setattr(printed, "sources", lambda: {"a-2020": SOURCE})
    run = open_run(root)
    run = replace(run, plan=replace(run.plan, config=run.plan.config | {"printed": sources}))
    return make_table(run, next(layouts(run.plan, "finetune")), "heartbeat")


def test_a_printed_number_stands_in_its_place_alone(store_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_with(store_root, monkeypatch, ["a-2020"])
    first, second = table.blocks
    line = first.lines[-1]
    assert line.title == "theirs (printed: a-2020)"
    shown = [
        (column.dataset, column.metric) for column, score in zip(table.columns, line.scores, strict=True) if score.mean
    ]
    assert shown == [("chapman", "auroc")]
    assert [line.variant for line in second.lines] == ["random", "moco", "pmq", "pmq:w/o mask_t"]
    assert table.footers[-1].startswith("Printed, not run here (a-2020): A et al. 2020. Protocol: their protocol.")


def test_it_is_in_italics_and_never_best(store_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_with(store_root, monkeypatch, ["a-2020"])
    line = table.blocks[0].lines[-1]
    assert line.gate
    assert not any(score.best or score.tie for score in line.scores)
    assert "*theirs (printed: a-2020)*" in markdown(table)
    assert "99.9±0.4" in markdown(table)
    assert "printed:a-2020:theirs" in long_csv([table])


def test_without_a_source_in_the_config_the_table_is_as_it_was(
    store_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = open_run(store_root)
    plain = make_table(run, next(layouts(run.plan, "finetune")), "heartbeat")
    assert table_with(store_root, monkeypatch, []) == plain


def test_it_is_in_no_file_of_statistics(write_store: Callable[..., Path], tmp_path: Path) -> None:
    def with_printed(plan: Plan) -> Plan:
        return replace(plan, config=plan.config | {"printed": ["strodthoff-2021"]})

    root = write_store(complete=True, alter_plan=with_printed)
    build_report(open_run(root), tmp_path / "out")
    out = {file.name: file.read_text() for file in (tmp_path / "out").rglob("*.csv")}
    for name in ("pairwise.csv", "intervals.csv"):
        assert "pmq" in out[name]
        assert "printed" not in out[name]
        assert "strodthoff" not in out[name]
