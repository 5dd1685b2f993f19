"""What a user names is opened; what a store holds besides is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.results.plan import Plan
from benchmark.results.store import NoResults, Store
from reports.runs.capsule import pack
from reports.runs.open import open_results

WriteStore = Callable[..., Path]


def add_run(root: Path, key: str, alter: Callable[[Plan], Plan] = lambda plan: plan) -> None:
    """Plan the store's first run again under another key, changed; it becomes the latest."""
    store = Store(root)
    store.save_plan(replace(alter(store.load_plan("plan-of-the-test")), key=key))


def test_a_folder_is_its_latest_run_as_it_lies(store_root: Path) -> None:
    with open_results([str(store_root)]) as opened:
        assert opened.run.store.root == store_root
        assert opened.run.plan.key == "plan-of-the-test"
        assert opened.said == ()


def test_other_runs_are_named_with_how_to_see_them(store_root: Path) -> None:
    add_run(store_root, "second")
    with open_results([str(store_root)]) as opened:
        assert opened.run.plan.key == "second"
        (line,) = opened.said
    assert line == (
        f"{store_root} holds 1 other run, not shown: plan-of-the-test; --results {store_root}@KEY shows one, --results "
        f"{store_root}@all all that compare"
    )
    with open_results([f"{store_root}@plan-of-the-test"]) as opened:
        assert opened.run.plan.key == "plan-of-the-test"


def test_all_runs_of_a_folder_that_compare_are_put_together(store_root: Path) -> None:
    add_run(store_root, "strict", lambda plan: replace(plan, config=plan.config | {"protocol": "strict"}))
    add_run(store_root, "half", lambda plan: replace(plan, cells=plan.cells[:4]))
    with open_results([f"{store_root}@all"]) as opened:
        assert len(opened.run.rows) == 33
        assert opened.said == (
            f"put together: {store_root}@half, {store_root}@plan-of-the-test",
            f"not put together: {store_root}@strict: protocol is strict, not paper",
        )


def test_stale_rows_are_counted_and_named(store_root: Path) -> None:
    store = Store(store_root)
    key = store.row_keys()[0]
    row = store.load_row(key)
    assert row is not None
    store.save_row(replace(row, key="stale"), store.predictions(key))
    with open_results([str(store_root)]) as opened:
        assert opened.said == (f"{store_root} holds 1 row that no run's plan names, not shown: stale",)
        assert "stale" not in opened.run.rows


def test_a_damaged_plan_is_named_and_the_others_are_read(store_root: Path) -> None:
    (store_root / "plans" / "broken.json").write_text("{")
    with open_results([f"{store_root}@all"]) as opened:
        assert len(opened.run.rows) == 33
        assert opened.said[0].startswith(f"left out: {store_root / 'plans' / 'broken.json'} is damaged")


def test_a_capsule_is_opened_and_gone_afterwards(store_root: Path, tmp_path: Path) -> None:
    file = tmp_path / "results.zip"
    with open_results([str(store_root)]) as opened:
        pack(opened.run, file)
    with open_results([str(file)]) as opened:
        unpacked = opened.run.store.root
        assert opened.run.name == f"{file}@plan-of-the-test"
        assert len(opened.run.rows) == 33
        assert unpacked.is_dir()
    assert not unpacked.exists()


@pytest.mark.parametrize("source", ["nothing", "nothing@all", "runs@1234", "runs/plans@all"])
def test_what_is_not_there_is_one_line_that_names_it(
    store_root: Path, tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert store_root == tmp_path / "runs"
    with pytest.raises(NoResults, match=source.partition("@")[0]) as caught, open_results(["runs", source]):
        pass
    assert "\n" not in str(caught.value)


def test_a_folder_with_a_sign_in_its_name_is_taken_as_it_is(store_root: Path) -> None:
    strange = store_root.rename(store_root.with_name("runs@all"))
    with open_results([str(strange)]) as opened:
        assert opened.run.store.root == strange
