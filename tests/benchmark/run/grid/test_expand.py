"""The rows, pretrainings and cells that a config has."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from benchmark.config.errors import ConfigError
from benchmark.config.load import load_config
from benchmark.run.grid.cells import Grid
from benchmark.run.grid.variants import variants_of
from methods import METHODS
from tests.basic import ANYWHERE, BASIC
from tests.benchmark.run.grid.small import BASE, grid_of

ALL_GATES = ["random", "frozen", "features", "full-labels"]


def test_a_row_that_pairs_neighbours_is_refused_where_a_recording_is_one_window() -> None:
    whole = {**BASE, "data.segmentation": "recordings"}
    with pytest.raises(
        ConfigError, match=r"^pmq pairs neighbouring windows .pairing: neighbor., and a recording of 10"
    ):
        grid_of(load_config(BASIC, whole))
    grid_of(load_config(BASIC, {**whole, "data.window_seconds": 5.0}))
    grid_of(load_config(BASIC, {**whole, "methods.pmq.pairing": "same"}))
    with pytest.raises(ConfigError, match=r"^pmq:pairing=neighbor pairs"):
        grid_of(load_config(BASIC, {**whole, "methods": ["pclr"], "sweeps": {"pmq": {"pairing": ["neighbor"]}}}))


def test_the_papers_grid_is_counted_as_in_the_paper() -> None:
    methods = ANYWHERE
    config = load_config("paper", {"methods": methods, "gates": []})
    grid = grid_of(config)
    trained = [name for name in methods if METHODS[name].trains]
    assert len(grid.cells) == len(methods) * 3 * 3 * 5
    assert len({cell.key for cell in grid.cells}) == len(grid.cells)
    assert sum(p.method.trains for p in grid.pretrainings) == len(trained)
    assert len(grid.pretrainings) == len(trained) + 5 * (len(methods) - len(trained))
    assert {p.seed for p in grid.pretrainings if p.method.trains} == {config.pretrain.seed}


def test_the_strict_protocol_pretrains_once_per_seed() -> None:
    grid = grid_of(load_config(BASIC, {**BASE, "protocol": "strict"}))
    assert len(grid.pretrainings) == 4
    assert all(cell.pretraining is not None and cell.pretraining.seed == cell.seed for cell in grid.cells)


def test_a_sweep_over_the_learning_rate_is_a_row_per_value() -> None:
    grid = grid_of(load_config(BASIC, {**BASE, "sweeps.pmq.recipe.lr": [1e-3, 2e-3]}))
    swept = {v.name: v.config.recipe for v in grid.variants if v.role == "sweep"}
    assert {name: recipe.lr for name, recipe in swept.items()} == {
        "pmq:recipe.lr=0.001": 1e-3,
        "pmq:recipe.lr=0.002": 2e-3,
    }
    assert {recipe.batch_size for recipe in swept.values()} == {64}
    assert len({p.key for p in grid.pretrainings if p.variant.name.startswith("pmq")}) == 2  # 1e-3 is PMQ as it is


def test_rows_come_in_the_order_asked_for() -> None:
    grid = grid_of(load_config(BASIC, {**BASE, "methods": ["pmq", "random", "moco"]}))
    assert [variant.name for variant in grid.variants] == ["pmq", "random", "moco"]
    assert [variant.title for variant in grid.variants] == ["PMQ", "Random", "MoCo"]


def test_cells_say_what_they_are() -> None:
    cell = grid_of(load_config(BASIC, BASE)).cells[0]
    assert cell.describe() == "random finetune ptb-xl 0.3 seed 41"
    descriptions = [cell.describe() for cell in grid_of(load_config(BASIC, BASE)).cells]
    assert len(set(descriptions)) == len(descriptions)


def test_gates_stand_in_every_table_and_share_the_rows_they_can() -> None:
    grid = grid_of(load_config(BASIC, {**BASE, "methods": ["pmq"], "gates": ALL_GATES, "ratios": [0.1]}))
    assert [(v.name, v.role) for v in grid.variants] == [
        ("pmq", "method"),
        *((name, "gate") for name in ("random", "random-frozen", "features")),
    ]
    places = {(c.variant.name, c.table, c.evaluation, c.ratio) for c in grid.cells}
    assert places == {
        ("pmq", "finetune", "finetune", 0.1), ("pmq", "linear", "linear", 0.1),
        *(("random", table, table, ratio) for table in ("finetune", "linear") for ratio in (0.1, 1.0)),
        *(("random-frozen", "finetune", "linear", ratio) for ratio in (0.1, 1.0)),
        *(("features", table, "features", ratio) for table in ("finetune", "linear") for ratio in (0.1, 1.0)),
    }  # fmt: skip
    by_place = {(c.variant.name, c.table, c.dataset, c.ratio, c.seed): c.key for c in grid.cells}
    for (name, table, *rest), key in by_place.items():
        if name == "features":
            assert key == by_place["features", "linear", *rest]
        if (name, table) == ("random-frozen", "finetune"):
            assert key == by_place["random", "linear", *rest]
    assert {c.pretraining for c in grid.cells if c.variant.name == "features"} == {None}


def test_a_compared_random_row_is_its_own_gate_and_each_gate_can_be_left_out() -> None:
    def rows(**overrides: Any) -> list[str]:
        return [v.name for v in variants_of(load_config(BASIC, {**BASE, **overrides}))]

    assert rows(gates=ALL_GATES) == ["random", "pmq", "random-frozen", "features"]
    assert rows(gates=["features"]) == ["random", "pmq", "features"]
    full = {c.variant.name for c in grid_of(load_config(BASIC, {**BASE, "gates": ALL_GATES})).cells if c.ratio == 1}
    assert full == {"random", "random-frozen", "features"}
    with_full = {**BASE, "gates": ALL_GATES, "ratios": [1.0]}
    assert len({c.key for c in grid_of(load_config(BASIC, with_full)).cells if c.variant.name == "pmq"}) == 2 * 2 * 3


def test_ablations_are_rows_of_their_own_with_one_knob_changed() -> None:
    grid = grid_of(load_config(BASIC, {**BASE, "ablate": ["all"]}))
    changed = {v.name: v for v in grid.variants if v.role == "ablation"}
    names = ["pmq:w/o mask_t", "pmq:w/o mask_f", "pmq:w/o neighbor", "pmq:w/o queue"]
    assert list(changed) == names
    full = next(v for v in grid.variants if v.name == "pmq").config
    knobs = ["time_mask", "frequency_mask", "pairing", "queue_size"]
    for name, knob in zip(names, knobs, strict=True):
        own = changed[name].config
        assert [f.name for f in fields(own) if getattr(own, f.name) != getattr(full, f.name)] == [knob]
    keys_of = {p.variant.name: p.key for p in grid.pretrainings}
    assert len({keys_of[name] for name in [*names, "pmq"]}) == 5
    one = load_config(BASIC, {**BASE, "ablate": ["w/o queue"]})
    assert [v.name for v in variants_of(one) if v.role == "ablation"] == ["pmq:w/o queue"]


def test_the_papers_ablations_and_queue_sizes_are_counted_as_in_the_paper() -> None:
    overrides = {"gates": [], "ablate": ["all"], "sweeps": {"pmq": {"queue_size": [1024, 16384]}}}
    grid = grid_of(load_config("paper", overrides))
    counts = {role: sum(c.variant.role == role for c in grid.cells) for role in ("method", "ablation", "sweep")}
    assert counts == {"method": 360, "ablation": 180, "sweep": 30}
    assert {c.ratio for c in grid.cells if c.variant.role == "sweep"} == {0.01}
    pmq = {c.key for c in grid.cells if c.variant.name == "pmq"}
    at_default = {c.key for c in grid.cells if c.variant.name == "pmq:queue_size=16384"}
    assert at_default < pmq  # the same encoder and cells, done once


def test_few_shot_tables_have_shots_for_ratios_and_no_row_of_another_evaluation() -> None:
    config = load_config(BASIC, {**BASE, "evaluate": ["few-shot"], "gates": [*ALL_GATES, "supervised"]})
    cells = grid_of(config).cells
    assert {(cell.table, cell.evaluation, cell.ratio) for cell in cells} == {
        ("few-shot", "few-shot", shots) for shots in (1.0, 5.0, 10.0)
    }
    assert {cell.variant.name for cell in cells} == {"random", "pmq"}
    sweep = {"sweeps": {"pmq": {"positives": ["own"]}}, "few_shot.shots": [5, 2]}
    swept = grid_of(load_config(BASIC, {**BASE, "evaluate": ["few-shot"], **sweep})).cells
    assert {cell.ratio for cell in swept if cell.variant.role == "sweep"} == {2.0}


def test_the_supervised_gate_has_all_labels_once_a_table_whatever_the_ratios() -> None:
    for gates, ratios in ((["supervised"], [0.1, 0.01]), (["full-labels", "supervised"], [1.0, 0.1])):
        cells = grid_of(load_config(BASIC, {**BASE, "gates": gates, "ratios": ratios})).cells
        own = [cell for cell in cells if cell.variant.name == "supervised"]
        assert {(cell.table, cell.evaluation, cell.ratio, cell.gate) for cell in own} == {
            (table, "supervised", 1.0, "supervised") for table in ("finetune", "linear")
        }
        assert len({cell.key for cell in own}) == 3 * 2
        untrained = {cell.pretrain_key for cell in cells if cell.variant.name == "random"}
        assert {cell.pretrain_key for cell in own} == untrained


def test_a_dataset_under_a_task_is_a_column_with_keys_of_its_own() -> None:
    def grid(*tasks: str, datasets: list[str]) -> Grid:
        config = load_config(BASIC, BASE | {"data.datasets": datasets, "data.task": list(tasks)})
        return grid_of(config, data={column.name: "data" for column in config.data.columns()})

    plain, both = grid("default", datasets=["chapman"]), grid("default", "all", datasets=["chapman"])
    own = {cell.key for cell in both.cells if cell.dataset == "chapman"}
    assert own == {cell.key for cell in plain.cells}
    named = [cell for cell in both.cells if cell.dataset == "chapman.all"]
    assert len(named) == len(own)
    assert not own & {cell.key for cell in named}
    assert {str(cell.content["task"][1:]) for cell in named} == {"['multi', 'paper', {'sides': 'shuffled'}]"}
    assert both.pretrainings == plain.pretrainings


def test_a_config_without_tasks_is_stored_as_before() -> None:
    assert "task" not in load_config(BASIC, BASE).model_dump(mode="json")["data"]
    with_tasks = load_config(BASIC, BASE | {"data.datasets": ["ptb-xl"], "data.task": ["rhythm"]})
    assert with_tasks.model_dump(mode="json")["data"]["task"] == ["rhythm"]
