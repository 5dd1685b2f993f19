"""The tables a plan calls for: compared rows and gates in one, changes of a method in tables of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmark.results.plan import Plan
from reports.runs.planned_tables import layouts
from reports.runs.run import open_run
from reports.tables.table import make_table
from reports.tables.values import Table

WriteStore = Callable[..., Path]


def role(kind: str, of: str = "", knob: str = "", value: Any = None) -> dict[str, Any]:
    return {"role": kind, "of": of, "knob": knob, "value": value}


def tables(root: Path) -> list[Table]:
    run = open_run(root)
    found = layouts(run.plan, "finetune")
    return [make_table(run, layout, "heartbeat") for layout in found]


def titles(table: Table) -> list[list[str]]:
    return [[line.title for line in block.lines] for block in table.blocks]


def with_roles(**roles: dict[str, Any]) -> Callable[[Plan], Plan]:
    named = {name.replace("mask", "pmq:w/o mask_t"): facts for name, facts in roles.items()}
    return lambda plan: replace(plan, roles=named)


def test_a_plan_without_roles_has_one_table_of_all_rows(store_root: Path) -> None:
    (layout,) = layouts(open_run(store_root).plan, "finetune")
    assert layout.variants == ("random", "moco", "pmq", "pmq:w/o mask_t")
    assert not layout.gates


def test_gates_stand_below_the_others_and_do_not_compete(write_store: WriteStore) -> None:
    (table, *_) = tables(write_store(complete=True, alter_plan=with_roles(pmq=role("gate"))))
    assert [line.title for line in table.blocks[0].lines] == ["Random", "MoCo", "PMQ w/o mask_t & 5 % | *", "PMQ"]
    gate = table.blocks[0].lines[-1]
    assert gate.gate
    assert not any(score.best for score in gate.scores)
    assert "Italics: gates" in table.caption
    without = tables(write_store("other", complete=True, alter_plan=with_roles(moco=role("gate"))))
    assert [line.variant for line in without[0].blocks[0].lines if line.scores[0].best] == ["pmq", "pmq:w/o mask_t"]


def test_ablations_have_a_table_of_f1_with_the_whole_method_last(write_store: WriteStore) -> None:
    first, second = tables(write_store(complete=True, alter_plan=with_roles(mask=role("ablation", of="pmq"))))
    assert [line.variant for line in first.blocks[0].lines] == ["random", "moco", "pmq"]
    assert titles(second) == [["PMQ w/o mask_t & 5 % | *", "PMQ"]] * 2
    assert second.title == "PMQ, ablations: fine-tuned, scored per heartbeat"
    assert second.name == "finetune-heartbeat-pmq-ablations"
    assert [(column.group, column.title) for column in second.columns] == [
        ("PTB-XL", "F1"), ("Chapman", "F1"), ("", "Overall"),
    ]  # fmt: skip
    assert second.caption.startswith("Macro F1 in percent, mean±std over seeds 41, 42. Overall: mean of the 2")


def test_a_sweep_has_a_table_at_the_ratios_it_was_run_at(write_store: WriteStore) -> None:
    def alter(plan: Plan) -> Plan:
        cells = [cell for cell in plan.cells if cell.variant != "pmq:w/o mask_t" or cell.ratio == 0.01]
        return replace(plan, cells=cells, roles={"pmq:w/o mask_t": role("sweep", "pmq", "queue_size", 16)})

    first, second = tables(write_store(complete=True, alter_plan=alter))
    assert [block.ratio for block in first.blocks] == [0.3, 0.01]
    assert [block.ratio for block in second.blocks] == [0.01]
    assert second.name == "finetune-heartbeat-pmq-queue-size"


def test_changes_are_held_against_the_method_as_it_is(store_root: Path) -> None:
    stored = open_run(store_root).plan
    plan = with_roles(mask=role("ablation", of="pmq"))(stored)
    compared, ablations = layouts(plan, "finetune")
    assert (compared.unchanged, ablations.unchanged) == ("", "pmq")
    alone = replace(plan, cells=[cell for cell in plan.cells if cell.variant != "pmq"])
    assert list(layouts(alone, "finetune"))[1].unchanged == ""


def test_a_swept_value_that_is_the_methods_own_takes_its_row(store_root: Path) -> None:
    stored = open_run(store_root).plan
    places = {(cell.variant, cell.evaluation, cell.dataset, cell.ratio, cell.seed): cell.key for cell in stored.cells}
    sweep = role("sweep", "pmq", "queue_size", 16)
    shared = [
        replace(cell, key=places["pmq", cell.evaluation, cell.dataset, cell.ratio, cell.seed])
        if cell.variant == "pmq:w/o mask_t" and cell.ratio == 0.01
        else cell
        for cell in stored.cells
        if cell.variant != "pmq:w/o mask_t" or cell.ratio == 0.01
    ]
    _, own = layouts(replace(stored, cells=shared, roles={"pmq:w/o mask_t": sweep}), "finetune")
    assert (own.variants, own.unchanged) == (("pmq:w/o mask_t",), "pmq:w/o mask_t")
    _, other = layouts(replace(stored, roles={"pmq:w/o mask_t": sweep}), "finetune")
    assert (other.variants, other.unchanged) == (("pmq:w/o mask_t", "pmq"), "pmq")
