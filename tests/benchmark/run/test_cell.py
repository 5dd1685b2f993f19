"""One cell from its encoder to its row: all facts stored, scores that follow from the stored predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.config.load import validate
from benchmark.data.column import Column
from benchmark.data.prepare import Prepared
from benchmark.data.splits import VALIDATION_LABELS, TaskSpec
from benchmark.data.task import Sides, Windows
from benchmark.results.metrics import (
    COLUMNS,
    HEADLINES,
    METRICS,
    RECALLS,
    THRESHOLDED,
    decided_by,
    per_recording,
    ranked_classes,
    score_both_units,
)
from benchmark.results.names import RECORDING, UNITS
from benchmark.results.store import Row, Store
from benchmark.run import cell as cell_module
from benchmark.run.cell import CellInput, Shared, folds_of, identity_of, learn, run_cell, source_facts
from benchmark.run.grid import Cell, Context, Pretraining, spec_of
from benchmark.run.rows import Variant
from benchmark.run.tasks import code_digest
from benchmark.training.checkpoint import load_encoder, save_encoder
from benchmark.training.health import patient_hits
from benchmark.training.probes import features
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.pmq import PMQ, PMQConfig
from tests.benchmark.run.bench import Cohorts, SmallConfig
from tests.benchmark.tasks import make_task as task_of

MakeJob = Callable[..., CellInput]


@pytest.fixture
def make_job(cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path) -> MakeJob:
    """A job on a dataset, whose encoder lies in the store."""

    def make(name: str = "chapman", evaluation: str = "finetune", **overrides: object) -> CellInput:
        torch.manual_seed(0)
        save_encoder(
            Store(tmp_path / "runs").pretrained / ("e" * 16), Dilated(DilatedConfig(hidden=4, depth=2, output=8)), {}
        )
        variant = Variant("pmq:w/o queue", "PMQ w/o queue", PMQ, PMQConfig(queue_size=0), "ablation", base="pmq")
        pretraining = Pretraining("e" * 16, variant, 42)
        cell = Cell("c" * 16, variant, pretraining, evaluation, evaluation, name, 0.5, 41, content={"version": 1})
        config = small_config(overrides)
        folders = {name: data.folder for name, data in cohorts.items()}
        corpus = source_facts(cohorts["mimic-iv-ecg"])
        store = Store(tmp_path / "runs")
        context = Context(config, folders, corpus, store, torch.device("cpu"), "float32", code=code_digest())
        return CellInput(cell, config, context)

    return make


def run(job: CellInput) -> Row:
    run_cell(job.cell, job.context, Shared())
    row = job.context.store.load_row(job.cell.key)
    assert row is not None
    return row


def test_a_row_states_its_provenance(make_job: MakeJob, cohorts: Cohorts) -> None:
    job = make_job()
    row = run(job)
    assert all(getattr(row, name) == value for name, value in identity_of(job.cell).items())
    assert (row.variant, row.method, row.pretrain_seed) == ("pmq:w/o queue", "pmq", 42)
    assert validate(row.provenance["config"]) == job.config
    data = row.provenance["data"]
    assert (data["name"], data["fingerprint"], data["simulated"]) == ("chapman", cohorts["chapman"].fingerprint, True)
    assert (row.provenance["device"]["type"], row.provenance["precision"]) == ("cpu", "float32")
    assert {"versions", "git"} <= row.provenance.keys()
    assert row.training["seconds"] > 0
    assert len(row.training["validation_f1"]) == job.config.finetune.epochs


def thresholded(store: Store, row: Row) -> dict[str, dict[str, float]]:
    """Scores by thresholds that the stored validation predictions choose: unit -> metric -> value; none of `paper`."""
    sides: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    scores: dict[str, dict[str, float]] = {}
    for unit in UNITS:
        for prefix in ("validation_", ""):
            side = store.predictions(row.key, prefix)  # type: ignore[arg-type]
            sides[prefix] = side.truth, side.probability
            if unit == RECORDING:
                probability, truth, _ = per_recording(side.probability, side.truth, side.recording)
                sides[prefix] = truth, probability
        scores[unit] = {}
        for name in THRESHOLDED if row.protocol == "strict" else ():
            truth, probability = sides[""]
            decided = decided_by(name, sides["validation_"], probability)
            scores[unit][name] = METRICS[name].score(truth, decided, True)
    return scores


@pytest.mark.parametrize(
    ("name", "labels", "evaluation", "protocol"),
    [("chapman", "single", "linear", "strict"), ("ptb-xl", "multi", "finetune", "paper")],
)
def test_scores_follow_from_the_stored_predictions(
    make_job: MakeJob, cohorts: Cohorts, name: str, labels: str, evaluation: str, protocol: str
) -> None:
    job = make_job(name, evaluation, **{"data.labels": labels, "protocol": protocol})
    row = run(job)
    spec = TaskSpec(6, labels, protocol, validation_labels=VALIDATION_LABELS[protocol])  # type: ignore[arg-type, index]
    task = task_of(cohorts[name], spec, ratio=0.5, seed=41, device=torch.device("cpu"))
    predictions = job.context.store.predictions(job.cell.key)
    np.testing.assert_array_equal(predictions.truth, task.test.target.numpy())
    np.testing.assert_array_equal(predictions.recording, task.test.recording)
    np.testing.assert_array_equal(predictions.patient, task.test.patient)
    assert predictions.probability.shape == predictions.truth.shape
    judged = (predictions.probability, predictions.truth, predictions.recording)
    ranked = ranked_classes(predictions.truth, predictions.patient, HEADLINES[spec.protocol])
    scores = score_both_units(*judged, multi=labels == "multi", classes=ranked)
    chosen = thresholded(job.context.store, row)
    assert row.scores == {unit: scored.values | chosen[unit] for unit, scored in scores.items()}
    assert row.undefined == {unit: scored.undefined for unit, scored in scores.items()}
    assert row.counts == task.counts()
    assert row.counts["test_windows"] == len(predictions.truth)


def test_parts_of_a_cross_validation_are_one_cell_over_all_patients(make_job: MakeJob, cohorts: Cohorts) -> None:
    job = make_job("chapman", "linear", **{"protocol": "strict", "data.folds": 3, "data.segmentation.beats": "authors"})
    row, predictions = run(job), job.context.store.predictions(job.cell.key)
    spec = spec_of(job.config, "linear", "chapman")
    assert spec.folds == 3
    names = [cohorts["chapman"].recordings.recording[r] for r in Column(cohorts["chapman"], spec).tested]
    there = list(dict.fromkeys(predictions.recording.tolist()))
    assert there == [name for name in names if name in there]  # in the dataset's order, but for those too short
    assert row.counts["test_recordings"] == len(there) > 2 * row.counts["train_recordings"] / 0.5 / 3
    assert len(row.training["parts"]) == 3
    scores = score_both_units(predictions.probability, predictions.truth, predictions.recording, multi=False)
    for unit, scored in scores.items():
        assert scored.values.items() <= row.scores[unit].items()
    known = Shared()
    tasks = folds_of(job, Column(cohorts["chapman"], spec), known)
    alone = learn(job, tasks[1], job.cell.pretraining, known).probability
    index = np.flatnonzero(np.isin(predictions.recording, tasks[1].test.recording))
    np.testing.assert_array_equal(predictions.probability[index], alone)


def test_the_same_job_gives_the_same_row(make_job: MakeJob) -> None:
    for evaluation in ("finetune", "linear"):
        job = make_job(evaluation=evaluation)
        rows, probabilities = [], []
        for seed in (41, 41, 42):
            torch.manual_seed(99 - len(rows))
            row = run(job._replace(cell=replace(job.cell, seed=seed)))
            rows.append(replace(row, training=row.training | {"seconds": 0.0}))
            probabilities.append(job.context.store.predictions(job.cell.key).probability)
        np.testing.assert_array_equal(probabilities[0], probabilities[1])
        assert rows[0] == rows[1]
        assert np.array_equal(probabilities[0], probabilities[2]) == (evaluation == "linear")


def test_patients_are_retrieved_on_the_test_part_from_the_mean_of_each_recordings_windows(
    make_job: MakeJob, make_prepared: Callable[..., Prepared], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tested = [(patient, (0,), 12, 10) for patient in ("c", "a", "b", "a", "b", "d", "b")]
    prepared = make_prepared("ptb-xl", [("a", (1,), 12, 1), ("e", (1,), 12, 9), *tested])
    monkeypatch.setattr(cell_module, "open_prepared", lambda folder: prepared)
    job = make_job("ptb-xl", "retrieval")
    row, stored = run(job), job.context.store.predictions(job.cell.key)
    assert list(zip(stored.recording, stored.patient, strict=True)) == [  # those of other parts are no candidates
        ("r003", "a"), ("r004", "b"), ("r005", "a"), ("r006", "b"), ("r008", "b"),
    ]  # fmt: skip
    windows = folds_of(job, Column(prepared, spec_of(job.config, "retrieval", "ptb-xl")), Shared())[0].test
    pooled = features(load_encoder(job.context.store.pretrained / ("e" * 16), Dilated), windows.signal, "float32")
    means = [pooled[windows.recording == name].astype(np.float64).mean(0) for name in windows.recordings]
    of_patient = torch.tensor([2, 0, 1, 0, 1, 3, 1])
    expected = patient_hits(torch.tensor(np.stack(means)), of_patient).numpy()
    np.testing.assert_array_equal(stored.probability, expected[np.isfinite(expected[:, 0])])
    of_patients = [stored.probability[stored.patient == name].mean(0) for name in np.unique(stored.patient)]
    assert [row.scores["recording"][name] for name in RECALLS] == pytest.approx(np.mean(of_patients, axis=0).tolist())
    alone = make_prepared("ptb-xl", [(patient, (0,), 12, 10) for patient in ("c", "a", "b")])
    monkeypatch.setattr(cell_module, "open_prepared", lambda folder: alone)
    row = run(job._replace(cell=replace(job.cell, key="a" * 16)))
    assert row.undefined == {"recording": dict.fromkeys(RECALLS, "no test patient has several recordings")}


@pytest.mark.parametrize(("evaluation", "side", "fold"), [("linear", "validation", 9), ("finetune", "test", 10)])
def test_without_windows_on_a_side_there_is_a_row_without_scores(
    make_job: MakeJob,
    make_prepared: Callable[..., Prepared],
    monkeypatch: pytest.MonkeyPatch,
    evaluation: str,
    side: str,
    fold: int,
    tmp_path: Path,
) -> None:
    recordings = [(f"p{f}", (f % 2,), 5 if f == fold else 12, f) for f in (1, 9, 10)]
    prepared = make_prepared("ptb-xl", recordings)
    monkeypatch.setattr(cell_module, "open_prepared", lambda folder: prepared)
    job = make_job("ptb-xl", evaluation)
    folders = {**job.context.folders, "ptb-xl": tmp_path / "of this test"}
    row = run(job._replace(context=replace(job.context, folders=folders)))
    assert row.scores["heartbeat"] == dict.fromkeys(COLUMNS)
    reason = f"no {side} window: its recordings have fewer than 6 heartbeats each"
    assert row.undefined["recording"] == dict.fromkeys(COLUMNS, reason)
    assert reason in row.notes
    short = {(9, "MI"): "p9", (10, "NORM"): "p10"}
    (label,) = (name for number, name in short if number == fold)
    assert row.coverage[label]["unscored"] == {short[fold, label]: "fewer than 6 heartbeats"}
    assert Store(tmp_path / "runs").predictions(row.key).probability.shape == (0, 5)


def test_a_cell_of_tune_reads_no_test_window(
    make_job: MakeJob, cohorts: Cohorts, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: set[str] = set()
    windows_of = Sides.windows

    def spied(sides: Sides, index: Any) -> Windows:
        windows = windows_of(sides, index)
        read.update(windows.recording.tolist())
        return windows

    monkeypatch.setattr(Sides, "windows", spied)
    linear = run(make_job("chapman", "linear"))
    tested = {
        cohorts["chapman"].recordings.recording[r]
        for r in Column(cohorts["chapman"], TaskSpec(6, "single", "paper")).split.test
    }
    assert tested & read
    read.clear()
    job = make_job("chapman", "validation")
    row = run(job)
    assert read
    assert not tested & read
    assert row.training["validation_f1"] == linear.training["validation_f1"]
    assert (row.training["C"], row.counts["test_recordings"], row.coverage) == (linear.training["C"], 0, {})
    assert {score for unit in row.scores.values() for score in unit.values()} == {None}
    assert len(job.context.store.predictions(job.cell.key).truth) == 0
