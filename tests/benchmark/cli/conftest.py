"""A small finished store that its config alone can make again."""

from __future__ import annotations

import pytest

from benchmark.results.store import Store
from benchmark.run.datasets import make_plan
from tests.benchmark.run.bench import Bench, Cohorts, SmallConfig


@pytest.fixture(scope="session")
def finished_bench(cohorts: Cohorts, small_config: SmallConfig, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Random, PMQ and boosted features on Chapman, fine-tuned and probed with two seeds. Tests change no file of it."""
    changes = {
        "evaluate": ["finetune", "linear"],
        "baselines": ["features"],
        "boosting.iterations": 2,
        "seeds": [41, 42],
    }
    config = small_config({**changes, "data.simulation.recordings_per_patient": 2.0})
    made = Bench(config, cohorts, Store(tmp_path_factory.mktemp("finished") / "runs"))
    made.store.save_plan(make_plan(config, cohorts, made.grid))
    assert made.work_off() == 0
    return made
