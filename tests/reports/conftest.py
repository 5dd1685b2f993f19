"""A small store of made-up scores, whose means and deviations can be computed by hand.

A score is base[variant] + base[metric] (+ 0.05 on Chapman, - 0.2 at 1 %), and the two seeds lie 0.01 below and above:
every complete mean is the plain sum, and every deviation is 0.01 * sqrt(2), printed 1.4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.results.files import digest
from benchmark.results.names import LEADS, RECORD_FILE
from benchmark.results.store import Failure, Plan, PlannedCell, Predictions, Row, Store, record_bytes
from reports.columns import ScoreColumn
from reports.jackknife import leave_one_out, with_contributions
from reports.results import in_unit

VARIANTS = {"random": 0.5, "moco": 0.6, "pmq": 0.7, "pmq:w/o mask_t": 0.7004}
TRACEBACK = "Traceback (most recent call last):\n  ...\nRuntimeError: the loss is not finite"
RECORD: dict[str, Any] = {
    "health": [],
    "seed": 42,
    "updates": 0,
    "seconds": 0.0,
    "precision": "float32",
    "device": {"type": "cuda", "name": "H200"},
    "versions": {"torch": "2.13.0", "numpy": "2.3.5"},
}
METRICS = {"f1": 0.0, "auroc": 0.2, "acc": 0.1}
DATASETS = ("ptb-xl", "chapman")
TITLES = {"random": "Random", "moco": "MoCo", "pmq": "PMQ", "pmq:w/o mask_t": "PMQ w/o mask_t & 5 % | *"}


CONFIG: dict[str, Any] = {
    "name": "made-up", "caption": "A config's own words.", "protocol": "paper", "methods": [], "printed": [],
    "data": {
        "labels": "single", "segmentation": {"kind": "heartbeats"}, "rate": 250, "standardise": "recording",
        "pool": "mean", "leads": [*LEADS],
    },
    "pretrain": {"preset": "unified", "text_embedder": "tfidf", "budget": "epochs"}, "hyperparameters": {},
    "validation_labels": None,
}  # fmt: skip


def planned() -> list[PlannedCell]:
    cells = [
        ("finetune", variant, dataset, ratio, seed)
        for ratio in (0.3, 0.01)
        for variant in VARIANTS
        for dataset in DATASETS
        for seed in (41, 42)
    ] + [("linear", variant, dataset, 0.3, 41) for variant in ("random", "pmq") for dataset in DATASETS]
    return [
        PlannedCell(digest([evaluation, variant, dataset, ratio, seed]), variant, evaluation, dataset, ratio, seed)
        for evaluation, variant, dataset, ratio, seed in cells
    ]


def plan() -> Plan:
    return Plan(
        health_windows="here",
        key=digest("plan"),
        config=CONFIG,
        variants=TITLES,
        datasets={
            "ptb-xl": {
                "title": "PTB-XL", "simulated": True, "recordings": 30, "patients": 20, "classes": ["NORM", "HYP"],
                "fingerprint": "a",
                "skipped": {"rate under 50/min": 2, "all-zero lead": 1},
            },
            "chapman": {
                "title": "Chapman", "simulated": False, "recordings": 40, "patients": 40, "classes": ["SB", "SR"],
                "skipped": {}, "fingerprint": "b",
            },
        },
        pretraining={
            "name": "mimic-iv-ecg", "title": "MIMIC-IV-ECG", "simulated": True, "recordings": 90, "patients": 9,
            "skipped": {}, "fingerprint": "c", "used_recordings": 80, "used_patients": 8,
        },
        cells=planned(),
    )  # fmt: skip


def row_of(cell: PlannedCell) -> Row:
    base = VARIANTS[cell.variant] + 0.05 * (cell.dataset == "chapman") - 0.2 * (cell.ratio == 0.01)
    wobble = 0.0 if cell.evaluation == "linear" else {41: -0.01, 42: 0.01}[cell.seed]
    scores: dict[str, float | None] = {metric: base + offset + wobble for metric, offset in METRICS.items()}
    undefined = {}
    if (cell.variant, cell.dataset, cell.ratio) == ("moco", "ptb-xl", 0.01):
        scores["auroc"] = None
        undefined["auroc"] = "no class has both signs"
    few = cell.dataset == "ptb-xl" and cell.ratio == 0.01
    return Row(
        key=cell.key,
        pretrain_key=digest(cell.variant),
        variant=cell.variant,
        method=cell.variant.split(":")[0],
        evaluation=cell.evaluation,
        dataset=cell.dataset,
        ratio=cell.ratio,
        seed=cell.seed,
        pretrain_seed=42,
        protocol="paper",
        labels="single",
        scores={"heartbeat": scores, "recording": {"f1": 0.9, "auroc": 0.9, "acc": 0.9, "ece": 0.1}},
        undefined={"heartbeat": undefined, "recording": {}},
        notes=["no labelled window of class HYP"] if few else [],
        counts={"test_windows": 4, "test_patients": 2},
        coverage={
            "NORM": {"patients": 20, "unscored": {}},
            "HYP": {"patients": 4, "unscored": {"p7": "too short", "p8": "heart rate below 50/min", "p9": "too short"}},
        }
        if cell.dataset == "ptb-xl"
        else {"SB": {"patients": 40, "unscored": {}}},
        training={"best_epoch": 3, "lr": 1e-3 if cell.ratio == 0.3 else 1e-4 * (cell.seed - 38), "seconds": 1.5},
        provenance={
            "git": {"commit": "0123456789abcdef0123456789abcdef01234567", "dirty": False},
            "precision": "float32",
            "device": RECORD["device"],
            "versions": RECORD["versions"],
        },
    )


def fails(row: Row) -> bool:
    return (row.variant, row.dataset, row.ratio, row.seed) == ("pmq", "chapman", 0.01, 42)


def is_left_open(row: Row) -> bool:
    return fails(row) or (row.variant, row.dataset, row.ratio) == ("random", "chapman", 0.01)


def write_record(root: Path, name: str, **facts: Any) -> Path:
    """Write the record of a row's pretraining, with health measured on the windows of the plan; returns its file."""
    file = root / "pretrained" / digest(name) / RECORD_FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(record_bytes({"key": digest(name), "health_sample": {"windows_sha256": "here"}} | RECORD | facts))
    return file


