"""Submissions whose scores are those of their predictions: methods of a known skill on shared test patients."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from benchmark.results.files import write_atomic
from benchmark.results.metrics import score_both_units
from benchmark.results.names import CARD
from benchmark.results.schema import digest
from benchmark.results.store import Plan, PlannedCell, Predictions, Row, Store, card_bytes
from reports.open import pack
from reports.runs import open_run

CLASSES = ("NORM", "MI", "HYP")
TITLES = {"ptb-xl": "PTB-XL", "chapman": "Chapman", "cpsc2018": "CPSC2018"}
WINDOWS = 2
FINGERPRINT = "0123456789abcdef"


@dataclass(frozen=True)
class Entry:
    """A submission to be written: by default two methods on two datasets at one ratio over three seeds."""

    name: str
    skills: Mapping[str, float] = field(default_factory=lambda: {"random": 0.0, "pmq": 2.0})
    datasets: Sequence[str] = ("ptb-xl", "chapman")
    ratios: Sequence[float] = (0.1,)
    seeds: Sequence[int] = (41, 42, 43)
    protocol: str = "strict"
    labels: str = "single"
    patients: int = 60
    cohort: str = ""
    """Another one has other patients."""
    roles: Mapping[str, str] = field(default_factory=dict)
    simulated: bool = True
    alter: Callable[[Row], Row] = lambda row: row
    alter_predictions: Callable[[Predictions], Predictions] = lambda found: found
    alter_plan: Callable[[Plan], Plan] = lambda plan: plan
    skip: Callable[[PlannedCell], bool] = lambda cell: False


def generator_of(*parts: object) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr(parts).encode()))


def predictions_of(entry: Entry, cell: PlannedCell) -> Predictions:
    """Test output of a method of some skill; the patients of a cohort are the same for all submissions."""
    drawn = generator_of(cell.dataset, entry.cohort)
    truth = np.eye(len(CLASSES), dtype=np.int64)[drawn.integers(len(CLASSES), size=entry.patients)]  # (P, C)
    hard = drawn.normal(size=truth.shape)  # (P, C)
    names = np.array([f"{entry.cohort}p{number:03}" for number in range(entry.patients)])
    place = (cell.variant, cell.dataset, cell.ratio, cell.seed, *([cell.subset] if cell.subset else []))
    own = generator_of(entry.name, *place).normal(size=truth.shape)
    patient = np.repeat(np.arange(entry.patients), WINDOWS)  # (n,)
    odds = np.exp(entry.skills[cell.variant] * truth + hard + 0.3 * own)[patient]  # (n, C)
    probability = (odds / odds.sum(axis=1, keepdims=True)).astype(np.float32)
    return Predictions(probability, truth[patient], names[patient], names[patient])


def row_of(entry: Entry, cell: PlannedCell, found: Predictions) -> Row:
    scored = score_both_units(found.probability, found.truth, found.recording, multi=entry.labels == "multi")
    pretrained = cell.variant not in ("random", "features")
    return Row(
        key=cell.key, pretrain_key=pretrain_key(entry, cell) if cell.variant != "features" else "",
        variant=cell.variant, method=cell.variant.partition("@")[0], evaluation=cell.evaluation, dataset=cell.dataset,
        ratio=cell.ratio, seed=cell.seed, subset=cell.subset, pretrain_seed=cell.seed,
        protocol=entry.protocol, labels=entry.labels,
        scores={unit: own.values for unit, own in scored.items()},
        undefined={unit: own.undefined for unit, own in scored.items()},
        notes=[], counts={}, coverage={}, training={},
        provenance={
            "git": {"commit": digest(entry.name) * 2, "dirty": False},
            "device": {"type": "cpu", "name": "x86_64", "threads": 2},
            "precision": "float32",
            "versions": {"torch": "2.13.0"},
            "results_versions": {"split": 3, cell.evaluation: 2, "pretraining": 2},
            "data": {"name": cell.dataset, "fingerprint": FINGERPRINT, "simulated": entry.simulated},
            "corpus": {"simulated": entry.simulated} if pretrained else {},
        },
    )  # fmt: skip


def pretrain_key(entry: Entry, cell: PlannedCell) -> str:
    return digest([entry.name, cell.variant, cell.seed])


def plan_of(entry: Entry) -> Plan:
    cells = [
        PlannedCell("", variant, "linear", dataset, ratio, seed)
        for ratio in entry.ratios for variant in entry.skills for dataset in entry.datasets for seed in entry.seeds
    ]  # fmt: skip
    facts: dict[str, Any] = {"recordings": 60, "patients": 60, "skipped": 0, "simulated": entry.simulated}
    roles = {name: {"role": role, "of": "", "knob": "", "value": None} for name, role in entry.roles.items()}
    return Plan(
        key=f"plan-{digest(entry.name)}",
        config={
            "name": entry.name, "protocol": entry.protocol, "data": {"labels": entry.labels},
            "pretrain": {"epochs": 12, "budget": "passes", "preset": "unified"}, "linear": {"strengths": [0.1, 1.0]},
        },
        variants={variant: variant.upper() for variant in entry.skills},
        datasets={
            name: facts | {"title": TITLES[name], "classes": list(CLASSES), "fingerprint": FINGERPRINT}
            for name in entry.datasets
        },
        pretraining=facts | {"name": "mimic-iv-ecg", "title": "MIMIC-IV-ECG"},
        roles=roles,
        cells=[replace(cell, key=key_of(entry, cell)) for cell in cells],
    )  # fmt: skip


def key_of(entry: Entry, cell: PlannedCell) -> str:
    """Gates have equal settings, and so equal keys, in every submission."""
    own = "" if cell.variant in ("random", "features") else entry.name
    return digest([own, cell.variant, cell.dataset, cell.ratio, cell.seed])


def write_cards(entry: Entry, store: Store, cells: Sequence[PlannedCell]) -> None:
    for cell in cells:
        if cell.variant in ("random", "features"):
            continue
        folder = store.pretrained / pretrain_key(entry, cell)
        card = {
            "key": folder.name, "device": {"type": "cpu", "name": "x86_64", "threads": 2}, "precision": "float32",
            "loss": [1.0], "parameters": 1234, "updates": 5, "batch_size": 20, "windows_per_epoch": 100,
            "encoder_passes": 400.0, "seconds": 10.0, "peak_memory_gib": 0.5, "joules": None,
        }  # fmt: skip
        write_atomic(folder / CARD, card_bytes(card))


@pytest.fixture(scope="module", autouse=True)
def few_resamples() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("reports.leaderboard.RESAMPLES", 200)
        yield


@pytest.fixture(scope="module")
def submit(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Entry], str]:
    """Write a submission's results folder and its capsule, equal ones once; returns the capsule's path."""
    written: list[tuple[Entry, str]] = []

    def write(entry: Entry) -> str:
        for known, path in written:
            if known == entry:
                return path
        folder = tmp_path_factory.mktemp("submission")
        store, plan = Store(folder / "store"), entry.alter_plan(plan_of(entry))
        store.save_plan(plan)
        for cell in plan.cells:
            if not entry.skip(cell):
                found = entry.alter_predictions(predictions_of(entry, cell))
                store.save_row(entry.alter(row_of(entry, cell, found)), found)
        write_cards(entry, store, plan.cells)
        file = folder / f"{entry.name}.zip"
        pack(open_run(store.root), file)
        written.append((entry, str(file)))
        return str(file)

    return write
