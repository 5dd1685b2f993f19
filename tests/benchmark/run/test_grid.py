"""The rows, pretrainings and cells of a config; keys change with all that can move a number and with nothing else.

Rows reach the processes of a pool with the classes of a method file; budgets and sweeps of config keys act.
"""

from __future__ import annotations

from dataclasses import fields
from itertools import combinations, product
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import torch

from benchmark.config.errors import ConfigError
from benchmark.config.load import load_config
from benchmark.data import splits
from benchmark.machine import Machine
from benchmark.results.files import flat
from benchmark.results.names import SWEEP
from benchmark.results.store import Store
from benchmark.run import grid as keys_module
from benchmark.run.cell import identity_of, results_versions
from benchmark.run.engine import open_engine
from benchmark.run.grid import Cell, Grid, Pretraining
from benchmark.training import evaluations
from methods import METHODS
from methods.base import MethodConfig
from tests.basic import ANYWHERE, BASIC
from tests.benchmark.conftest import ENCODER
from tests.benchmark.run.bench import BASE, Bench, Cohorts, SmallConfig, grid_of

ALL_BASELINES = ["random", "frozen", "features", "full-labels", "supervised", "augmented", "heart-rate"]
BOTH = ("finetune", "linear")


def test_a_row_that_pairs_neighbours_is_refused_where_a_recording_is_one_window() -> None:
    whole = {**BASE, "data.segmentation.kind": "recordings"}
    with pytest.raises(
        ConfigError, match=r"^pmq pairs neighbouring windows .pairing: neighbor., and a recording of 10"
    ):
        grid_of(load_config(BASIC, whole))
    grid_of(load_config(BASIC, {**whole, "data.segmentation.seconds": 5.0}))
    grid_of(load_config(BASIC, {**whole, "methods.pmq.pairing": "same"}))


def test_the_papers_grid_is_counted_as_in_the_paper() -> None:
    overrides = {"baselines": [], "ablate": ["all"], "sweeps": {"pmq": {"queue_size": [1024, 16384]}}}
    grid = grid_of(load_config("paper", overrides))
    counts = {role: sum(c.variant.role == role for c in grid.cells) for role in ("method", "ablation", "sweep")}
    assert counts == {"method": 360, "ablation": 180, "sweep": 30}
    assert {c.ratio for c in grid.cells if c.variant.role == "sweep"} == {0.01}
    assert {p.seed for p in grid.pretrainings if p.method.trains} == {42}
    pmq = {c.key for c in grid.cells if c.variant.name == "pmq"}
    at_default = {c.key for c in grid.cells if c.variant.name == "pmq:queue_size=16384"}
    assert at_default < pmq  # the same encoder and cells, done once


def test_a_frozen_encoder_is_judged_on_several_labelled_subsets_per_seed() -> None:
    strict = {"protocol": "strict", "evaluate": ["finetune", "linear", "knn"], "ratios": [1.0, 0.1]}
    one, three = (grid_of(load_config(BASIC, strict | {"subsets": count})) for count in (1, 3))
    assert [cell.key for cell in three.cells if cell.subset == 0] == [cell.key for cell in one.cells]
    assert {(cell.table, cell.ratio) for cell in three.cells if cell.subset == 2} == {("linear", 0.1), ("knn", 0.1)}
    draws: dict[tuple[int, int], set[int]] = {}
    for cell in three.cells:
        draws.setdefault((cell.seed, cell.subset), set()).add(cell.draw_seed)
    assert all(len(drawn) == 1 for drawn in draws.values())  # the same for all rows
    assert len(set.union(*draws.values())) == len(draws)
    assert 1 + max(cell.subset for cell in grid_of(load_config(BASIC, strict)).cells) == 5
    paper = grid_of(load_config(BASIC, {"subsets": 3, "evaluate": ["linear"], "ratios": [0.1]}))
    assert {cell.subset for cell in paper.cells} == {0, 1, 2}