@pytest.fixture
def write_store(tmp_path: Path) -> Callable[..., Path]:
    """Write the made-up store, whole or with one cell failed and two not run; `alter` changes rows on the way."""

    def write(
        name: str = "runs",
        *,
        complete: bool = False,
        backwards: bool = False,
        alter: Callable[[Row], Row] = lambda row: row,
        alter_plan: Callable[[Plan], Plan] = lambda plan: plan,
    ) -> Path:
        store = Store(tmp_path / name)
        store.save_plan(alter_plan(plan()))
        ids = np.array(["r1", "r2"])
        predictions = Predictions(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.int64), ids, ids)
        rows = [row_of(cell) for cell in planned()]
        for row in reversed(rows) if backwards else rows:
            if fails(row):
                store.save_failure(row.key, "fine-tune", Failure("RuntimeError: the loss is not finite", TRACEBACK))
            if complete or not is_left_open(row):
                store.save_row(alter(row), predictions)
        return tmp_path / name

    return write


@pytest.fixture
def store_root(write_store: Callable[..., Path]) -> Path:
    """The made-up store with one failed cell and two that were not run."""
    return write_store()


CLASS_SHARES = (0.5, 0.2, 0.18, 0.12)


@dataclass(frozen=True)
class Scatter:
    """Deviations of the logits: of a method on a patient (all its runs alike), of one run on a patient, of a seed."""

    patient: float = 0.0
    run: float = 0.7
    seed: float = 0.0


