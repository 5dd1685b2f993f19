"""Rows of the store -> tidy frame, by the plan's cells."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.results.plan import Plan
from benchmark.results.rows import Row
from benchmark.results.store import NoResults
from reports.runs.run import MOST_PARTS, TIDY, open_run, wide


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
