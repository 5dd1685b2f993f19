"""A small grid before and after its work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from benchmark.results.store import Store
from tests.benchmark.run.bench import Bench, Cohorts, SmallConfig


@pytest.fixture
def bench(cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path) -> Bench:
    """Random and PMQ, fine-tuned and probed on Chapman: four cells on two encoders."""
    return Bench(small_config(), cohorts, Store(tmp_path / "runs"))


@pytest.fixture
def finished(bench: Bench) -> Bench:
    assert bench.work_off() == 0
    return bench


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)
