"""Numbers do not move unnoticed: a tiny run of every stage against golden values and the results versions they are of.

`golden.json` holds, per subject ('pretrain pmq'), values and the versions that vouch for them. A change that moves a
value raises a version of its subject; `GOLDEN=write pytest tests/benchmark/run/test_golden.py` then writes the values
anew, and refuses to for a subject whose versions are as they were.

Learning rates, weight decay and momenta are far from any default, so that a few updates show them. Values are losses
and mean probabilities, which move little where an argmax or a score would jump. Evaluations are looked at from the
untrained encoder; `linear` also shows that every pretraining is what it was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.config.config import SET_ELSEWHERE, Config
from benchmark.data.prepare import PIPELINE_VERSION, Prepared
from benchmark.data.report_text import TEXT_VERSION
from benchmark.data.simulate import SIMULATOR_VERSION
from benchmark.data.splits import SPLIT_VERSION, TaskSpec
from benchmark.machine import Machine
from benchmark.results.names import EVALUATION_FACTS, FEATURES, LINEAR, RETRIEVAL, SUPERVISED, UNTRAINED
from benchmark.results.store import Store
from benchmark.run.engine import Inline
from benchmark.run.grid import Cell, Grid, Pretraining, make_grid
from benchmark.run.tasks import context_of, execute, missing
from benchmark.training import evaluations
from benchmark.training.pretrain import PRETRAIN_VERSION
from methods import METHODS
from methods.encoders import DEFAULT, ENCODERS
from tests.basic import ANYWHERE
from tests.benchmark.run.bench import Heard
from tests.benchmark.tasks import make_task

FILE = Path(__file__).with_name("golden.json")
COMMAND = "GOLDEN=write python -m pytest tests/benchmark/run/test_golden.py"
TOLERANCES = {"pretrain": 1e-3, "linear": 2e-2, "finetune": 1e-3, "features": 1e-3, "data": 1e-4, "split": 0.0}
TOLERANCES |= {
    "knn": 4e-3,
    "supervised": 4e-3,
    "attention": 4e-3,
    "combined": 1e-2,
    "erased": 2e-2,
    "erased-random": 2e-2,
}
"""Stage -> largest difference, relative to values above 1: about three times that of other threads and instructions."""
CPU = torch.device("cpu")
MOMENTUM = {f"methods.{name}.momentum": 0.8 for name in ("moco", "byol", "pmq", "pmq-released")}
COLD = {f"methods.{name}.temperature": 0.005 for name in ("clocs", "pclr")}
"""Without batch normalisation first outputs are nearly equal: a low temperature tells them apart."""
QUEUES = {f"methods.{name}.queue_size": 16 for name in ("moco", "pmq", "pmq-released")}
TINY: dict[str, Any] = {
    "methods": ANYWHERE,
    "baselines": ["features", "supervised"],
    "linear.strengths": [0.01, 0.1, 1.0, 10.0],
    "evaluate": [name for name in EVALUATION_FACTS if name != RETRIEVAL],
    "knn.neighbours": [10_000],
    "supervised": {"epochs": 2, "lr": 1e-3, "weight_decay": 10.0, "batch_size": 32},
    "sweeps": {"pmq": {"positives": ["own", "recording"]}},
    "pretrain.epochs": 3,
    "pretrain.recipe": {"lr": 1e-3, "weight_decay": 3.0, "batch_size": 8},
    "finetune": {"epochs": 1, "lr": 1e-3, "weight_decay": 10.0, "batch_size": 32, "least_updates": 8},
    "boosting.iterations": 20,
    **MOMENTUM,
    **QUEUES,
    **COLD,
}
ON_TOKENS = [name for name in METHODS if name not in ANYWHERE]
OTHER_ENCODERS = {name: ["simclr"] for name in ENCODERS if name != DEFAULT} | {"vit1d": ["simclr", *ON_TOKENS]}
"""Encoder -> the methods of its grid, beside the untrained encoder."""
LONG_TOKENS = {"vit1d": {"patch": 10}}
"""Set in place of an encoder's small hyperparameters: tokens of two samples take minutes and gigabytes."""
CALM = {"lr": 1e-4, "weight_decay": 3.0, "batch_size": 16}
"""At `TINY`'s rate and batches a hundred layers with batch normalisation move by a percent without vectors."""
Subject = dict[str, Any]
"""`versions` that vouch for the values, and `values`: numbers or texts."""
VERSIONS_OF_DATA = {"SIMULATOR_VERSION": SIMULATOR_VERSION, "PIPELINE_VERSION": PIPELINE_VERSION}


