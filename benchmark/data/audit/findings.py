"""Problems of a run's data: leaks into the test side, copies, damaged files, odd leads, classes without recordings.

A copy is a recording with the same signal, to the microvolt (`cutting.signal_digest`), whatever its name. A leak is a
patient, or copies, on two sides of a split, a test recording that is also pretrained on, or a cohort known to be in two
datasets, one pretrained on and one tested (`overlaps`): a run refuses it. An
unusable dataset is fatal. Everything else is a warning, except what no repair could change (`IN_THE_ECG`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmark.data.audit.overlaps import shared_cohorts
from benchmark.data.audit.summary import some
from benchmark.data.prepared.leads import EXCHANGED, INVERTED
from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.skipped import Skipped, skip_summary
from benchmark.data.readers.base import DatasetError
from benchmark.data.tasks.spec import TaskSpec
from benchmark.data.tasks.split import (
    Split,
    lacking,
    patients_on_two_sides,
    sides_of,
    split_of,
    target_matrix,
    task_labels,
)

Severity = Literal["fatal", "leak", "warning"]
IN_THE_ECG = frozenset({"heart rate below 50/min", "no beats found", "too short"})
"""Kinds of reasons for skipping that lie in the ECG, not in a damaged file."""
BY_LAW = (EXCHANGED, INVERTED)
"""Kinds of doubts about leads that rest on the limb leads' laws."""


@dataclass(frozen=True)
class Finding:
    """One problem of the data."""

    datasets: tuple[str, ...]
    """Names of the datasets concerned."""
    severity: Severity
    text: str
    """One sentence with examples, without full stop."""
    in_tables: bool = False
    """A warning that a run prints under every table: it uses what is doubtful."""


@dataclass(frozen=True)
class Use:
    """What a run does with the R usable recordings of a dataset."""

    side: NDArray[np.str_]
    """(R,) 'training', 'validation', 'test' or ''."""
    pretraining: NDArray[np.bool_]
    """(R,) pretrained on."""


def audit(
    prepared: Mapping[str, Prepared],
    spec: TaskSpec,
    *,
    pretrain: str,
    tested: Sequence[str],
    specs: Mapping[str, TaskSpec] | None = None,
) -> list[Finding]:
    """Findings on prepared datasets, given by name; `pretrain` is pretrained on, `tested` are scored.

    `pretrain` need not be in `prepared`. Several may be tasks of one dataset: what is wrong with its files is found
    once. specs: those of named tasks, in place of `spec`.
    """
    splits: dict[str, Split] = {}
    findings: list[Finding] = []
    seen: set[str] = set()
    for name, data in prepared.items():
        own = (specs or {}).get(name, spec)
        if name in tested or (name == pretrain and data.classes):
            try:
                splits[name] = split_of(data, own)
            except DatasetError as problem:
                findings.append(Finding((name,), "fatal", str(problem)))
        findings += unusable(data, splits.get(name))
        if data.dataset_name not in seen:
            findings += of_files(data)
        seen.add(data.dataset_name)
        if name in tested and name in splits:
            findings += shared_patients(data, splits[name])
            if not lacking(splits[name]):
                findings += classes_without_recordings(data, splits[name], own)
                findings += classes_of_one_patient(data, own)
    uses = {name: use_of(data, splits.get(name), name == pretrain, name in tested) for name, data in prepared.items()}
    shared = [
        Finding(own.datasets, "leak" if own.is_leak else "warning", own.text) for own in shared_cohorts(prepared, uses)
    ]
    return [*findings, *copies(prepared, uses), *shared, *names_in_two_datasets(prepared)]


def of_files(data: Prepared) -> Iterator[Finding]:
    """What is wrong with a dataset's files and tables, whatever its task."""
    yield from damaged_files(data)
    yield from repeated_names(data)
    yield from (Finding((data.name,), "warning", text, in_tables=True) for text in data.warnings)
    yield from doubtful_leads(data)
    yield from lengthened(data)


