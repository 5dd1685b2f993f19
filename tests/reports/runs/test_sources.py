"""What rows say of their data goes before what the plan says; of the two, simulated counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.results.plan import Plan
from benchmark.results.rows import Row
from reports.runs.capsule import pack, unpack
from reports.runs.run import Run, open_run

WriteStore = Callable[..., Path]


def rows_that_say(**facts: Any) -> Callable[[Row], Row]:
    def alter(row: Row) -> Row:
        return replace(row, provenance=row.provenance | {"data": facts, "corpus": facts})

    return alter


def plan_that_says(**facts: Any) -> Callable[[Plan], Plan]:
    def alter(plan: Plan) -> Plan:
        datasets = {name: own | facts for name, own in plan.datasets.items()}
        return replace(plan, datasets=datasets, pretraining=plan.pretraining | facts)

    return alter


def simulated(run: Run) -> set[bool]:
    return {facts["simulated"] for facts in (*run.plan.datasets.values(), run.plan.pretraining)}


@pytest.mark.attack("simulated data passed off as real")
@pytest.mark.parametrize(
    ("planned", "rows", "counts", "disagree"),
    [(True, True, True, False), (False, False, False, False), (False, True, True, True), (True, False, True, True)],
)
def test_of_plan_and_rows_simulated_counts(
    write_store: WriteStore, planned: bool, rows: bool, counts: bool, disagree: bool
) -> None:
    root = write_store(alter=rows_that_say(simulated=rows), alter_plan=plan_that_says(simulated=planned))
    run = open_run(root)
    assert simulated(run) == {counts}
    told = [line for line in run.plan.warnings if "disagree on whether" in line]
    assert len(told) == (3 if disagree else 0)
    assert all(line.endswith("is simulated; it counts as simulated") for line in told)


@pytest.mark.attack("simulated data passed off as real")
def test_an_edited_plan_makes_nothing_real(write_store: WriteStore, tmp_path: Path) -> None:
    root = write_store(alter=rows_that_say(simulated=True), alter_plan=plan_that_says(simulated=True))
    (file,) = (root / "plans").glob("*.json")
    file.write_text(file.read_text().replace('"simulated": true', '"simulated": false'))
    run = open_run(root)
    assert simulated(run) == {True}
    pack(run, tmp_path / "capsule.zip")
    again = open_run(unpack(tmp_path / "capsule.zip", tmp_path / "unpacked").root)
    assert simulated(again) == {True}
    assert again.plan.warnings == run.plan.warnings


def test_rows_of_earlier_versions_leave_the_plan_as_it_is(write_store: WriteStore) -> None:
    root = write_store()
    (file,) = (root / "plans").glob("*.json")
    assert open_run(root).plan.datasets == json.loads(file.read_text())["datasets"]
    assert open_run(root).plan.warnings == []


@pytest.mark.attack("simulated data passed off as real")
def test_a_plan_of_other_data_than_its_rows_is_told(write_store: WriteStore) -> None:
    root = write_store(alter=rows_that_say(fingerprint="a"), alter_plan=plan_that_says(fingerprint="b"))
    plan = open_run(root).plan
    assert {facts["fingerprint"] for facts in (*plan.datasets.values(), plan.pretraining)} == {"a"}
    assert plan.warnings[0] == "the rows were computed on other data of PTB-XL than the plan names"