def simulated_predictions(
    generator: np.random.Generator,
    *,
    methods: int,
    seeds: int,
    patients: int,
    scatter: Scatter,
    advantage: float = 0.0,
    windows: int = 2,
    shares: tuple[float, ...] = CLASS_SHARES,
) -> dict[tuple[int, int], Predictions]:
    """(method, seed) -> predictions of equal methods, but that the first recognises classes better by `advantage`."""
    classes = len(shares)
    truth = np.eye(classes, dtype=np.int64)[generator.choice(classes, size=patients, p=shares)]  # (P, C)
    patient = np.repeat(np.arange(patients), windows)  # (n,)
    names = np.array([f"patient {number:05d}" for number in range(patients)])[patient]
    hard = generator.normal(size=truth.shape)  # (P, C) the same for all methods
    predictions = {}
    for method in range(methods):
        of_method = hard + scatter.patient * generator.normal(size=truth.shape)
        for seed in range(seeds):
            skill = 1.5 + scatter.seed * generator.normal() + (advantage if method == 0 else 0.0)
            logit = skill * truth + of_method + scatter.run * generator.normal(size=truth.shape)
            logit = logit[patient] + 0.5 * generator.normal(size=(len(patient), classes))  # (n, C)
            odds = np.exp(logit)
            probability = (odds / odds.sum(axis=1, keepdims=True)).astype(np.float32)
            predictions[method, seed] = Predictions(probability, truth[patient], names, names)
    return predictions


def simulated_columns(generator: np.random.Generator, **design: Any) -> list[ScoreColumn]:
    """Simulated methods m0, m1, ... scored per recording: the columns F1, AUROC and ACC."""
    predictions = simulated_predictions(generator, **design)
    metrics = ("f1", "auroc", "acc")
    scores = {}
    for run, test in predictions.items():
        left_out = leave_one_out(in_unit(test, "recording"), metrics, multi=False)
        scores[run] = {metric: with_contributions(values) for metric, values in left_out.items()}
    return [
        ScoreColumn(
            "recording", 0.1, "ptb-xl", metric,
            {
                f"m{method}": [np.stack([scores[method, seed][metric] for seed in range(design["seeds"])])]
                for method in range(design["methods"])
            },
        )
        for metric in metrics
    ]  # fmt: skip


@pytest.fixture
def write_predictions(tmp_path: Path) -> Callable[..., Path]:
    """Write a store of given predictions, by (variant, dataset, ratio, seed), but for those that are not run."""

    def write(
        predictions: Mapping[tuple[str, str, float, int], Predictions],
        *,
        name: str = "predicted",
        not_run: Collection[tuple[str, str, float, int]] = (),
        protocol: str = "paper",
        pool: str = "mean",
    ) -> Path:
        store, (model, *_) = Store(tmp_path / name), planned()
        cells, template = [], plan()
        for identity, test_outputs in predictions.items():
            key = digest(list(identity))
            where = dict(zip(("variant", "dataset", "ratio", "seed"), identity, strict=True))
            cells.append(replace(model, key=key, **where))
            if identity not in not_run:
                row = replace(row_of(model), method=identity[0].partition("@")[0], pretrain_key=digest(identity[0]))
                store.save_row(replace(row, key=key, **where), test_outputs)
        datasets = {}
        for (_, dataset, _, _), test_outputs in predictions.items():
            classes = ["NORM", "HYP", "MI", "STTC"][: test_outputs.truth.shape[1]]
            datasets[dataset] = template.datasets["ptb-xl"] | {"title": dataset.upper(), "classes": classes}
        variants = {variant: variant.upper() for variant, _, _, _ in predictions}
        config = template.config | {"protocol": protocol, "data": template.config["data"] | {"pool": pool}}
        store.save_plan(replace(template, config=config, variants=variants, datasets=datasets, cells=cells))
        return tmp_path / name

    return write
