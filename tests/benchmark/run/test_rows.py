"""Variants: the rows of a config, and that they reach a process of their own with the classes of a method file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmark.config.load import load_config
from benchmark.run.cell import identity_of, results_versions
from benchmark.run.engine import open_engine
from benchmark.run.grid import Cell, variants_of
from tests.basic import BASIC
from tests.benchmark.run.bench import SmallConfig, grid_of

MINE = """
from dataclasses import dataclass
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


def facts_of(cell: Cell) -> dict[str, object]:
    """What a process knows of a cell's method."""
    variant = cell.variant
    knobs = {name: value for name, value in vars(variant.config).items() if name in ("sharpness", "queue_size")}
    return identity_of(cell) | results_versions(cell) | {"knobs": knobs, "config": type(variant.config).__name__}


@pytest.mark.slow
def test_a_cell_of_a_method_file_reaches_the_processes_of_a_pool(small_config: SmallConfig, tmp_path: Path) -> None:
    file = tmp_path / "my.own.method.py"
    file.write_text(MINE)
    config = small_config({"methods": [str(file)], "knobs": {"mine": {"sharpness": 2.5, "queue_size": 32}}})
    cells = grid_of(config).cells
    with open_engine("local", 2) as engine:
        futures = [engine.submit(facts_of, cell) for cell in cells]
        facts = [future.result() for future in futures]
    assert facts == [facts_of(cell) for cell in cells]
    assert (facts[0]["method"], facts[0]["mine"], facts[0]["config"]) == ("mine", 7, "MyConfig")
    assert facts[0]["knobs"] == {"queue_size": 32, "sharpness": 2.5}


def test_knobs_of_a_method_in_a_file_go_by_its_name_or_its_path(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("import methods.pmq\n\n\nclass Own(methods.pmq.PMQ):\n    name = 'own'\n    title = 'Own'\n")
    for key in ("own", str(file)):
        config = load_config(BASIC, {"methods": [str(file)], "gates": [], "knobs": {key: {"momentum": 0.5}}})
        (variant,) = variants_of(config)
        assert (variant.name, variant.title) == ("own", "Own")
        assert variant.config.momentum == 0.5  # type: ignore[attr-defined]


def test_an_ablation_of_any_method_is_a_few_lines_of_yaml() -> None:
    moco = {"ablations": {"moco": {"hot": {"temperature": 1.0}}}, "methods": ["moco", "pmq"], "ablate": ["moco:hot"]}
    (variant,) = (v for v in variants_of(load_config(BASIC, moco)) if v.role == "ablation")
    assert (variant.name, variant.title, variant.of) == ("moco:hot", "MoCo hot", "moco")


def keys_of(overrides: dict[str, Any], row: str = "") -> dict[str, set[str]]:
    """Row, or the rows that `row` is the end of -> keys of its cells."""
    keys_of_row: dict[str, set[str]] = {}
    for cell in grid_of(load_config(BASIC, overrides)).cells:
        if cell.variant.name.endswith(row):
            keys_of_row.setdefault(cell.variant.name.removesuffix(row), set()).add(cell.key)
    return keys_of_row


RESNET = {"name": "resnet1d", "output": 8}
EVERY_KIND = {
    "methods": ["random", "pmq"], "gates": ["frozen", "features"], "ablate": ["pmq:w/o queue"],
    "sweeps": {"pmq": {"queue_size": [32]}},
}  # fmt: skip


def test_every_row_is_made_with_every_encoder_and_features_once() -> None:
    rows = variants_of(load_config(BASIC, EVERY_KIND | {"encoders": [RESNET]}))
    single = variants_of(load_config(BASIC, EVERY_KIND))
    assert [row.name for row in rows[: len(single)]] == [row.name for row in single]
    further = [row for row in single if row.name != "features"]
    assert [row.name for row in rows[len(single) :]] == [f"{row.name}+resnet1d" for row in further]
    titles = {row.name: (row.title, row.of, row.facts().get("encoder")) for row in rows}
    assert titles["features"] == ("Beat features, boosted", "", None)
    assert titles["pmq:w/o queue+resnet1d"] == ("PMQ w/o queue on resnet1d", "pmq+resnet1d", "resnet1d")
    assert titles["random-frozen+resnet1d"] == ("Random, frozen on resnet1d", "random+resnet1d", "resnet1d")


def test_rows_on_several_encoders_are_the_cells_of_runs_on_each() -> None:
    together = EVERY_KIND | {"encoders": [RESNET], "gates": ["random", "frozen", "features", "full-labels"]}
    one = {name: value for name, value in together.items() if name != "encoders"}
    other = one | {"encoder.name": "resnet1d", "encoder.output": 8}
    keys_of_row = keys_of(together)
    assert {name: keys for name, keys in keys_of_row.items() if "+" not in name} == keys_of(one)
    on_other = {name: keys for name, keys in keys_of(other).items() if name != "features"}
    assert {name.removesuffix("+resnet1d"): keys for name, keys in keys_of_row.items() if "+" in name} == on_other
    assert not set.union(*keys_of(one).values()) & set.union(*on_other.values())
