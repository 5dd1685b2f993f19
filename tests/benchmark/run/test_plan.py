"""What of a run a report is told besides its rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from benchmark.config.config import Config
from benchmark.data.corpus.source import pretrained_entries, pretraining_source
from benchmark.data.prepared.load import Prepared
from benchmark.results.store import Store
from benchmark.run.grid.cells import Grid
from benchmark.run.grid.make import make_grid
from benchmark.run.machine import Machine
from benchmark.run.plan import make_plan

MACHINE = Machine(torch.device("cpu"), "float32", 1)
SmallConfig = Callable[..., Config]
Cohorts = dict[str, Prepared]


def test_a_plan_holds_what_a_report_needs(cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path) -> None:
    config, store = small_config(), Store(tmp_path)
    grid = make_grid(config, cohorts, MACHINE)
    plan = make_plan(config, cohorts, grid)
    assert [cell.key for cell in plan.cells] == [cell.key for cell in grid.cells]
    assert plan.variants == {"random": "Random", "pmq": "PMQ"}
    chapman = cohorts["chapman"]
    facts = plan.datasets["chapman"]
    assert (facts["title"], facts["simulated"]) == ("Chapman", True)
    assert (facts["recordings"], facts["patients"]) == (
        len(chapman.entries),
        len({entry.patient for entry in chapman.entries}),
    )
    assert sum(facts["skipped"].values()) == len(chapman.skipped)
    assert plan.pretraining["name"] == "mimic-iv-ecg"
    assert plan.pretraining["used_recordings"] <= plan.pretraining["recordings"]
    store.save_plan(plan)
    assert store.load_plan() == plan
    assert make_plan(config, cohorts, grid).key == plan.key


@pytest.mark.parametrize("corpus", ["mimic-iv-ecg", "ptb-xl"])
def test_a_plan_counts_what_is_pretrained_on(cohorts: Cohorts, small_config: SmallConfig, corpus: str) -> None:
    config = small_config({"data.pretrain": corpus})
    spec, facts = config.task_spec(config.pretrain), make_plan(config, cohorts, Grid((), (), ())).pretraining
    source = pretraining_source(cohorts[corpus], spec, torch.device("cpu"))
    assert facts["used_recordings"] == len(source.recording.unique())
    assert facts["used_patients"] == len(source.patient.unique())
    folds = {entry.fold for entry in pretrained_entries(cohorts[corpus], spec)}
    assert folds <= ({*range(1, 9)} if corpus == "ptb-xl" else {None})


def test_another_caption_is_another_plan_of_the_same_cells(cohorts: Cohorts, small_config: SmallConfig) -> None:
    config = small_config()
    grid = make_grid(config, cohorts, MACHINE)
    plan = make_plan(config, cohorts, grid)
    other = make_plan(small_config({"caption": "Other words."}), cohorts, grid)
    assert other.key != plan.key
    assert other.cells == plan.cells
