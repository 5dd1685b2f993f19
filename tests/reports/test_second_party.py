"""Rows that an archive brings have a mark: claimed, re-scored or re-run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.cli.verify import verify
from benchmark.config.errors import ConfigError
from benchmark.results.files import digest
from benchmark.results.store import Plan, Predictions, Row, Store
from reports import build, load
from reports.load import pack
from reports.results import Run
from reports.second_party import CLAIMED, RERUN, RESCORED, mark_of_rerun
from tests.reports.conftest import planned, row_of

WriteStore = Callable[..., Path]
PERFECT = {"heartbeat": {"f1": 1.0, "auroc": 1.0, "acc": 1.0}, "recording": {}}
"""The scores of the predictions of the made-up store."""


def only(*variants: str) -> Callable[[Plan], Plan]:
    return lambda plan: replace(plan, key=digest("p"), cells=[one for one in plan.cells if one.variant in variants])


@pytest.fixture
def merged(write_store: WriteStore, tmp_path: Path) -> Callable[..., Run]:
    """Random of a store here with PMQ of an archive, of which `alter` changes rows."""

    def merge(alter: Callable[[Row], Row] = lambda row: row) -> Run:
        here = write_store("here", complete=True, alter_plan=only("random"))
        theirs = write_store(
            "theirs", complete=True, alter_plan=only("pmq"), alter=lambda row: alter(replace(row, scores=PERFECT))
        )
        pack(load(theirs), tmp_path / "theirs.zip")
        return load([here, tmp_path / "theirs.zip"])

    return merge


def test_a_row_whose_predictions_give_its_scores_is_rescored(merged: Callable[..., Run]) -> None:
    results = merged()
    assert results.marks == {("finetune", "pmq"): RESCORED, ("linear", "pmq"): RESCORED}
    table = build.tested_tables(results, ["heartbeat"], ()).tables[0]
    assert table.scores["title"].unique().tolist() == ["Random", f"PMQ ({RESCORED})"]
    assert any(line.startswith("Rows of archives: ") for line in table.footers)


@pytest.mark.parametrize(
    "change",
    [
        {"scores": PERFECT | {"heartbeat": {"f1": 0.9, "auroc": 1.0, "acc": 1.0}}},
        {"provenance": {"split": {"test": "another"}}},
    ],
)
def test_a_row_of_other_scores_or_of_another_split_is_claimed(
    merged: Callable[..., Run], change: dict[str, Any]
) -> None:
    results = merged(lambda row: replace(row, **change) if row.evaluation == "finetune" and row.seed == 42 else row)
    assert results.marks == {("finetune", "pmq"): CLAIMED, ("linear", "pmq"): RESCORED}


def test_a_row_that_was_tested_on_other_patients_is_claimed(merged: Callable[..., Run], tmp_path: Path) -> None:
    store, ids = Store(tmp_path / "theirs"), np.array(["r1", "r3"])
    merged()
    for cell in planned():
        if cell.variant == "pmq":
            test = Predictions(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.int64), ids, ids)
            store.save_row(replace(row_of(cell), scores=PERFECT), test)
    pack(load(store.root), tmp_path / "theirs.zip")
    assert set(load([tmp_path / "here", tmp_path / "theirs.zip"]).marks.values()) == {CLAIMED}


def test_runs_of_folders_have_no_marks(write_store: WriteStore) -> None:
    here, other = write_store("here", alter_plan=only("random")), write_store("other", alter_plan=only("pmq"))
    assert load([here, other]).marks == {}


def test_a_rerun_is_held_to_the_tolerance_of_another_machine(write_store: WriteStore) -> None:
    theirs = load(write_store("theirs", complete=True, alter=trained))
    again = load(write_store("again", complete=True, alter=lambda row: moved(trained(row))))
    linear = next(cell.key for cell, _ in theirs.finished if (cell.variant, cell.evaluation) == ("pmq", "linear"))
    assert mark_of_rerun(theirs, again, [linear], ()) == f"{RERUN}: 1 cell within 4.0 points"
    assert mark_of_rerun(theirs, again, [linear], [linear]) == f"{RERUN} from its weights differs by 4.0 points"


def trained(row: Row) -> Row:
    return replace(row, provenance=row.provenance | {"corpus": {"name": "mimic-iv-ecg"}})


def moved(row: Row) -> Row:
    """The row with an F1 four points lower."""
    scores = row.scores["heartbeat"]
    assert scores["f1"] is not None
    return replace(row, scores=row.scores | {"heartbeat": scores | {"f1": scores["f1"] - 0.04}})


def test_a_store_without_an_archive_beside_it_is_not_verified(write_store: WriteStore) -> None:
    root = write_store()
    with pytest.raises(ConfigError, match="--verify takes a store of yours and an archive"):
        verify(load(root), 1, root / "again")
    assert not (root / "again").exists()
