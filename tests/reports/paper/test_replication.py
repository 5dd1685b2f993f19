"""A store read as a replication of the paper: its cells, its plans taken together, its times, and the joint spread."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.results.cards import card_bytes
from benchmark.results.keys import digest
from benchmark.results.names import CARD
from benchmark.results.plan import Plan
from benchmark.results.rows import Row
from benchmark.results.store import Store
from reports.paper.printed import Measured, Place
from reports.paper.replication import Beside, load_replication
from reports.paper.sections import verification
from reports.paper.write import markdown

WriteStore = Callable[..., Path]


def real(plan: Plan) -> Plan:
    return replace(
        plan,
        datasets={name: facts | {"simulated": False} for name, facts in plan.datasets.items()},
        pretraining=plan.pretraining | {"simulated": False},
    )


def test_a_real_store_is_judged_where_its_cells_reach(write_store: WriteStore) -> None:
    replication = load_replication(write_store(alter_plan=real, complete=True))
    assert not replication.simulated
    cells = replication.evidence.cells
    assert cells[Place("pmq", 0.3, "chapman", "f1")] == pytest.approx((75.0, math.sqrt(2), 2, False))
    assert Place("moco", 0.01, "ptb-xl", "auroc") not in cells  # undefined in every seed


def test_a_grid_run_in_parts_is_read_as_one(write_store: WriteStore) -> None:
    root = write_store()
    store = Store(root)
    whole = store.load_plan()
    (root / "plans" / f"{whole.key}.json").unlink()
    for name, variants in (("first", {"random", "moco"}), ("second", {"pmq", "pmq:w/o mask_t"})):
        store.save_plan(replace(whole, key=name, cells=[cell for cell in whole.cells if cell.variant in variants]))
    other = whole.config | {"encoder": {"hidden": 8}}
    store.save_plan(replace(whole, key="other", config=other, cells=[]))
    store.save_plan(store.load_plan("first"))
    assert {place.variant for place in load_replication(root).evidence.cells} == {
        "random", "moco", "pmq", "pmq:w/o mask_t",
    }  # fmt: skip
    store.save_plan(store.load_plan("other"))
    assert load_replication(root).evidence.cells == {}
    assert "The store has no cell of the paper's tables." in markdown(verification(root))


@pytest.mark.parametrize(
    ("change", "known"),
    [
        ({}, {"pmq": 100.0, "moco": 250.0}),
        ({"device": {"name": "another"}}, {"pmq": 100.0}),
        ({"compiled": True}, {"pmq": 100.0}),
        ({"encoder": {"hidden": 16, "depth": 10, "output": 64}}, {"pmq": 100.0}),
        ({"encoder": {"name": "mine", "hidden": 64, "depth": 10, "output": 320, "source": "0f"}}, {"pmq": 100.0}),
    ],
)
def test_times_compare_on_one_machine_at_the_papers_size(
    write_store: WriteStore, change: dict[str, Any], known: dict[str, float]
) -> None:
    root = write_store()
    card = {"encoder": {"hidden": 64, "depth": 10, "output": 320}, "device": {"name": "one"}, "precision": "float32"}
    for variant, facts in (("pmq", {"seconds": 100.0}), ("moco", {"seconds": 250.0} | change)):
        folder = Store(root).pretrained / digest(variant)
        folder.mkdir(parents=True)
        (folder / CARD).write_bytes(card_bytes(card | facts | {"key": folder.name}))
    assert load_replication(root).evidence.seconds == known


def test_an_encoder_of_another_name_is_a_difference_even_at_the_papers_sizes(write_store: WriteStore) -> None:
    sizes = {"hidden": 64, "depth": 10, "output": 320}
    own = write_store("own", alter_plan=lambda plan: replace(plan, config=plan.config | {"encoder": sizes}))
    named = {"name": "./mine.py"} | sizes
    other = write_store("other", alter_plan=lambda plan: replace(plan, config=plan.config | {"encoder": named}))
    assert not [line for line in load_replication(own).differences if line.startswith("encoder")]
    assert "encoder.name ./mine.py (paper: dilated)" in load_replication(other).differences


def test_times_of_one_variant_on_two_machines_do_not_compare(write_store: WriteStore) -> None:
    def one_run_a_seed(row: Row) -> Row:
        return replace(row, pretrain_key=digest([row.variant, row.seed]))

    root = write_store(alter=one_run_a_seed)
    card = {"encoder": {"hidden": 64, "depth": 10, "output": 320}, "precision": "float32", "seconds": 100.0}
    for variant in ("pmq", "moco"):
        for seed in (41, 42):
            folder = Store(root).pretrained / digest([variant, seed])
            folder.mkdir(parents=True)
            (folder / CARD).write_bytes(card_bytes(card | {"device": f"machine {seed}", "key": folder.name}))
    assert load_replication(root).evidence.seconds == {}


@pytest.mark.parametrize(
    ("ours", "inside"),
    [((57.0, 1.0), True), ((57.2, 0.8), True), ((57.3, 0.8), False), ((54.0, 0.5), False), ((56.0, None), None)],
)
def test_inside_is_within_the_joint_spread(ours: tuple[float, float | None], inside: bool | None) -> None:
    pair = Beside(Place("random", 0.3, "ptb-xl", "f1"), Measured(56.1, 0.8, 5), Measured(*ours, 5))
    assert pair.inside is inside
