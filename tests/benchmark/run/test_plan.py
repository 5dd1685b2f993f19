"""What of a run a report is told besides its rows."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from benchmark.data.corpus import corpus_of
from benchmark.machine.device import Machine
from benchmark.results.store import Store
from benchmark.run.grid import Grid, make_grid
from benchmark.run.plan import make_plan
from tests.benchmark.run.bench import Cohorts, SmallConfig

MACHINE = Machine(torch.device("cpu"), "float32", 1)


def test_a_plan_holds_what_a_report_needs(cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path) -> None:
    config, store = small_config(), Store(tmp_path)
    grid = make_grid(config, cohorts, MACHINE)
    plan = make_plan(config, cohorts, grid)
    assert [cell.key for cell in plan.cells] == [cell.key for cell in grid.cells]
    chapman, facts = cohorts["chapman"], plan.datasets["chapman"]
    assert (facts["title"], facts["simulated"]) == ("Chapman", True)
    assert facts["recordings"] == len(chapman.entries)
    assert facts["patients"] == len({entry.patient for entry in chapman.entries})
    assert sum(facts["skipped"].values()) == len(chapman.skipped)
    store.save_plan(plan)
    assert store.load_plan() == plan
    other = make_plan(small_config({"caption": "Other words."}), cohorts, grid)
    assert (other.key != plan.key, other.cells) == (True, plan.cells)


@pytest.mark.parametrize("corpus", ["mimic-iv-ecg", "ptb-xl"])
def test_a_plan_counts_what_is_pretrained_on(cohorts: Cohorts, small_config: SmallConfig, corpus: str) -> None:
    config = small_config({"data.pretrain": corpus})
    spec, facts = config.task_spec(config.pretrain), make_plan(config, cohorts, Grid((), (), ())).pretraining
    source = corpus_of(cohorts[corpus], spec, torch.device("cpu"))
    assert facts["used_recordings"] == len(source.recording.unique())
    assert facts["used_patients"] == len(source.patient.unique())