def subject_of_data(data: Prepared) -> Subject:
    """Sizes of a prepared cohort, and the course of its mean absolute window."""
    course = np.abs(data.windows.astype(np.float64)).mean((0, 2))[::30]  # (S / 30,)
    return {"versions": VERSIONS_OF_DATA, "values": [data.usable, len(data.windows), *course.tolist()]}


def subject_of_split(data: Prepared, spec: TaskSpec) -> Subject:
    """Digests of the sides of a task."""
    task = make_task(data, spec, ratio=0.3, seed=41, device=CPU)
    return {"versions": {"SPLIT_VERSION": SPLIT_VERSION}, "values": sorted(task.digests().values())}


def subject_of_pretraining(pretraining: Pretraining, store: Store) -> Subject:
    """Loss of each epoch; of an untrained encoder nothing."""
    method, record = pretraining.method, store.record(pretraining.key) or {}
    text = {"TEXT_VERSION": TEXT_VERSION} if method.needs_text else {}
    versions = {f"version of {method.name}": method.version, "PRETRAIN_VERSION": PRETRAIN_VERSION} | text
    return {"versions": versions, "values": record.get("loss", [])}


def subject_of_cell(cell: Cell, store: Store) -> Subject:
    """Mean log-probability of the truth, and mean probability of each class."""
    predictions = store.predictions(cell.key)
    truth = np.log(predictions.probability[predictions.truth.astype(bool)]).mean()
    version = f"{cell.evaluation.upper().replace('-', '_')}_VERSION"
    versions = {version: evaluations.VERSIONS[cell.evaluation]}
    return {"versions": versions, "values": [float(truth), *predictions.probability.mean(0).astype(float).tolist()]}


def config_of_encoder(name: str) -> dict[str, Any]:
    """Return the config of the grid of an encoder other than the default, in place of `TINY`."""
    sizes = {
        hyperparameter: value
        for hyperparameter, value in asdict(ENCODERS[name].Config.small()).items()
        if hyperparameter not in SET_ELSEWHERE
    }
    changed = {"methods": ["random", *OTHER_ENCODERS[name]], "baselines": [], "sweeps": {}, "evaluate": [LINEAR]}
    changed |= {"pretrain.epochs": 2, "pretrain.recipe": CALM}
    return (
        TINY | changed | {"encoder": {"name": name, **sizes, **LONG_TOKENS.get(name, {})}, "data.datasets": ["chapman"]}
    )


def run_grid(config: Config, cohorts: dict[str, Prepared], store: Store) -> tuple[Grid, tuple[Cell, ...]]:
    """Run a grid but for the cells that are not looked at; returns it with those that are."""
    machine = Machine(CPU, "float32", 1)
    grid = make_grid(config, cohorts, machine)
    shown = (LINEAR, FEATURES, SUPERVISED)
    cells = tuple(cell for cell in grid.cells if cell.evaluation in shown or cell.variant.name == UNTRAINED)
    work = replace(missing(grid, store), cells=cells)
    heard = Heard()
    store.root.mkdir(exist_ok=True)
    execute(work, context_of(config, cohorts, store, machine), Inline(), heard)
    assert heard.failed == {}
    return grid, cells


