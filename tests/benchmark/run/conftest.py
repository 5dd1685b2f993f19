"""A small grid before and after its work."""

from __future__ import annotations

import shutil
from copy import deepcopy
from pathlib import Path

import pytest

from benchmark.results.store import Store
from tests.benchmark.run.bench import Bench, Cohorts, SmallConfig
from tests.benchmark.run.grid_runs import runs_in


@pytest.fixture
def bench(cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path) -> Bench:
    """Random and PMQ, fine-tuned and probed on Chapman: four cells on two encoders."""
    return Bench(small_config(), cohorts, Store(tmp_path / "runs"))


@pytest.fixture(scope="session")
def whole(cohorts: Cohorts, small_config: SmallConfig, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The same grid, all of whose work is done; tests only read it."""
    made = Bench(small_config(), cohorts, Store(tmp_path_factory.mktemp("whole") / "runs"))
    assert made.work_off() == 0
    return made


@pytest.fixture
def finished(bench: Bench, whole: Bench) -> Bench:
    """A copy of the finished grid, which a test may damage."""
    shutil.copytree(whole.store.root, bench.store.root)
    bench.heard = deepcopy(whole.heard)
    return bench


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The lines of results.md of a run as a process that nothing disturbs."""
    with runs_in(tmp_path_factory.mktemp("undisturbed")) as runs:
        runs.start("--jobs", "1")
        runs.finish(0)
        return runs.table(0)
