"""One cell of the grid from start to row: load the encoder, make the task, learn, score, store."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from benchmark.config import Config
from benchmark.data.prepare import Prepared, load_prepared
from benchmark.data.task import Task, make_task
from benchmark.finetune import Outcome, finetune
from benchmark.linear import linear_probe
from benchmark.metrics import score_both_units
from benchmark.provenance import device_facts, git_state, versions
from benchmark.store import Predictions, Row, Store
from benchmark.weights import load_encoder


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
    pretrain_seed: int
    config: Config
    prepared: Path
    """Folder of the prepared dataset."""
    results: Path
    device: str
    precision: str


def run_cell(job: CellJob) -> None:
    """Work out one cell and store its row."""
    store, device = Store(job.results), torch.device(job.device)
    prepared = _prepared(job.prepared)
    config = job.config
    task = make_task(
        prepared,
        config.finetune.beats_per_trial,
        config.data.labels,
        config.protocol,
        ratio=job.ratio,
        seed=job.seed,
        device=device,
    )
    outcome = learn(job, task)
    truth = task.test.target.cpu().numpy().astype("int64")  # (n, C)
    scores = score_both_units(outcome.probability, truth, task.test.recording, multi=task.multi)
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
        training=outcome.training,
        provenance=provenance(job, prepared, device),
    )
    store.save_row(row, Predictions(outcome.probability, truth, task.test.recording, task.test.patient))


def learn(job: CellJob, task: Task) -> Outcome:
    """Fine-tune or probe the pretrained encoder of a cell. Raises FileNotFoundError where its weights are missing."""
    if not len(task.train) or not len(task.validation):
        # Nothing to learn from or to choose by: chance for every class, and the task's notes say why.
        classes = task.test.target.shape[1]
        chance = torch.full((len(task.test), classes), 1 / classes).numpy()
        return Outcome(chance, {"seconds": 0.0}, ["not trained: scores are those of equal probabilities"])
    encoder = load_encoder(Store(job.results).pretrained / job.pretrain_key)
    if job.evaluation == "linear":
        return linear_probe(encoder, task, job.config.linear.strengths, precision=job.precision)
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
    }


@lru_cache(maxsize=4)
def _prepared(folder: Path) -> Prepared:
    prepared = load_prepared(folder)
    if prepared is None:
        raise FileNotFoundError(f"the prepared data in {folder} are gone or damaged; the same command makes them again")
    return prepared
