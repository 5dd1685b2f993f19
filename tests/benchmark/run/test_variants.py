"""Variants: the rows of a config, and that they reach a process of their own with the classes of a method file."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

from benchmark.config.config import Config
from benchmark.config.load import load_config
from benchmark.run.cell import CellJob, place_of, results_versions
from benchmark.run.engines.local import Engine, Tell, run_tasks
from benchmark.run.grid import Cell, expand
from benchmark.run.variants import variants_of
from tests.basic import BASIC

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
SmallConfig = Callable[..., Config]


def facts_of(job: CellJob) -> dict[str, object]:
    """What a process knows of a cell's method."""
    variant = job.cell.variant
    knobs = {name: value for name, value in vars(variant.config).items() if name in ("sharpness", "queue_size")}
    return place_of(job.cell) | results_versions(job.cell) | {"knobs": knobs, "config": type(variant.config).__name__}


def told_facts_of(job: CellJob, tell: Tell) -> dict[str, object]:
    """`facts_of` as a task."""
    return facts_of(job)


def cells_of(config: Config) -> tuple[Cell, ...]:
    return expand(
        config, corpus="corpus", fingerprints={"chapman": "data"}, mode={"device": "cpu", "precision": "x"}
    ).cells


def test_every_kind_of_variant_pickles_to_itself() -> None:
    overrides = {"gates": ["frozen", "features"], "ablate": ["all"], "sweeps": {"pmq": {"queue_size": [32]}}}
    variants = variants_of(load_config(BASIC, overrides))
    assert {variant.role for variant in variants} == {"method", "gate", "ablation", "sweep"}
    assert pickle.loads(pickle.dumps(variants)) == variants
    for name, variant in {variant.name: variant for variant in variants}.items():
        assert variant.method_name == {"random-frozen": "random"}.get(name, name.partition(":")[0])


def test_a_cell_of_a_method_file_reaches_the_processes_of_a_pool(small_config: SmallConfig, tmp_path: Path) -> None:
    file = tmp_path / "my.own.method.py"
    file.write_text(MINE)
    config = small_config({"methods": [str(file)], "knobs": {"mine": {"sharpness": 2.5, "queue_size": 32}}})
    cells = cells_of(config)
    jobs = [CellJob(cell, config, tmp_path, tmp_path, "cpu", "float32") for cell in cells]
    assert len(jobs) == 2
    waiting = iter(jobs)
    engine: Engine[CellJob, dict[str, object]] = Engine(
        told_facts_of, lambda: next(waiting, None), lambda job: 1, lambda job: None, lambda told: None
    )
    ended = list(run_tasks(engine, jobs=2))
    assert [end.error for end in ended] == [None, None]
    assert {end.task.cell.key: end.result for end in ended} == {job.cell.key: facts_of(job) for job in jobs}
    told = ended[0].result
    assert told is not None
    assert (told["method"], told["mine"], told["config"]) == ("mine", 7, "MyConfig")
    assert told["knobs"] == {"queue_size": 32, "sharpness": 2.5}


def test_a_method_in_a_file_of_ones_own_is_a_row(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import methods.pmq\n\n\nclass Mine(methods.pmq.PMQ):\n    name = 'mine'\n    title = 'Mine'\n")
    (variant,) = variants_of(load_config(BASIC, {"methods": [str(file)], "gates": []}))
    assert (variant.name, variant.title) == ("mine", "Mine")


def test_knobs_of_a_method_in_a_file_go_by_its_name_or_its_path(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("import methods.pmq\n\n\nclass Own(methods.pmq.PMQ):\n    name = 'own'\n    title = 'Own'\n")
    for key in ("own", str(file)):
        config = load_config(BASIC, {"methods": [str(file)], "gates": [], "knobs": {key: {"momentum": 0.5}}})
        (variant,) = variants_of(config)
        assert variant.config.momentum == 0.5  # type: ignore[attr-defined]


def test_an_ablation_of_any_method_is_a_few_lines_of_yaml() -> None:
    own = {"ablations": {"moco": {"hot": {"temperature": 1.0}}}, "methods": ["moco", "pmq"], "ablate": ["moco:hot"]}
    (variant,) = (v for v in variants_of(load_config(BASIC, own)) if v.role == "ablation")
    assert (variant.name, variant.title, variant.of) == ("moco:hot", "MoCo hot", "moco")
