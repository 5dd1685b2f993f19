"""Which cells go together, and what a killed job leaves."""

from __future__ import annotations

from pathlib import Path

from benchmark.results.failures import Failure
from benchmark.results.names import EVALUATIONS
from benchmark.results.store import Store
from benchmark.run.cell import CellJob
from benchmark.run.work.jobs import groups_of, killed
from tests.benchmark.run.bench import Bench, Cohorts, SmallConfig


def jobs_of(bench: Bench) -> list[CellJob]:
    return [
        CellJob(cell, bench.config, bench.prepared[cell.dataset].folder, bench.store.root, "cpu", "float32")
        for cell in bench.grid.cells
    ]


def test_linear_probes_of_an_encoder_go_together_and_every_other_cell_alone(
    cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path
) -> None:
    bench = Bench(small_config({"ratios": [0.5, 0.2]}), cohorts, Store(tmp_path / "runs"))
    groups = groups_of(bench.grid.cells)
    assert sorted(len(group) for group in groups) == [1, 1, 1, 1, 2, 2]
    for group in groups:
        assert len({(cell.pretrain_key, cell.evaluation) for cell in group}) == 1
    assert sorted(cell.key for group in groups for cell in group) == sorted(cell.key for cell in bench.grid.cells)


def test_probes_of_all_kinds_share_the_features_of_an_encoder(
    cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path
) -> None:
    every = {"evaluate": [*EVALUATIONS], "few_shot.shots": [1], "gates": ["features", "supervised"], "ratios": [0.5]}
    groups = groups_of(Bench(small_config(every), cohorts, Store(tmp_path / "runs")).grid.cells)
    together = sorted(sorted({cell.evaluation for cell in group}) for group in groups)
    probes = ["few-shot", "knn", "linear", "linear-fix"]
    assert together == [["features"], probes, probes, ["finetune"], ["finetune"], ["supervised"]]


def test_what_a_killed_process_had_stored_stands(finished: Bench) -> None:
    first, second, *_ = jobs_of(finished)
    (finished.store.root / "cells" / f"{second.cell.key}.json").unlink()
    ends = killed([first, second], RuntimeError("killed"), finished.store)
    assert [(end.key, end.failure) for end in ends] == [
        (first.cell.key, None),
        (second.cell.key, Failure("RuntimeError: killed")),
    ]