def subjects_of_grid(config: Config, cohorts: dict[str, Prepared], store: Store, where: str = "") -> dict[str, Subject]:
    """Pretrainings, then cells, of a grid that is run now; `where` ends the name of each."""
    grid, cells = run_grid(config, cohorts, store)
    subjects = {f"pretrain {p.variant.name}{where}": subject_of_pretraining(p, store) for p in grid.pretrainings}
    return subjects | {f"{c.evaluation} {c.variant.name}{where}": subject_of_cell(c, store) for c in cells}


@pytest.fixture(scope="module")
def subjects(
    cohorts: dict[str, Prepared], small_config: Callable[..., Config], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Subject]:
    """The values that today's code gives, in the order of the stages, so that the first that moved is the cause."""
    store = Store(tmp_path_factory.mktemp("golden") / "runs")
    subjects = {f"data {name}": subject_of_data(data) for name, data in cohorts.items()}
    for name in ("ptb-xl", "chapman", "cpsc2018"):
        for spec in (TaskSpec(6, "single", "paper"), TaskSpec(6, "single", "strict"), TaskSpec(1, "multi", "strict")):
            if name != "chapman" or spec.labels == "single":
                subjects[f"split {name} {spec.labels} {spec.protocol}"] = subject_of_split(cohorts[name], spec)
    subjects |= subjects_of_grid(small_config(TINY), cohorts, store)
    for name in OTHER_ENCODERS:
        subjects |= subjects_of_grid(small_config(config_of_encoder(name)), cohorts, store, f" on {name}")
    return subjects


def moved(subjects: dict[str, Subject], golden: dict[str, Subject]) -> list[str]:
    """Subjects of the golden versions whose values are not near the golden ones; none where data or splits are others.

    What a pretraining of another version leads to moves with it.
    """
    raised = {name for name, subject in subjects.items() if subject["versions"] != golden.get(name, {}).get("versions")}
    if any(name.startswith(("data", "split")) for name in raised):
        return []
    names = [name for name in subjects if not {name, f"pretrain {name.partition(' ')[2]}"} & raised]
    return [name for name in names if not near(name, subjects[name]["values"], golden[name]["values"])]


def near(name: str, values: list[Any], golden: list[Any]) -> bool:
    """Tell whether the values of a subject are equal, numbers within its tolerance."""
    bound = TOLERANCES[name.split()[0]]
    return len(values) == len(golden) and all(
        abs(value - old) <= bound * max(1.0, abs(old)) if isinstance(old, float) else value == old
        for value, old in zip(values, golden, strict=True)
    )


@pytest.mark.slow
@pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="torch draws other random numbers without MKL")
def test_no_number_moves_without_a_raised_results_version(subjects: dict[str, Subject]) -> None:
    golden = json.loads(FILE.read_text())["subjects"]
    for name in moved(subjects, golden)[:1]:  # what comes after the first moves with it
        versions = " or ".join(subjects[name]["versions"])
        pytest.fail(f"{name} moved, from {golden[name]['values']} to {subjects[name]['values']}: raise {versions}")
    if os.environ.get("GOLDEN") == "write":
        FILE.write_text(json.dumps({"subjects": subjects}, indent=1) + "\n")
    else:
        versions = {name: subject["versions"] for name, subject in subjects.items()}
        assert versions == {name: subject["versions"] for name, subject in golden.items()}, f"write with {COMMAND}"


def test_whatever_computes_has_golden_values() -> None:
    valued = {name for name, subject in json.loads(FILE.read_text())["subjects"].items() if subject["values"]}
    pretrained = {name.removeprefix("pretrain ") for name in valued if name.startswith("pretrain ")}
    methods = {name.partition(" on ")[0] for name in pretrained}
    assert [name for name, kind in METHODS.items() if kind.trains and name not in methods] == []
    assert {name.partition(" on ")[2] or DEFAULT for name in pretrained} == set(ENCODERS)
