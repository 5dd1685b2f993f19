"""ScoreColumn put together: each cell once, from where it is finished; conflicts are left out and said."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from benchmark.results.keys import digest
from benchmark.results.plan import Plan, PlannedCell
from benchmark.results.rows import Row
from benchmark.results.store import Store
from reports.runs.merge import merge
from reports.runs.open import every_run
from reports.runs.run import Run, open_run
from reports.tables.captions import footers_of

WriteStore = Callable[..., Path]
PutTogether = Callable[..., tuple[Run, list[str]]]


def only(*variants: str) -> Callable[[Plan], Plan]:
    return lambda plan: replace(
        plan, key="-".join(variants)[:4], cells=[c for c in plan.cells if c.variant in variants]
    )


def without(root: Path, drop: Callable[[Row], bool]) -> Path:
    """The store without some of its rows."""
    store = Store(root)
    for key in store.row_keys():
        row = store.load_row(key)
        if row is not None and drop(row):
            for kind in ("json", "npz"):
                (store.cells / f"{key}.{kind}").unlink()
    return root


@pytest.fixture
def put_together(tmp_path: Path) -> PutTogether:
    """Merge the runs of some stores."""

    def merged(*roots: Path) -> tuple[Run, list[str]]:
        return merge([run for root in roots for run in every_run(root, Store(root))], tmp_path / "merged")

    return merged


def test_parts_of_a_grid_give_the_tables_of_the_whole(write_store: WriteStore, put_together: PutTogether) -> None:
    whole = write_store("whole", complete=True)
    first = write_store("first", complete=True, alter_plan=only("random", "moco"))
    second = write_store("second", complete=True, alter_plan=only("pmq", "pmq:w/o mask_t"))
    run, said = put_together(
        without(first, lambda row: row.variant.startswith("pmq")),
        without(second, lambda row: not row.variant.startswith("pmq")),
    )
    assert said == [f"put together: {first}@rand, {second}@pmq-"]
    expected = open_run(whole).tidy
    pd.testing.assert_frame_equal(
        run.tidy.sort_values(["key", "unit", "metric"], ignore_index=True),
        expected.sort_values(["key", "unit", "metric"], ignore_index=True),
    )
    key = expected["key"][0]
    assert run.store.predictions(key).probability.shape == (2, 2)


def test_a_cell_missing_in_one_store_comes_from_the_other(write_store: WriteStore, put_together: PutTogether) -> None:
    run, said = put_together(write_store("open"), write_store("whole", complete=True))
    assert len(run.rows) == 36
    assert run.failures == {}
    assert len(said) == 1


def test_a_cell_failed_in_both_keeps_its_reason(write_store: WriteStore, put_together: PutTogether) -> None:
    run, _ = put_together(write_store("one"), write_store("two"))
    assert len(run.rows) == 33
    (failure,) = run.failures.values()
    assert failure.error == "RuntimeError: the loss is not finite"
    assert failure.traceback.startswith("Traceback")


def test_one_key_with_two_outcomes_is_left_out_and_named(
    write_store: WriteStore, put_together: PutTogether, tmp_path: Path
) -> None:
    def better(row: Row) -> Row:
        if (row.variant, row.dataset, row.ratio, row.seed, row.evaluation) != ("pmq", "chapman", 0.3, 41, "finetune"):
            return replace(row, training={"seconds": 99.0})
        return replace(row, scores=row.scores | {"heartbeat": {"f1": 1.0, "auroc": 1.0, "acc": 1.0}})

    one, two = write_store("one", complete=True), write_store("two", complete=True, alter=better)
    run, said = put_together(one, two)
    (key,) = run.failures
    assert said[1:] == [
        f"left out: cell {key}: {one}@plan-of-the-test and {two}@plan-of-the-test hold different outcomes of it; name "
        "one of the two alone"
    ]
    assert len(run.rows) == 35
    text = "\n".join(footers_of(run, run.plan.cells, "heartbeat"))
    assert "PMQ (Chapman, 30 %, seed 41): left out, two stores hold different outcomes" in text
    assert str(tmp_path) not in text


@pytest.mark.parametrize(("whole_elsewhere", "rows"), [(True, 36), (False, 35)])
def test_a_damaged_row_is_named_and_another_stores_whole_one_stands_in(
    write_store: WriteStore,
    put_together: PutTogether,
    whole_elsewhere: bool,
    rows: int,
) -> None:
    stores = [write_store("one", complete=True), write_store("two", complete=True)]
    key = Store(stores[0]).row_keys()[0]
    for root in stores[: 1 if whole_elsewhere else 2]:
        (root / "cells" / f"{key}.json").write_text("{")
    run, said = put_together(*stores)
    assert len(run.rows) == rows
    assert [line for line in said if line.startswith("left out") and key in line] == said[1:]
    assert len(said) == (2 if whole_elsewhere else 3)


def rekeyed(keep: Collection[int]) -> Callable[[Plan], Plan]:
    """The plan with the keys of another machine for the seeds not kept."""

    def keys(cells: list[PlannedCell]) -> Iterator[PlannedCell]:
        for cell in cells:
            yield cell if cell.seed in keep else replace(cell, key=digest(["other machine", cell.key]))

    return lambda plan: replace(plan, key="other", cells=list(keys(plan.cells)))


def test_a_cell_computed_twice_is_the_first_runs(write_store: WriteStore, put_together: PutTogether) -> None:
    def elsewhere(row: Row) -> Row:
        other = row.seed != 41
        scores = {unit: dict.fromkeys(found, 0.0) for unit, found in row.scores.items()}
        return replace(row, key=digest(["other machine", row.key]), scores=scores) if other else row

    one = write_store("one")
    two = write_store("two", complete=True, alter=elsewhere, alter_plan=rekeyed({41}))
    run, said = put_together(one, two)
    places = {(c.evaluation, c.variant, c.dataset, c.ratio, c.seed) for c in run.plan.cells}
    assert len(places) == len(run.plan.cells) == 36
    own = every_run(one, Store(one))[0].rows
    assert all(run.rows[key] == own[key] for key in own)
    assert len(run.rows) == 36  # what the first has not finished is the other's
    assert said[1].startswith(
        "14 cells computed twice in different ways, the first run's shown: Random, ptb-xl, ratio 0.3"
    )


def test_seeds_and_devices_that_differ_are_warned_of_under_every_table(
    write_store: WriteStore, put_together: PutTogether
) -> None:
    def on(device: str) -> Callable[[Row], Row]:
        return lambda row: replace(row, provenance={"device": {"type": device}})

    def seed_41(plan: Plan) -> Plan:
        return replace(plan, key="a", warnings=["w"], cells=[c for c in plan.cells if c.seed == 41])

    def pmq_42(plan: Plan) -> Plan:
        return replace(plan, key="b", cells=[c for c in plan.cells if c.seed == 42 and c.variant == "pmq"])

    run, _ = put_together(
        write_store("one", complete=True, alter_plan=seed_41, alter=on("cpu")),
        write_store("two", complete=True, alter_plan=pmq_42, alter=on("cuda")),
    )
    assert run.plan.warnings == [
        "w",
        "the cells were computed on several types of device: cpu, cuda",
        "not every row has every seed: Random has 41; MoCo has 41; PMQ w/o mask_t & 5 % | * has 41",
    ]
