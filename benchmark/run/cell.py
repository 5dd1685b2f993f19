"""Run one cell of the grid: load the encoder, make the task, train, score, store the row."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product
from statistics import fmean
from typing import Any, Literal, NamedTuple

import numpy as np

from benchmark.config.config import Config, with_settings
from benchmark.data.column import Column, column_of
from benchmark.data.prepare import Prepared, open_prepared
from benchmark.data.splits import SPLIT_VERSION, Part, TaskSpec
from benchmark.data.task import Sides, Task, sides_for_tasks, task_on
from benchmark.data.tasks import of_task
from benchmark.external import ExternalWindows, external_task, missing_notes, predictions_for
from benchmark.machine import computer
from benchmark.results.files import digest
from benchmark.results.metrics import (
    HEADLINES,
    METRICS,
    RECALLS,
    THRESHOLDED,
    Scores,
    decided_by,
    no_scores,
    per_recording,
    ranked_classes,
    score_both_units,
    score_retrieval,
    untested_note,
)
from benchmark.results.names import RECORDING, RETRIEVAL, UNITS, VALIDATION
from benchmark.results.store import Predictions, Row
from benchmark.run.crossfit import DEALT_BY, opened_columns, parts_of, refuse_seen
from benchmark.run.grid import STATISTICS, Cell, Context, Pretraining, spec_of
from benchmark.training.checkpoint import load_encoder
from benchmark.training.evaluations import evaluate, evaluate_classical
from benchmark.training.finetune import Outcome
from benchmark.training.pretrain import PRETRAIN_VERSION
from benchmark.training.probes import EvaluationCache
from methods.encoders.base import Encoder

UNTESTED = "judged on validation patients alone"  # a cell of `tune`; its row has validation scores in `training`


@dataclass(frozen=True)
class Shared:
    """Objects that the cells of a job share: encoders on one dataset."""

    sides: dict[tuple[TaskSpec, bool, Part | None], Sides] = field(default_factory=dict)
    """Spec, whether it is tested, and part of a cross-validation -> what its tasks share."""
    encoders: dict[str, Encoder] = field(default_factory=dict)
    """Key of the pretraining -> its encoder, which every evaluation leaves as it is."""
    caches: dict[str, EvaluationCache] = field(default_factory=dict)
    """Key of the pretraining -> what its evaluations share: features of the same windows differ between encoders."""


class CellInput(NamedTuple):
    """A cell, the config of its row, and what all tasks of the run share."""

    cell: Cell
    config: Config
    context: Context


def run_cell(cell: Cell, context: Context, shared: Shared) -> None:
    """Run one cell and store its row; `shared`: results that the cells of its task share.

    Raises FileNotFoundError if the encoder or the prepared data are missing, TrainingStopped on a non-finite loss,
    ValueError where the encoder of a part saw a patient whom the part tests.
    """
    config = with_settings(context.config, cell.variant.settings)
    task = config.data.column(cell.dataset)
    is_tested = cell.evaluation != VALIDATION
    spec = spec_of(config, cell.evaluation, task.name)
    data = of_task(open_prepared(context.folders[cell.dataset]), task)
    column = column_of(data, spec)
    inputs = CellInput(cell, config, context)
    folds = folds_of(inputs, column, shared)
    unscored = ""
    if cell.evaluation != RETRIEVAL:
        unscored = next((fold.unscored for fold in folds if fold.unscored), "")
    if unscored:
        nothing = np.empty((0, folds[0].test.target.shape[1]), np.float32)  # (0, C)
        outcomes = [Outcome(nothing, nothing, {"seconds": 0.0}) for _ in folds]
    else:
        for pretraining, fold in zip(cell.parts, folds, strict=False):  # none where one encoder is evaluated
            refuse_seen(context.store, pretraining.key, fold.test.patient.tolist())
        encoders = cell.parts or [cell.pretraining] * len(folds)
        learn_task = learn if cell.external_windows is None else learn_on_external_windows
        outcomes = [learn_task(inputs, fold, one, shared) for fold, one in zip(folds, encoders, strict=True)]
    predictions, facts, split = merged(data, folds, outcomes, is_crossfitted=DEALT_BY in cell.content)
    notes = list(chain(*(fold.notes for fold in folds), *(outcome.notes for outcome in outcomes)))
    if reason := unscored or ("" if is_tested else UNTESTED):
        scores = dict.fromkeys(UNITS, no_scores(reason, multi=spec.labels == "multi"))
    elif cell.evaluation == RETRIEVAL:
        predictions = retrieval_queries(predictions)
        scores = {RECORDING: score_retrieval(predictions.probability, predictions.patient)}
    else:
        scores = scores_of_classes(predictions, spec, folds, outcomes)
        notes += untested_note(predictions.truth, data.classes)
    row = Row(
        **identity_of(cell),
        protocol=spec.protocol,
        labels=spec.labels,
        scores={unit: scored.values for unit, scored in scores.items()},
        undefined={unit: scored.undefined for unit, scored in scores.items()},
        notes=list(dict.fromkeys(notes)),
        coverage=column.coverage() if is_tested else {},
        provenance=provenance(inputs, data) | {"split": split},
        **facts,
    )
    context.store.save_row(row, predictions, predictions_on("validation", folds, outcomes))


def scores_of_classes(
    predictions: Predictions, spec: TaskSpec, folds: Sequence[Task], outcomes: Sequence[Outcome]
) -> dict[str, Scores]:
    """Score test predictions per heartbeat and per recording, by thresholds of validation where the protocol asks."""
    headline = HEADLINES[spec.protocol]
    scores = score_both_units(
        predictions.probability,
        predictions.truth,
        predictions.recording,
        multi=spec.labels == "multi",
        pool=spec.pool,
        part=predictions.part,
        classes=ranked_classes(predictions.truth, predictions.patient, headline),
    )
    for unit, name in product(UNITS, THRESHOLDED):
        if name in headline.columns:
            value = score_of_thresholds(name, folds, outcomes, unit)
            scores[unit].values[name] = None if np.isnan(value) else value
            if np.isnan(value):
                scores[unit].undefined[name] = METRICS[name].undefined
    return scores


def predictions_on(
    side: Literal["validation", "test"], folds: Sequence[Task], outcomes: Sequence[Outcome]
) -> Predictions:
    """Return the predictions of a side; those of the parts of a cross-validation follow each other."""
    predicted = [outcome.validation if side == "validation" else outcome.probability for outcome in outcomes]
    scored = [len(probability) for probability in predicted]
    sides = [fold.sides()[side].first(count) for fold, count in zip(folds, scored, strict=True)]
    return Predictions(
        probability=np.concatenate(predicted),
        truth=np.concatenate([windows.truth() for windows in sides]),
        recording=np.concatenate([windows.recording for windows in sides]),
        patient=np.concatenate([windows.patient for windows in sides]),
        part=np.repeat(np.arange(len(folds)), scored) if len(folds) > 1 else None,
    )


def score_of_thresholds(name: str, folds: Sequence[Task], outcomes: Sequence[Outcome], unit: str) -> float:
    """Score decisions by thresholds that each part's validation set chooses for its own encoder; NaN if undefined."""
    truths, decisions = [], []
    for fold, outcome in zip(folds, outcomes, strict=True):
        sides = []
        for windows, probability in ((fold.validation, outcome.validation), (fold.test, outcome.probability)):
            truth = windows.truth()
            if unit == RECORDING:
                probability, truth, _ = per_recording(probability, truth, windows.recording, fold.pool)
            sides.append((truth, probability))
        validation, (truth, probability) = sides
        truths.append(truth)
        decisions.append(decided_by(name, validation, probability))
    return METRICS[name].score(np.concatenate(truths), np.concatenate(decisions), True)


