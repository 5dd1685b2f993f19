"""A small store with a plan: random and PMQ, probed on Chapman with two seeds."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.results.store import Store
from benchmark.run.plan import make_plan
from tests.benchmark.run.bench import Bench, Cohorts, SmallConfig


@pytest.fixture(scope="session")
def bench(cohorts: Cohorts, small_config: SmallConfig, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The finished grid. Tests change no file of it."""
    config = small_config({"evaluate": ["linear"], "seeds": [41, 42]})
    made = Bench(config, cohorts, Store(tmp_path_factory.mktemp("export") / "runs"))
    made.store.save_plan(make_plan(config, cohorts, made.grid))
    assert made.work_off() == 0
    return made


@pytest.fixture(scope="session")
def results(bench: Bench) -> Path:
    """Its folder."""
    return bench.store.root
