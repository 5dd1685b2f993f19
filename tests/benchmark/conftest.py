"""Small simulated cohorts, hand-made recordings and a small config, for the tests of all that follows preparation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.config.config import Config
from benchmark.config.load import load_config
from benchmark.data.datasets.base import LEADS, NO_FOLD, Entry
from benchmark.data.heartbeats import WINDOW
from benchmark.data.prepare import Prepared, prepare
from benchmark.data.task import Task, Windows
from tests.basic import BASIC
from tests.benchmark.small_cohorts import PATIENTS, small_cohort
from tests.benchmark.tables import table

torch.set_num_threads(1)

SMALL: dict[str, Any] = {
    "methods": ["random", "pmq"],
    "methods.pmq.queue_size": 16,
    "data.datasets": ["chapman"],
    "data.simulation.patients": PATIENTS,
    "encoder.hidden": 4,
    "encoder.depth": 2,
    "encoder.output": 8,
    "pretrain.epochs": 2,
    "pretrain.recipe.batch_size": 8,
    "finetune.epochs": 2,
    "finetune.batch_size": 64,
    "ratios": [0.5],
    "baselines": [],
    "seeds": [41],
}
ENCODER = """
from pydantic.dataclasses import dataclass
from torch import nn
from methods.encoders.base import Encoder, EncoderConfig, Size

@dataclass(frozen=True, kw_only=True)
class MineConfig(EncoderConfig):
    output: Size = 6

class Mine(Encoder):
    name, Config = "mine", MineConfig

    def __init__(self, config=None):
        super().__init__(config)
        self.linear = nn.Linear(self.config.leads, 5)
        self.out = nn.Linear(5, self.config.output)

    def embed(self, x):
        return self.linear(x)

    def steps(self, embedded):
        return self.out(embedded.tanh())
"""


@pytest.fixture(scope="session")
def flip() -> Callable[[Path, float], None]:
    """Flip the lowest bit of the byte that lies at a share of a file, in place."""

    def flip_in(file: Path, share: float) -> None:
        with open(file, "r+b") as handle:
            handle.seek(int(share * file.stat().st_size))
            (byte,) = handle.read(1)
            handle.seek(-1, 1)
            handle.write(bytes([byte ^ 1]))

    return flip_in


@pytest.fixture(scope="session")
def cohorts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Prepared]:
    """The four datasets, simulated small and prepared."""
    cache = tmp_path_factory.mktemp("cache")
    return {name: prepare(small_cohort(name), cache, workers=1) for name in PATIENTS}


@pytest.fixture(scope="session")
def small_config() -> Callable[..., Config]:
    """A config that runs in a second, with further dotted overrides laid over it."""

    def make(overrides: dict[str, Any] | None = None) -> Config:
        return load_config(BASIC, deepcopy({**SMALL, **(overrides or {})}))

    return make


@pytest.fixture
def make_prepared(cohorts: dict[str, Prepared], tmp_path: Path) -> Callable[..., Prepared]:
    """A prepared dataset of noise: one (patient, labels, beats, fold) per recording, named r000, r001, ..."""
    number = count()

    def make(name: str, recordings: Sequence[tuple[str, tuple[int, ...], int, int | None]]) -> Prepared:
        folder = tmp_path / f"prepared-{next(number)}"
        folder.mkdir()
        entries = tuple(
            Entry(f"r{index:03}", patient, f"r{index:03}", labels, fold=NO_FOLD if fold is None else fold)
            for index, (patient, labels, _, fold) in enumerate(recordings)
        )
        counts, digests = [count for _, _, count, _ in recordings], [f"{name} {entry.recording}" for entry in entries]
        beats = np.random.default_rng(0).normal(size=(sum(counts), WINDOW, len(LEADS)))
        rates, samples = [500.0] * len(entries), [5000] * len(entries)
        return replace(
            cohorts[name],
            windows=beats.astype(np.float16),
            listed=table(entries, windows=counts, digest=digests, fs=rates, samples=samples),
            folder=folder,
        )

    return make


@pytest.fixture(scope="session")
def make_windows() -> Callable[..., Windows]:
    """Windows that can be told apart: class c is a level of its own in lead c, under noise. Two make a recording."""

    def make(labels: Sequence[Sequence[int]], classes: int, *, seed: int = 0, noise: float = 0.1) -> Windows:
        target = torch.zeros(len(labels), classes)  # (n, C)
        for row, classes_of_window in zip(target, labels, strict=True):
            row[list(classes_of_window)] = 1.0
        level = torch.nn.functional.pad(target, (0, len(LEADS) - classes))  # (n, L)
        generator = torch.Generator().manual_seed(seed)
        signal = level[:, None] + noise * torch.randn(len(labels), 40, len(LEADS), generator=generator)  # (n, S, L)
        names = np.array([f"{seed}-{index // 2}" for index in range(len(labels))], dtype=np.str_)
        return Windows(signal.half(), target, names, names)

    return make


@pytest.fixture(scope="session")
def make_task(make_windows: Callable[..., Windows]) -> Callable[..., Task]:
    """A task of such windows: labels of the three sides, each a list of classes per window."""

    def make(
        train: Sequence[Sequence[int]],
        validation: Sequence[Sequence[int]],
        test: Sequence[Sequence[int]],
        *,
        classes: int = 3,
        multi: bool = False,
        unit: str = "heartbeat",
        noise: float = 0.1,
    ) -> Task:
        sides = [make_windows(y, classes, seed=s, noise=noise) for s, y in enumerate((train, validation, test))]
        return Task(train=sides[0], validation=sides[1], test=sides[2], multi=multi, unit=unit)

    return make


@pytest.fixture(scope="session")
def encoder_text() -> str:
    """A file that defines an encoder, as a user would write one."""
    return ENCODER
