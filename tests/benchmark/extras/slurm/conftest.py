"""A SLURM per file of tests; they are skipped, with the reason, where none can be started."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.benchmark.extras.slurm.cluster import Cluster, started, why_not
from tests.benchmark.run.conftest import bench, finished

__all__ = ["bench", "finished"]


@pytest.fixture(scope="module")
def running_slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if reason := why_not():
        pytest.skip(reason)
    with started(tmp_path_factory.mktemp("slurm")) as cluster:
        yield cluster


@pytest.fixture
def slurm(running_slurm: Cluster) -> Iterator[Cluster]:
    """A SLURM with an empty queue."""
    yield running_slurm
    running_slurm.clear()