def test_baselines_of_several_tables_share_rows() -> None:
    every = {**BASE, "methods": ["pmq"], "baselines": ALL_BASELINES, "ratios": [0.1]}
    grid = grid_of(load_config(BASIC, every))
    more = grid_of(load_config(BASIC, every | {"evaluate": [*BASE["evaluate"], "retrieval"]})).cells  # reads no label
    retrieval = {(c.variant.name, c.evaluation, c.ratio) for c in more if c.table == "retrieval"}
    assert retrieval == {("pmq", "retrieval", 1.0), ("random", "retrieval", 1.0)}
    assert {c.key for c in more if c.table != "retrieval"} == {c.key for c in grid.cells}
    rows = {(c.variant.name, c.table, c.evaluation, c.ratio) for c in grid.cells}
    assert rows == {
        ("pmq", "finetune", "finetune", 0.1), ("pmq", "linear", "linear", 0.1),
        *(("random", table, table, ratio) for table in BOTH for ratio in (0.1, 1.0)),
        *(("random-frozen", "finetune", "linear", ratio) for ratio in (0.1, 1.0)),
        *((row, *at) for row in ("features", "heart-rate") for at in product(BOTH, [row], (0.1, 1.0))),
        *((row, *at) for row in ("supervised", "augmented") for at in product(BOTH, ["supervised"], [1.0])),
    }  # fmt: skip
    at = {(c.variant.name, c.table, c.dataset, c.ratio, c.seed): c.key for c in grid.cells}
    for (name, table, *rest), key in at.items():
        if name == "features":
            assert key == at["features", "linear", *rest]
        if (name, table) == ("random-frozen", "finetune"):
            assert key == at["random", "linear", *rest]
    assert {c.pretraining for c in grid.cells if c.variant.name == "features"} == {None}
    untrained = {cell.pretrain_key for cell in grid.cells if cell.variant.name == "random"}
    supervised = [cell for cell in grid.cells if cell.evaluation == "supervised"]
    assert {cell.pretrain_key for cell in supervised} == untrained
    masks = {(cell.variant.name, cell.content["settings"].get("masks")) for cell in supervised}
    assert masks == {("supervised", None), ("augmented", 1.0)}


def test_a_dataset_under_a_task_is_a_column_with_keys_of_its_own() -> None:
    def grid(*tasks: str) -> Grid:
        return grid_of(load_config(BASIC, BASE | {"data.datasets": ["chapman"], "data.task": list(tasks)}))

    plain, both = grid("default"), grid("default", "all")
    default = {cell.key for cell in both.cells if cell.dataset == "chapman"}
    assert default == {cell.key for cell in plain.cells}
    named = [cell for cell in both.cells if cell.dataset == "chapman.all"]
    assert len(named) == len(default)
    assert not default & {cell.key for cell in named}
    assert {(c.content["task"]["labels"], c.content["task"]["sides"]) for c in named} == {("multi", "shuffled")}
    assert both.pretrainings == plain.pretrainings


ALL = {"random finetune", "random linear", "pmq finetune", "pmq linear"}
PMQ = {"pmq finetune", "pmq linear"}
FINETUNE = {"random finetune", "pmq finetune"}
LINEAR = {"random linear", "pmq linear"}
EVERY = {**BASE, "evaluate": ["finetune", "linear", "knn"], "baselines": ["supervised", "features"]}
KNN, SUPERVISED, FEATURES = {"random knn", "pmq knn"}, {"supervised supervised"}, {"features features"}
SECTIONS: dict[str, set[str]] = {
    "encoder": ALL | KNN | SUPERVISED,
    "pretrain": PMQ | {"pmq knn"},
    "finetune": FINETUNE,
    "linear": LINEAR,
    "knn": KNN,
    "supervised": SUPERVISED,
    "boosting": FEATURES,
}
"""Section of the config -> the cells that each of its settings moves."""
NEEDS_A_VALUE: dict[str, Any] = {
    "pretrain.budget": "passes",
    "pretrain.preset": "paper",
    "pretrain.recipe.optimiser": "adam",
    "pretrain.recipe.schedule": "constant",
    "finetune.encoder_dropout": 0.1,
}
"""Settings whose other value does not follow from theirs."""
TESTED_APART = {"encoder.name", "pretrain.text_embedder", "finetune.beats_per_trial"}
"""Settings with a test of their own; `text_embedder` counts for methods that read reports."""
EVERY_CELL = {"finetune.beats_per_trial": 4, "protocol": "strict", "data.labels": "multi", "data.leads": [2]}
EVERY_CELL |= {"data.pool": "max", "data.standardise": "dataset"}
NO_CELL = {"name": "other", "caption": "Other words.", "methods": ["pmq", "random"], "methods.moco.queue_size": 5}
FURTHER: list[tuple[str, Any, set[str]]] = [
    *((key, value, ALL | KNN | SUPERVISED | FEATURES) for key, value in EVERY_CELL.items()),
    *((key, value, set()) for key, value in NO_CELL.items()),
    ("methods.pmq.recipe", {"lr": 2e-3}, PMQ | {"pmq knn"}),
    ("evaluate", ["linear", "knn", "finetune"], set()),
]
"""Keys of no such section, another value of each, and the cells it moves."""


