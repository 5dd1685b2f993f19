"""One cell of the grid from start to row: load the encoder, make the task, learn, score, store."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmark.config.config import Config
from benchmark.data.prepared.prepare import Prepared, load_prepared
from benchmark.data.tasks.coverage import coverage
from benchmark.data.tasks.split import SPLIT_VERSION
from benchmark.data.tasks.task import Task, make_task
from benchmark.machine.device import device_facts
from benchmark.machine.versions import git_state, versions
from benchmark.results.metrics import no_scores, score_both_units
from benchmark.results.names import FEATURES, FINETUNE, LINEAR, UNITS
from benchmark.results.rows import Predictions, Row
from benchmark.results.store import Store
from benchmark.training.classical.boosting import boost
from benchmark.training.classical.features import FEATURES_VERSION
from benchmark.training.finetune import FINETUNE_VERSION, Outcome, finetune
from benchmark.training.linear import LINEAR_VERSION, Known, linear_probe
from benchmark.training.pretrain import PRETRAIN_VERSION
from benchmark.training.weights import load_encoder


@dataclass(frozen=True)
class CellJob:
    """All that a process needs to work out one cell."""

    key: str
    pretrain_key: str
    variant: str
    method: str
    evaluation: str
    dataset: str
    ratio: float
    seed: int
    pretrain_seed: int | None
    config: Config
    prepared: Path
    """Folder of the prepared dataset."""
    results: Path
    device: str
    precision: str


@dataclass(frozen=True)
class CellEnd:
    """How a cell ended."""

    key: str
    seconds: float
    error: str
    """'' where it went well."""


def run_together(jobs: Sequence[CellJob]) -> list[CellEnd]:
    """Work out cells one after the other; an error in one does not stop the others.

    Linear probes among them must be of one encoder: each then computes only the features that no earlier one did.
    """
    known: Known = {}
    ends = []
    for job in jobs:
        started, error = time.perf_counter(), ""
        try:
            run_cell(job, known)
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
        ends.append(CellEnd(job.key, time.perf_counter() - started, error))
    return ends


def run_cell(job: CellJob, known: Known) -> None:
    """Work out one cell and store its row; `known` as in `linear_probe`."""
    store, device = Store(job.results), torch.device(job.device)
    prepared = _prepared(job.prepared)
    config = job.config
    task = make_task(
        prepared,
        config.per_trial(config.finetune),
        config.data.labels,
        config.protocol,
        ratio=job.ratio,
        seed=job.seed,
        device=device,
    )
    test = task.test
    lacks = [side for side, windows in task.sides().items() if not len(windows)]
    if lacks:
        scores = dict.fromkeys(UNITS, no_scores(f"no {' and no '.join(lacks)} window", multi=task.multi))
        outcome, test = Outcome(np.empty((0, test.target.shape[1]), np.float32), {"seconds": 0.0}), test.first(0)
        truth = test.truth()
    else:
        outcome, truth = learn(job, task, known), test.truth()
        scores = score_both_units(outcome.probability, truth, test.recording, multi=task.multi)
    row = Row(
        key=job.key,
        pretrain_key=job.pretrain_key,
        variant=job.variant,
        method=job.method,
        evaluation=job.evaluation,
        dataset=job.dataset,
        ratio=job.ratio,
        seed=job.seed,
        pretrain_seed=job.pretrain_seed,
        protocol=config.protocol,
        labels=config.data.labels,
        scores={unit: scored.values for unit, scored in scores.items()},
        undefined={unit: scored.undefined for unit, scored in scores.items()},
        notes=[*task.notes, *outcome.notes],
        counts=task.counts(),
        coverage=dict(coverage(prepared, config.per_trial(config.finetune), config.data.labels, config.protocol)),
        training=outcome.training,
        provenance=provenance(job, prepared, device) | {"split": task.digests()},
    )
    store.save_row(row, Predictions(outcome.probability, truth, test.recording, test.patient))


def learn(job: CellJob, task: Task, known: Known) -> Outcome:
    """Fine-tune or probe the pretrained encoder of a cell. Raises FileNotFoundError where its weights are missing."""
    if job.evaluation == FEATURES:
        return boost(task, job.config.boosting, kind=job.config.data.segmentation, seed=job.seed)
    encoder = load_encoder(Store(job.results).pretrained / job.pretrain_key)
    if job.evaluation == LINEAR:
        return linear_probe(encoder, task, job.config.linear.strengths, precision=job.precision, known=known)
    return finetune(encoder, task, job.config.finetune, seed=job.seed, precision=job.precision)


def provenance(job: CellJob, prepared: Prepared, device: torch.device) -> dict[str, Any]:
    """Where a row comes from."""
    return {
        "config": job.config.model_dump(mode="json"),
        "data": {"fingerprint": prepared.fingerprint, "form": prepared.form, "recordings": len(prepared.entries)},
        "versions": versions(),
        "git": git_state(),
        "device": device_facts(device),
        "precision": job.precision,
        "results_versions": results_versions(job),
    }


def results_versions(job: CellJob) -> dict[str, int]:
    """Results versions of all that a row rests on: rows of two versions are never put together."""
    scored = {FINETUNE: FINETUNE_VERSION, LINEAR: LINEAR_VERSION, FEATURES: FEATURES_VERSION}
    versions = {"split": SPLIT_VERSION, job.evaluation: scored[job.evaluation]}
    if job.pretrain_key:
        versions |= {"pretraining": PRETRAIN_VERSION, job.method: job.config.method_class(job.method).version}
    return versions


@lru_cache(maxsize=4)
def _prepared(folder: Path) -> Prepared:
    prepared = load_prepared(folder)
    if prepared is None:
        raise FileNotFoundError(f"the prepared data in {folder} are gone or damaged; the same command makes them again")
    return prepared
