"""Rows of the store -> tidy frame, by the plan's cells.

Cards of pretrainings: which are read, and their courses.

Cells without a row, by the error they ended in.

The tables a plan calls for: compared rows and gates in one, changes of a method in tables of their own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.results.schema import digest
from benchmark.results.store import Failure, NoResults, Plan, Row, card_bytes
from reports.build import build_report
from reports.runs import (
    MOST_PARTS,
    TIDY,
    courses,
    layouts,
    machine_of,
    open_run,
    unfinished,
    wide,
)
from reports.tables.render import Table
from reports.tables.table import make_table


def test_one_line_per_cell_unit_and_metric(store_root: Path) -> None:
    run = open_run(store_root)
    frame = run.tidy
    assert tuple(frame.columns) == TIDY
    assert len(run.rows) == 33
    assert len(frame) == 33 * (3 + 4)
    assert not frame.duplicated(["variant", "evaluation", "dataset", "ratio", "seed", "unit", "metric"]).any()


def test_undefined_score_is_nan_with_its_reason(store_root: Path) -> None:
    frame = open_run(store_root).tidy
    undefined = frame[frame["value"].isna()]
    assert len(undefined) == 2
    assert set(undefined["reason"]) == {"no class has both signs"}
    assert set(frame.loc[frame["value"].notna(), "reason"]) == {""}


def test_one_row_serves_two_variants_of_the_same_content(write_store: Callable[..., Path]) -> None:
    """A queue size equal to the default has the default's keys: the plan says for which variants a row stands."""

    def with_alias(plan: Plan) -> Plan:
        again = [replace(cell, variant="pmq:queue 16384") for cell in plan.cells if cell.variant == "pmq"]
        return replace(plan, variants=plan.variants | {"pmq:queue 16384": "queue"}, cells=plan.cells + again)

    frame = open_run(write_store(alter_plan=with_alias)).tidy
    own, shared = (frame[frame["variant"] == name] for name in ("pmq", "pmq:queue 16384"))
    assert len(own) > 0
    assert shared["value"].tolist() == own["value"].tolist()


def test_wide_has_both_units_the_best_epoch_and_no_time(store_root: Path) -> None:
    cells = wide(open_run(store_root))
    assert len(cells) == 33
    assert {"heartbeat_f1", "recording_f1", "recording_ece", "best_epoch", "test_windows", "notes"} <= set(cells)
    assert not [name for name in cells if "seconds" in str(name)]
    first = cells.iloc[0]
    assert (first["variant"], first["dataset"], first["seed"]) == ("random", "ptb-xl", 41)
    assert math.isclose(first["heartbeat_f1"], 0.49)


def test_failed_and_damaged_cells_are_apart_from_the_finished(store_root: Path) -> None:
    before = open_run(store_root)
    (victim, *_) = before.rows
    path = store_root / "cells" / f"{victim}.json"
    path.write_text(path.read_text()[:-30])
    run = open_run(store_root)
    assert set(run.damaged) == {victim}
    assert victim in run.damaged[victim]
    assert set(run.rows) == set(before.rows) - {victim}
    assert len(run.failures) == 1


def test_an_empty_folder_is_refused_in_one_line_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(NoResults, match=r"no results in .*nothing.*run_benchmark\.py.*--results") as caught:
        open_run(tmp_path / "nothing")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "nothing").exists()


def test_an_unknown_plan_is_named(store_root: Path) -> None:
    with pytest.raises(NoResults, match="no plan 1234"):
        open_run(store_root, "1234")


def test_equal_parts_of_rows_are_one_object(write_store: Callable[..., Path]) -> None:
    def alter(row: Row) -> Row:
        told = {"config": {"seeds": [41, 42]}, "git": {"commit": "a" * 40 if row.seed == 41 else "b" * 40}}
        return replace(row, provenance=told)

    rows = list(open_run(write_store(complete=True, alter=alter)).rows.values())
    assert all(row.provenance == alter(row).provenance for row in rows)
    assert len({id(row.provenance["config"]) for row in rows}) == 1 < len(rows)
    assert len({id(row.provenance["git"]) for row in rows}) == len({id(row.coverage) for row in rows}) == 2


def test_parts_beyond_those_compared_are_kept_as_they_are(write_store: Callable[..., Path]) -> None:
    def alter(row: Row) -> Row:
        return replace(row, provenance={"config": {"key": row.key}})

    rows = open_run(write_store(complete=True, alter=alter)).rows
    assert len(rows) > MOST_PARTS
    assert {key: row.provenance["config"] for key, row in rows.items()} == {key: {"key": key} for key in rows}


WriteStore = Callable[..., Path]