def keys(grid: Grid) -> dict[tuple[str, str, str, float, int], str]:
    """(variant, evaluation, dataset, ratio, seed) -> key."""
    return {(cell.variant.name, cell.evaluation, cell.dataset, cell.ratio, cell.seed): cell.key for cell in grid.cells}


def moved(before: Grid, after: Grid) -> set[str]:
    """'variant evaluation' of the cells whose keys changed; all cells of such a group must have."""
    old, new = keys(before), keys(after)
    assert old.keys() == new.keys()
    changed = {name for name in old if old[name] != new[name]}
    groups = {f"{variant} {evaluation}" for variant, evaluation, *_ in changed}
    assert changed == {name for name in old if f"{name[0]} {name[1]}" in groups}
    return groups


def other(value: Any, hint: Any = None) -> Any:
    """Another allowed value of a setting or of a method's hyperparameter."""
    if isinstance(value, str):
        return next(choice for choice in get_args(hint) if choice != value)
    if isinstance(value, list):
        return value[1:] or [other(value[0])]
    if isinstance(value, float):
        return value / 2 or 0.25
    return not value if isinstance(value, bool) else value + 1


def test_a_setting_moves_the_keys_of_the_numbers_it_can_move() -> None:
    config = load_config(BASIC, EVERY)
    before, content = grid_of(config), config.model_dump()
    changes = [
        (f"{section}.{name}", NEEDS_A_VALUE.get(f"{section}.{name}") or other(value), groups)
        for section, groups in SECTIONS.items()
        for name, value in flat(content[section]).items()
        if f"{section}.{name}" not in TESTED_APART
    ]
    for key, value, groups in changes + FURTHER:
        assert moved(before, grid_of(load_config(BASIC, {**EVERY, key: value}))) == groups, key


def test_whatever_moves_results_moves_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config(BASIC, BASE)
    before = grid_of(config)
    old, corrected = keys(before), keys(grid_of(config, chapman="corrected labels"))
    assert {name for name in old if old[name] != corrected[name]} == {name for name in old if name[2] == "chapman"}
    assert moved(before, grid_of(config, **{config.data.pretrain: "another corpus"})) == PMQ
    for device, precision in (("cuda", "float32"), ("cpu", "bf16")):
        assert moved(before, grid_of(config, machine=Machine(torch.device(device), precision))) == ALL
    for owner, name, groups in (
        (splits, "SPLIT_VERSION", ALL),
        (keys_module, "PRETRAIN_VERSION", PMQ),
        (METHODS["pmq"], "version", PMQ),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, 99)
            assert moved(before, grid_of(config)) == groups
    for name, groups in (("finetune", FINETUNE), ("linear", LINEAR)):
        with monkeypatch.context() as patched:
            patched.setitem(evaluations.VERSIONS, name, 99)
            assert moved(before, grid_of(config)) == groups


def test_the_encoder_moves_all_keys_but_its_name_alone_when_it_is_the_default_none(tmp_path: Path) -> None:
    before = grid_of(load_config(BASIC, BASE))
    assert moved(before, grid_of(load_config(BASIC, {**BASE, "encoder.name": "dilated"}))) == set()
    grids = [before, grid_of(load_config(BASIC, {**BASE, "encoder.name": "resnet1d"}))]
    for folder, text in {"here": ENCODER, "edited": ENCODER + "# edited", "there": ENCODER}.items():
        file = tmp_path / folder / "linear.py"
        file.parent.mkdir()
        file.write_text(text)
        grids.append(grid_of(load_config(BASIC, {**BASE, "encoder.name": str(file)})))
    assert moved(grids[2], grids.pop()) == set(), "the path of a file is not in the keys"
    for one, two in combinations(grids, 2):
        assert moved(one, two) == ALL


