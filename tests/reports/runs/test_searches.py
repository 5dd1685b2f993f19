"""The searches of a run: read from its store, named where they are missing, and taken along wherever it goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.results.tuned import save_tuning, tuning_file
from reports.runs.capsule import pack, unpack
from reports.runs.kept import content_of
from reports.runs.merge import merge
from reports.runs.run import Run, open_run
from tests.reports.searches import CLOCS, MOCO, SEARCHES

KEYS = [tuning.key for tuning in SEARCHES]
WriteStore = Callable[..., Path]


@pytest.fixture
def tuned_run(write_store: WriteStore) -> Run:
    """A run whose plan names two searches, which its store has."""
    root = write_store(alter_plan=lambda plan: replace(plan, tunings=KEYS))
    for tuning in SEARCHES:
        save_tuning(root, tuning)
    return open_run(root)


def test_a_run_has_the_searches_that_its_plan_names(tuned_run: Run, store_root: Path) -> None:
    assert tuned_run.searches == SEARCHES
    assert tuned_run.left_out == []
    assert open_run(store_root).searches == []


def test_a_missing_and_a_damaged_search_are_named(tuned_run: Run) -> None:
    tuning_file(tuned_run.store.root, MOCO.key).unlink()
    tuning_file(tuned_run.store.root, CLOCS.key).write_text("{")
    again = open_run(tuned_run.store.root)
    assert again.searches == []
    missing, damaged = again.left_out
    assert missing == f"the search {MOCO.key}, which knobs are from, is not in {again.store.root}"
    assert "cannot be used" in damaged


def test_a_report_rests_on_its_searches(tuned_run: Run) -> None:
    before = content_of(tuned_run)
    save_tuning(tuned_run.store.root, replace(MOCO, search_seed=2))
    assert content_of(open_run(tuned_run.store.root)) != before


def test_a_capsule_holds_them_without_paths(tuned_run: Run, tmp_path: Path) -> None:
    failed = replace(MOCO.trials[2], error="ValueError: /home/ann/mine.py is empty")
    save_tuning(tuned_run.store.root, replace(MOCO, trials=[*MOCO.trials[:2], failed]))
    pack(open_run(tuned_run.store.root), tmp_path / "a.zip")
    store = unpack(tmp_path / "a.zip", tmp_path / "unpacked")
    moco, clocs = open_run(store.root).searches
    assert (moco.trials[2].error, clocs) == ("ValueError: mine.py is empty", CLOCS)


def test_merged_runs_have_those_of_all(tuned_run: Run, write_store: WriteStore, tmp_path: Path) -> None:
    other = open_run(write_store("other", alter_plan=lambda plan: replace(plan, key="other")))
    merged, _ = merge([other, tuned_run], tmp_path / "merged")
    assert merged.searches == SEARCHES