def folds_of(inputs: CellInput, column: Column, shared: Shared) -> list[Task]:
    """Make a cell's task, or those of the parts of its cross-validation."""
    cell, is_tested, device = inputs.cell, inputs.cell.evaluation != VALIDATION, inputs.context.device
    tasks = []
    for part in parts_of_cell(inputs, column) if column.is_cross_validated else [None]:
        key = column.spec, is_tested, part
        if key not in shared.sides:
            shared.sides[key] = sides_for_tasks(column, device=device, tested=is_tested, part=part)
        tasks.append(task_on(shared.sides[key], ratio=cell.ratio, seed=cell.draw_seed, subset=cell.subset))
    return tasks


def parts_of_cell(inputs: CellInput, column: Column) -> Sequence[Part]:
    """Return the parts of a cell's cross-validation.

    Where the column is cross-fitted the seed deals them; else each labelled subset deals its own.
    """
    cell = inputs.cell
    if DEALT_BY in cell.content:
        return parts_of(opened_columns(inputs.config, inputs.context.folders), cell.seed)
    return parts_of({cell.dataset: column}, cell.draw_seed)


class Merged(NamedTuple):
    """Joint result of the parts of a cross-validation, or that of a cell's one task."""

    predictions: Predictions
    """Predictions in the order of the dataset's recordings."""
    facts: dict[str, Any]
    """Training facts, and counts: the mean of what is learned on, and all that are tested."""
    digests: dict[str, str]
    """Side -> digest of its recording names."""


def merged(data: Prepared, folds: Sequence[Task], outcomes: Sequence[Outcome], *, is_crossfitted: bool) -> Merged:
    """Merge the parts of a cross-validation, or give the one task as it is."""
    predictions = predictions_on("test", folds, outcomes)
    if not is_crossfitted:
        predictions = replace(predictions, part=None)
    training = [outcome.training for outcome in outcomes]
    counts = [fold.counts() for fold in folds]
    digests = [fold.digests() for fold in folds]
    if len(folds) == 1:
        return Merged(predictions, {"training": training[0], "counts": counts[0]}, digests[0])
    number_of = {name: number for number, name in enumerate(data.recordings.recording)}
    order = np.argsort([number_of[name] for name in predictions.recording], kind="stable")
    counted = {}
    for name in counts[0]:
        counted[name] = round(fmean(part[name] for part in counts))
    counted |= {
        "test_recordings": len(set(predictions.recording)),
        "test_patients": len(set(predictions.patient)),
        "test_windows": len(order),
    }
    seconds = sum(part["seconds"] for part in training)
    facts = {"training": {"seconds": seconds, "parts": training}, "counts": counted}
    merged_digests = {}
    for side in digests[0]:
        merged_digests[side] = digest([part[side] for part in digests])
    return Merged(predictions.taken(order), facts, merged_digests)