MINE = """
from pydantic.dataclasses import dataclass
import methods.pmq

@dataclass(frozen=True)
class MyConfig(methods.pmq.PMQConfig):
    sharpness: float = 1.0

class Mine(methods.pmq.PMQ):
    name = "mine"
    title = "Mine"
    Config = MyConfig
    version = 7
"""


def test_keys_hold_the_content_of_a_methods_file(tmp_path: Path) -> None:
    def grid(folder: str, method: str) -> Grid:
        (tmp_path / folder).mkdir()
        file = tmp_path / folder / "mine.py"
        file.write_text(method)
        return grid_of(load_config(BASIC, {**BASE, "methods": ["random", str(file)]}))

    before = grid("here", MINE)
    assert moved(before, grid("there", MINE)) == set()
    assert moved(before, grid("edited", MINE + "# edited")) == {"mine finetune", "mine linear"}


def test_what_is_changed_downstream_alone_pretrains_nothing_anew() -> None:
    """Also where the corpus is a labelled dataset, whose split is in the key; labels of another corpus move nothing."""
    downstream = ({"data.leads": [1]}, {"data.pool": "max"}, {"data.labels": "multi"})
    for base, changes in ((BASE, downstream), ({**BASE, "data.pretrain": "ptb-xl"}, downstream[:2])):
        before, *after = (
            {pretraining.key for pretraining in grid_of(load_config(BASIC, {**base, **change})).pretrainings}
            for change in ({}, *changes)
        )
        assert after == [before] * len(changes)


@pytest.mark.parametrize("method", [name for name in ANYWHERE if METHODS[name].trains])
def test_every_hyperparameter_of_a_method_moves_its_keys(method: str) -> None:
    base = load_config(BASIC, {"methods": [method], "baselines": [], "pretrain.preset": "paper"})
    kind: type[MethodConfig] = METHODS[method].Config
    config, hints = kind(), get_type_hints(kind)
    hyperparameters = [
        {f.name: other(getattr(config, f.name), hints[f.name])} for f in fields(kind) if f.name != "recipe"
    ]
    recipe = {"lr": config.recipe.lr * 2, "batch_size": config.recipe.batch_size * 2}
    hyperparameters += [{}, *({"recipe": {name: value}} for name, value in recipe.items())]
    pretrainings = [
        grid_of(base.model_copy(update={"hyperparameters": {method: hyperparameter}})).pretrainings
        for hyperparameter in hyperparameters
    ]
    assert len({pretraining.key for (pretraining,) in pretrainings}) == len(hyperparameters)


def facts_of(cell: Cell) -> dict[str, object]:
    """Collect what a process knows of a cell's method."""
    variant = cell.variant
    hyperparameters = {
        name: value for name, value in vars(variant.config).items() if name in ("sharpness", "queue_size")
    }
    return (
        identity_of(cell)
        | results_versions(cell)
        | {"hyperparameters": hyperparameters, "config": type(variant.config).__name__}
    )


@pytest.mark.slow
def test_a_cell_of_a_method_file_reaches_the_processes_of_a_pool(small_config: SmallConfig, tmp_path: Path) -> None:
    file = tmp_path / "my.own.method.py"
    file.write_text(MINE)
    config = small_config({"methods": [str(file)], "hyperparameters": {"mine": {"sharpness": 2.5, "queue_size": 32}}})
    cells = grid_of(config).cells
    with open_engine("local", 2) as engine:
        futures = [engine.submit(facts_of, cell) for cell in cells]
        facts = [future.result() for future in futures]
    assert facts == [facts_of(cell) for cell in cells]
    assert (facts[0]["method"], facts[0]["mine"], facts[0]["config"]) == ("mine", 7, "MyConfig")
    assert facts[0]["hyperparameters"] == {"queue_size": 32, "sharpness": 2.5}


def keys_of(overrides: dict[str, Any]) -> dict[str, set[str]]:
    """Row -> keys of its cells."""
    keys_of_row: dict[str, set[str]] = {}
    for cell in grid_of(load_config(BASIC, overrides)).cells:
        keys_of_row.setdefault(cell.variant.name, set()).add(cell.key)
    return keys_of_row