def use_of(data: Prepared, split: Split | None, pretrained: bool, tested: bool) -> Use:
    """Use of a dataset by a run: pretraining takes all of a corpus without labels, else the training part."""
    side = np.full(len(data.entries), "", dtype="<U10")  # (R,)
    for name, indices in (sides_of(split) if split and tested else {}).items():
        side[indices] = name
    pretraining = np.full(len(data.entries), pretrained and not data.classes)  # (R,)
    if split and pretrained:
        pretraining[split.train] = True
    return Use(side, pretraining)


def unusable(data: Prepared, split: Split | None) -> Iterator[Finding]:
    """A dataset without a usable recording, or too small to be split."""
    if not data.entries:
        reasons = ", ".join(f"{reason} ({count})" for reason, count in skip_summary(data.skipped).items())
        text = f"no recording is usable: {reasons or 'none is there'}. {data.how_to_get}".strip()
        yield Finding((data.name,), "fatal", text)
    elif split is not None and (problem := lacking(split)):
        yield Finding((data.name,), "fatal", problem)


def damaged_files(data: Prepared) -> Iterator[Finding]:
    """Skipped recordings whose files or tables are at fault."""
    faults: dict[str, list[Skipped]] = {}
    for skip in data.skipped:
        kind = skip.reason.partition(":")[0]
        if kind not in IN_THE_ECG:
            faults.setdefault(kind, []).append(skip)
    for kind, skips in faults.items():
        named = some([skip.recording for skip in skips])
        yield Finding((data.name,), "warning", f"{recordings(len(skips))} cannot be used: {kind} ({named})")


def doubtful_leads(data: Prepared) -> Iterator[Finding]:
    """Recordings that are used although something is wrong with their leads, one finding per kind."""
    doubtful: dict[str, list[str]] = {}
    for entry, signal in zip(data.entries, data.signals, strict=True):
        kind, _, leads = signal.doubt.partition(": ")
        if kind:
            doubtful.setdefault(kind, []).append(f"{entry.recording}: {leads}" if leads else entry.recording)
    for kind, examples in doubtful.items():
        used = f"{recordings(len(examples))} {'is' if len(examples) == 1 else 'are'} used with"
        source = ", by Einthoven's law" if kind in BY_LAW else ""
        text = f"{used} {kind}{source} ({some(examples)})"
        yield Finding((data.name,), "warning", text, in_tables=True)


def lengthened(data: Prepared) -> Iterator[Finding]:
    """Recordings shorter than a window, which zeros follow."""
    if data.padded:
        verb = "is" if data.padded == 1 else "are"
        text = f"{recordings(data.padded)} shorter than {data.segmentation.seconds:g} s {verb} lengthened by zeros"
        yield Finding((data.name,), "warning", text, in_tables=True)


def repeated_names(data: Prepared) -> Iterator[Finding]:
    """Identifiers that the dataset uses for several recordings."""
    names = [entry.recording for entry in data.entries] + [skip.recording for skip in data.skipped]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        yield Finding((data.name,), "warning", f"listed more than once: {some(twice)}")


def shared_patients(data: Prepared, split: Split) -> Iterator[Finding]:
    """Patients on two sides of a split."""
    shared = patients_on_two_sides(data.entries, split)
    if not shared:
        return
    has_folds = any(entry.fold is not None for entry in data.entries)
    remedy = "correct the folds" if has_folds else "use --protocol strict"
    named = some([f"{patient}: {' and '.join(sides)}" for patient, sides in shared.items()])
    patients = "1 patient is" if len(shared) == 1 else f"{len(shared)} patients are"
    yield Finding((data.name,), "leak", f"{patients} on two sides of the split of {data.title} ({named}): {remedy}")


def classes_without_recordings(data: Prepared, split: Split, spec: TaskSpec) -> Iterator[Finding]:
    """Classes without a recording on some side of the split."""
    target = target_matrix(data.entries, len(data.classes), spec, first_label_counts=data.first_label_counts)  # (R, C)
    counts = {side: target[indices].sum(axis=0) for side, indices in sides_of(split).items()}  # (C,) each
    lacking: dict[tuple[str, ...], list[str]] = {}
    for index, name in enumerate(data.classes):
        sides = tuple(side for side in counts if counts[side][index] == 0)
        if sides:
            lacking.setdefault(sides, []).append(name)
    for sides, names in lacking.items():
        yield Finding((data.name,), "warning", f"no usable recording of {', '.join(names)} for {' and '.join(sides)}")