GPU = {"device": {"type": "cuda", "name": "H200", "threads": 8}, "precision": "bf16"}
CPU = {"device": {"type": "cpu", "name": "x86_64", "threads": 2}, "precision": "float32"}


def write_card(root: Path, key: str, text: str) -> None:
    folder = root / "pretrained" / key
    folder.mkdir(parents=True)
    (folder / "pretraining.json").write_text(text)


def test_cards_of_finished_cells_are_read_and_others_left_out(write_store: Callable[..., Path]) -> None:
    root = write_store(complete=True)
    whole = card_bytes({"key": digest("pmq"), "seconds": 3.0}).decode()
    write_card(root, digest("pmq"), whole)
    write_card(root, digest("moco"), whole)
    run = open_run(root)
    assert {name: {key: card["seconds"] for key, card in own.items()} for name, own in run.cards.items()} == {
        "pmq": {digest("pmq"): 3.0}
    }
    assert run.left_out == [f"pretrained/{digest('moco')}/pretraining.json: this is the card of {digest('pmq')}"]


def test_health_of_the_windows_of_another_config_is_left_out_with_a_line(write_store: Callable[..., Path]) -> None:
    root = write_store(complete=True)
    for name, windows in (("moco", "here"), ("pmq", "there")):
        card = {"key": digest(name), "health": [{"epoch": 0}], "health_sample": {"windows_sha256": windows}}
        write_card(root, digest(name), card_bytes(card).decode())
    run = open_run(root)
    told = [name for name, own in run.cards.items() for card in own.values() if "health" in card]
    assert len(told) == 1
    assert run.left_out == ["health of 1 pretraining: measured on the windows of another run, and not comparable"]


def test_edited_cards_and_those_without_a_digest_are_left_out_with_a_line(
    write_store: Callable[..., Path], tmp_path: Path
) -> None:
    root = write_store(complete=True)
    sizes = {"windows_per_epoch": 16, "parameters": 100, "batch_size": 8, "peak_memory_gib": 0.5}
    card = {"loss": [2.0], "updates": 8, "seconds": 3.0, **sizes}
    write_card(root, digest("pmq"), card_bytes(card | {"key": digest("pmq")}).decode().replace("3.0", "0.3"))
    write_card(root, digest("moco"), json.dumps(card))
    run = open_run(root)
    assert run.cards == {}
    assert len(run.left_out) == 2
    assert all(line.endswith("pretraining.json: the card does not match its digest") for line in run.left_out)
    report = build_report(run, tmp_path / "out")
    assert set(run.left_out) <= set(report.problems)
    assert not (tmp_path / "out" / "costs.md").exists()


def test_a_course_is_one_line_per_epoch_and_measure() -> None:
    health = [
        {"epoch": 0, "effective_rank": 4.0},
        {"epoch": 1, "effective_rank": 5.0},
    ]
    found = courses({"pmq": {"k": {"loss": [1.25], "health": health}}, "random": {"r": {"health": health[:1]}}})
    lines = {(line.variant, line.epoch, line.measure): line.value for line in found.itertuples()}
    assert lines["pmq", 1, "loss"] == 1.25
    assert (lines["pmq", 0, "effective_rank"], lines["random", 0, "effective_rank"]) == (4.0, 4.0)
    assert len(courses({})) == 0


def test_a_machine_is_its_device_precision_and_threads_where_they_matter() -> None:
    assert machine_of(GPU) == "H200, bf16"
    assert machine_of(CPU) == "x86_64, 2 threads, float32"
    assert machine_of({**CPU, "device": None}) == "unknown device, float32"
    assert machine_of({**CPU, "device": CPU["device"] | {"threads": 1}}) == "x86_64, 1 thread, float32"
    assert machine_of({**CPU, "threads": [1]}) == "x86_64, 1 thread, float32"
    assert machine_of({**CPU, "threads": [1, 4]}) == "x86_64, 1 then 4 threads, float32"
    assert machine_of({}) == "unknown device, ?"


def test_alike_errors_are_one_and_keep_the_first_traceback(store_root: Path) -> None:
    run = open_run(store_root)
    first, second, third, *rest = run.plan.cells
    failures = {
        first.key: Failure(f"no encoder for {first.key}\nfurther lines", "at first\n"),
        second.key: Failure(f"no encoder for {second.key}", "at second"),
    }
    run = replace(run, failures=failures, damaged={third.key: f"{third.key}.json: cut off"})
    failed, damaged = list(unfinished(run, [third, second, first, *rest]))[::-1]
    assert (failed.state, failed.error, failed.cells) == ("failed", "no encoder for KEY", (second, first))
    assert failed.traceback == "at second"
    assert (damaged.state, damaged.error, damaged.traceback) == ("damaged", "KEY.json: cut off", "")


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
