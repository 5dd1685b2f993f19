"""Coverage: which patients of which class a run cannot score, and why.

A recording is scored if it yields a pseudo-trial. Rates under 50/min do not fit a heartbeat window and short recordings
have too few beats, so some classes (bradycardia above all) lose patients. Counts cover the whole dataset, whatever
the split: a skipped recording is on no side.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

from benchmark.data.prepared.load import Prepared
from benchmark.data.tasks.spec import TaskSpec
from benchmark.data.tasks.split import task_labels


class ClassCoverage(TypedDict):
    """One class of a dataset."""

    patients: int
    """Number of patients with a recording of the class."""
    unscored: dict[str, str]
    """Patient without a scorable recording of the class -> reason."""


def coverage(prepared: Prepared, spec: TaskSpec) -> dict[str, ClassCoverage]:
    """Class -> its coverage under a task; all classes of the dataset, in order."""
    reasons: list[dict[str, str]] = [{} for _ in prepared.classes]
    scored: list[set[str]] = [set() for _ in prepared.classes]
    for patient, stated, reason in recordings_of(prepared, spec.per_trial):
        for label in task_labels(stated, spec, first_label_counts=prepared.first_label_counts):
            if reason:
                reasons[label].setdefault(patient, reason)
            else:
                scored[label].add(patient)
    return {
        name: ClassCoverage(
            patients=len(there | why.keys()),
            unscored={patient: reason for patient, reason in why.items() if patient not in there},
        )
        for name, why, there in zip(prepared.classes, reasons, scored, strict=True)
    }


def recordings_of(prepared: Prepared, per_trial: int) -> Iterator[tuple[str, tuple[int, ...], str]]:
    """Patient, labels and kind of reason for not being scored ('' if scored) of every known recording."""
    counts = prepared.trials_of_each(per_trial)  # (R,)
    too_few = f"fewer than {per_trial} {prepared.segmentation.word}s"
    for entry, count in zip(prepared.entries, counts, strict=True):
        yield entry.patient, entry.labels, "" if count else too_few
    for skip in prepared.skipped:
        yield skip.patient, skip.labels, skip.reason.partition(":")[0]