RESNET = {"name": "resnet1d", "output": 8}
EVERY_KIND = {
    "methods": ["random", "pmq"], "baselines": ["frozen", "features"], "ablate": ["pmq:w/o queue"],
    "sweeps": {"pmq": {"queue_size": [32]}},
}  # fmt: skip


def test_rows_on_several_encoders_are_the_cells_of_runs_on_each() -> None:
    together = EVERY_KIND | {"encoders": [RESNET], "baselines": ["random", "frozen", "features", "full-labels"]}
    one = {name: value for name, value in together.items() if name != "encoders"}
    other = one | {"encoder.name": "resnet1d", "encoder.output": 8}
    keys_of_row = keys_of(together)
    assert {name: keys for name, keys in keys_of_row.items() if "+" not in name} == keys_of(one)
    on_other = {name: keys for name, keys in keys_of(other).items() if name != "features"}
    assert {name.removesuffix("+resnet1d"): keys for name, keys in keys_of_row.items() if "+" in name} == on_other
    assert not set.union(*keys_of(one).values()) & set.union(*on_other.values())


PLAIN: dict[str, Any] = {"methods": ["random", "moco", "pmq"], "baselines": [], "ratios": [0.3, 0.1], "seeds": [41]}


def planned(overrides: dict[str, Any]) -> Grid:
    return grid_of(load_config(BASIC, {**PLAIN, **overrides}))


def by_name(grid: Grid) -> dict[str, Pretraining]:
    """Row -> pretraining of its cells."""
    return {cell.variant.name: cell.pretraining for cell in grid.cells if cell.pretraining}


def test_equal_passes_give_each_method_its_number_of_updates(
    cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path
) -> None:
    config = small_config({"methods": ["pmq", "byol", "pclr"], "pretrain.budget": "passes", "pretrain.epochs": 8})
    bench = Bench(config, cohorts, Store(tmp_path / "runs"))
    assert bench.work_off() == 0
    records = {name: bench.store.record(pretraining.key) or {} for name, pretraining in by_name(bench.grid).items()}
    seen = {name: card["updates"] * card["batch_size"] for name, card in records.items()}
    assert seen["byol"] / seen["pmq"] == pytest.approx(0.5, rel=0.05)
    measured = [card["encoder_passes"] for card in records.values()]
    assert measured == pytest.approx([records["pmq"]["encoder_passes"]] * 3, rel=0.05)


def test_a_sweep_of_a_config_key_changes_that_key_for_its_row_alone() -> None:
    swept = {
        "pretrain.epochs": [3, 4],
        "encoder.hidden": [8],
        "encoder.name": ["resnet1d"],
        "finetune.lr": [0.5],
        "linear.strengths": [[1.0]],
    }
    grid = planned({"sweeps": {"pmq": swept, "random": {"encoder.hidden": [8]}}, "evaluate": ["finetune", "linear"]})
    assert [v.name for v in grid.variants if v.role == SWEEP] == [
        "pmq:pretrain.epochs=3", "pmq:pretrain.epochs=4", "pmq:encoder.hidden=8", "pmq:encoder.name=resnet1d",
        "pmq:finetune.lr=0.5", "pmq:linear.strengths=[1.0]", "random:encoder.hidden=8",
    ]  # fmt: skip
    made = by_name(grid)
    assert made["pmq:pretrain.epochs=3"].key == made["pmq:finetune.lr=0.5"].key == made["pmq"].key
    assert made["pmq:pretrain.epochs=4"].content["epochs"] == 4
    assert made["pmq:encoder.hidden=8"].content["encoder"]["hidden"] == 8
    other = by_name(planned({"encoder.name": "resnet1d"}))["pmq"]
    assert made["pmq:encoder.name=resnet1d"].key == other.key
    assert made["random:encoder.hidden=8"].key != made["random"].key
    cells = {(cell.variant.name, cell.evaluation): cell for cell in grid.cells if cell.ratio == 0.1}
    assert cells["pmq:finetune.lr=0.5", "finetune"].content["settings"]["lr"] == 0.5
    assert cells["pmq:finetune.lr=0.5", "linear"].key == cells["pmq", "linear"].key
    assert cells["pmq:linear.strengths=[1.0]", "linear"].content["settings"] == {"strengths": [1.0]}