def classes_of_one_patient(data: Prepared, spec: TaskSpec) -> Iterator[Finding]:
    """Classes that only one patient has: they cannot be on two sides of a split."""
    patients: dict[int, set[str]] = {}
    for entry in data.entries:
        for label in task_labels(entry.labels, spec, first_label_counts=data.first_label_counts):
            patients.setdefault(label, set()).add(entry.patient)
    alone = [data.classes[label] for label in sorted(patients) if len(patients[label]) == 1]
    if alone:
        classes = "1 class has" if len(alone) == 1 else f"{len(alone)} classes have"
        remedy = "no split both trains and tests it: merge it with another or leave it out"
        yield Finding((data.name,), "warning", f"{classes} only one patient ({some(alone)}), so {remedy}")


def copies(prepared: Mapping[str, Prepared], uses: Mapping[str, Use]) -> Iterator[Finding]:
    """Recordings with the same signal, within and across datasets, grouped by datasets and kind.

    A recording in two tasks of a dataset is a copy of itself only where that is a leak.
    """
    counted = Counter(signal.digest for data in prepared.values() for signal in data.signals)
    groups: dict[str, list[tuple[str, int]]] = {}
    for name, data in prepared.items():
        for index, signal in enumerate(data.signals):
            if counted[signal.digest] > 1:
                groups.setdefault(signal.digest, []).append((name, index))
    found: dict[tuple[tuple[str, ...], Severity, str], list[str]] = {}
    for group in groups.values():
        severity, what = _kind_of_copy(group, uses)
        if severity == "warning":
            group = without_tasks(group, prepared)
        if len(group) == 1:
            continue
        datasets = tuple(dict.fromkeys(name for name, _ in group))
        examples = " = ".join(f"{prepared[name].title} {prepared[name].entries[i].recording}" for name, i in group)
        found.setdefault((datasets, severity, what), []).append(examples)
    for (datasets, severity, what), examples_of in found.items():
        signals = "1 signal" if len(examples_of) == 1 else f"{len(examples_of)} signals"
        yield Finding(datasets, severity, f"{signals} {what}: {some(examples_of)}")


def without_tasks(group: Sequence[tuple[str, int]], prepared: Mapping[str, Prepared]) -> list[tuple[str, int]]:
    """Recordings, given as (name, index), each once whatever the number of tasks of its dataset."""
    once: dict[tuple[str, int], tuple[str, int]] = {}
    for name, index in group:
        once.setdefault((prepared[name].dataset_name, index), (name, index))
    return list(once.values())


def _kind_of_copy(group: Sequence[tuple[str, int]], uses: Mapping[str, Use]) -> tuple[Severity, str]:
    """Severity and description of a group of equal recordings, given as (dataset, index)."""
    sides = {name: {uses[name].side[i] for member, i in group if member == name} - {""} for name, _ in group}
    tested = any("test" in own for own in sides.values())
    if any(len(own) > 1 for own in sides.values()):
        return "leak", "on two sides of a split"
    if tested and any(uses[name].pretraining[i] for name, i in group):
        return "leak", "both pretrained on and tested"
    return "warning", "in more than one recording"


def names_in_two_datasets(prepared: Mapping[str, Prepared]) -> Iterator[Finding]:
    """Non-numeric recording names found in two datasets; numbers may coincide by chance."""
    homes: dict[str, list[str]] = {}
    first = {data.dataset_name: name for name, data in reversed(list(prepared.items()))}
    for name in reversed(list(first.values())):
        data = prepared[name]
        for recording in {entry.recording for entry in data.entries if not entry.recording.isdigit()}:
            homes.setdefault(recording, []).append(name)
    shared: dict[tuple[str, ...], list[str]] = {}
    for recording, datasets in homes.items():
        if len(datasets) > 1:
            shared.setdefault(tuple(datasets), []).append(recording)
    for places, names in shared.items():
        titles = " and ".join(prepared[name].title for name in places)
        yield Finding(places, "warning", f"recording names that stand in both {titles}: {some(sorted(names))}")


def recordings(count: int) -> str:
    """'1 recording' or '3 recordings'."""
    return "1 recording" if count == 1 else f"{count} recordings"