def retrieval_queries(hits: Predictions) -> Predictions:
    """Return a line for each recording whose patient has others, in name order, of hits (n, 5) of windows."""
    first = np.unique(hits.recording, return_index=True)[1]  # (R,)
    queries = first[np.isfinite(hits.probability[first, 0])]  # (Q,)
    return hits.taken(queries)


def identity_of(cell: Cell) -> dict[str, Any]:
    """Collect the fields of a row that identify its cell."""
    names = ("key", "pretrain_key", "evaluation", "dataset", "ratio", "seed", "subset")
    identity = {name: getattr(cell, name) for name in names}
    identity["variant"] = cell.variant.name
    identity["method"] = cell.variant.method_name
    identity["pretrain_seed"] = cell.pretraining.seed if cell.pretraining else None
    identity["part_keys"] = [pretraining.key for pretraining in cell.parts]
    return identity


def learn_on_external_windows(
    inputs: CellInput, task: Task, pretraining: Pretraining | None, shared: Shared
) -> Outcome:
    """Learn a task from an external encoder's windows of its recordings, and predict those of the task."""
    assert inputs.cell.external_windows is not None
    windows = ExternalWindows(open_prepared(inputs.cell.external_windows), inputs.config.column_spec().leads)
    external = external_task(task, windows)
    outcome = learn(inputs, external, pretraining, shared)
    notes = missing_notes(task, external)
    missing = None
    if inputs.cell.evaluation == RETRIEVAL:  # a recording without windows is no query
        notes = [note.partition(":")[0] for note in notes]
        missing = np.full(len(RECALLS), np.nan, np.float32)  # (5,)
    predictions = predictions_for(outcome.probability, external.test, task.test, task, missing)
    if missing is None:
        validation = predictions_for(outcome.validation, external.validation, task.validation, task)
        outcome = replace(outcome, validation=validation)
    return replace(outcome, probability=predictions, notes=[*notes, *outcome.notes])


def learn(inputs: CellInput, task: Task, pretraining: Pretraining | None, shared: Shared) -> Outcome:
    """Run the cell's evaluation on a task with an encoder, or none, and note its seconds.

    Raises FileNotFoundError without its weights.
    """
    started = time.perf_counter()
    cell = inputs.cell
    if pretraining is None:
        outcome = evaluate_classical(cell.evaluation, task, inputs.config, cell.draw_seed)
    else:
        key, method = pretraining.key, pretraining.method
        if key not in shared.encoders:
            encoder_class, _ = inputs.config.encoder_of(method)
            shared.encoders[key] = load_encoder(inputs.context.store.pretrained / key, encoder_class)
        cache = shared.caches.setdefault(key, EvaluationCache(inputs.context.precision))
        encoder = shared.encoders[key]
        outcome = evaluate(
            cell.evaluation, encoder, task, inputs.config, method=method, seed=cell.draw_seed, cache=cache
        )
    notes = list(outcome.notes)
    if pretraining and STATISTICS in pretraining.content:
        notes.append("untrained, but for batch normalisation by unlabelled windows of the corpus")
    return replace(outcome, training=outcome.training | {"seconds": time.perf_counter() - started}, notes=notes)


def provenance(inputs: CellInput, prepared: Prepared) -> dict[str, Any]:
    """Collect config, data, versions and device that produced a row; the corpus where its encoder was trained."""
    trained = inputs.cell.pretraining and inputs.cell.pretraining.reads_corpus
    further = ("aeon", "numba") if inputs.cell.evaluation == "minirocket" else ()
    return {
        "config": inputs.config.model_dump(mode="json"),
        "data": source_facts(prepared) | {"form": prepared.form, "recordings": prepared.usable},
        "corpus": dict(inputs.context.corpus) if trained else {},
        **computer(inputs.context.device, inputs.context.precision, *further),
        "results_versions": results_versions(inputs.cell),
        "key_content": inputs.cell.content,
    }


def source_facts(prepared: Prepared) -> dict[str, Any]:
    """Collect facts of the data that a row was computed from."""
    return {"name": prepared.name, "fingerprint": prepared.fingerprint, "simulated": prepared.simulated}


def results_versions(cell: Cell) -> dict[str, int]:
    """Collect the results versions that a row depends on; rows of different versions are never merged."""
    versions = {"split": SPLIT_VERSION, cell.evaluation: cell.content["version"]}
    if cell.pretraining:
        method = cell.pretraining.method
        versions |= {"pretraining": PRETRAIN_VERSION, method.name: method.version}
    return versions
