"""The audit of prepared datasets: leaks, copies, known overlaps, damage, people, and a summary of each dataset.

Problems of a run's data: leaks into the test side, copies, damaged files, odd leads, classes without recordings.

A copy is a recording with the same signal, to the microvolt (`prepare.signal_digest`), whatever its name. A leak is a
patient, or copies, on two sides of a split, a test recording that is also pretrained on, or a cohort known to be in two
datasets, one pretrained on and one tested (`HOLDS`): a run refuses it. An
unusable dataset is fatal. Everything else is a warning, except what no repair could change (`IN_THE_ECG`).

Known overlaps of public datasets: which cohorts each holds, and findings where two that are used hold the same.

Copies are found by content (`copies`), which cannot see the same ECG at another rate, filtered, in another
length, or that is not in the folder. Here the publishers' word counts, whatever the names of the recordings. Sources:
the releases' descriptions, and the relations that ECGBench's catalogue gives as verified.

A card may name the columns of both, which are then in the entries. CPSC2018's original structs state them beside the
signals alone and are not opened for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.data.datasets.base import About, Dataset, DatasetError, Entry, Listing, Person, Unusable
from benchmark.data.datasets.ecgbench import FORM
from benchmark.data.datasets.registry import is_simulated
from benchmark.data.datasets.tables import years_of
from benchmark.data.datasets.wfdb_files import comments
from benchmark.data.prepare import EXCHANGED, INVERTED, Prepared, Signal, Skipped, skip_summary
from benchmark.data.segments import HEARTBEATS, Segmentation
from benchmark.data.splits import (
    TASKS,
    Labels,
    Split,
    TaskSpec,
    lacking,
    patients_on_two_sides,
    sides_of,
    split_of,
    split_recordings,
    target_matrix,
    task_labels,
    too_few_classes,
)

CHALLENGE_2020 = {
    "CPSC 2018": "training/cpsc_2018/",
    "CPSC 2018 extra": "training/cpsc_2018_extra/",
    "INCART": "training/st_petersburg_incart/",
    "PTB": "training/ptb/",
    "PTB-XL": "training/ptb-xl/",
    "Georgia": "training/georgia/",
}
HOLDS: dict[str, dict[str, str]] = {
    "ptb-xl": {"PTB-XL": ""},
    "cpsc2018": {"CPSC 2018": ""},
    "chapman": {"Chapman-Shaoxing": ""},
    "ningbo": {"Ningbo": ""},
    "mimic-iv-ecg": {"MIMIC-IV-ECG": ""},
    "ecgbench:ptbxl": {"PTB-XL": ""},
    "ecgbench:cpsc_2018": {"CPSC 2018": ""},
    "ecgbench:chapman_shaoxing": {"Chapman-Shaoxing": ""},
    "ecgbench:ecg_arrhythmia": {"Chapman-Shaoxing": "", "Ningbo": ""},
    "ecgbench:ptbdb": {"PTB": ""},
    "ecgbench:incartdb": {"INCART": ""},
    "ecgbench:mimic_iv_ecg": {"MIMIC-IV-ECG": ""},
    "ecgbench:mimic_iv_ecg_demo": {"MIMIC-IV-ECG": ""},
    "ecgbench:challenge2020": CHALLENGE_2020,
    "ecgbench:challenge2021": {
        **CHALLENGE_2020,
        "Chapman-Shaoxing": "training/chapman_shaoxing/",
        "Ningbo": "training/ningbo/",
    },
}
"""Dataset, of ecgbench or built in -> cohort -> beginning of the paths of its recordings there."""


class Shared(NamedTuple):
    """A cohort of which two datasets hold recordings that are used."""

    datasets: tuple[str, str]
    is_leak: bool
    """Whether one is pretrained on and the other tested there."""
    text: str


def shared_cohorts(prepared: Mapping[str, Prepared], uses: Mapping[str, Use]) -> Iterator[Shared]:
    """The cohorts that pairs of prepared datasets, given by name, share."""
    for one, other in combinations(prepared, 2):
        if prepared[one].dataset_name == prepared[other].dataset_name:  # two tasks of it
            continue
        first, second = HOLDS.get(known_as(prepared[one]), {}), HOLDS.get(known_as(prepared[other]), {})
        for cohort in [cohort for cohort in first if cohort in second]:
            parts = ((prepared[one], first[cohort], uses[one]), (prepared[other], second[cohort], uses[other]))
            used = [_used(data, beginning, use) for data, beginning, use in parts]
            if not all(count for count, _, _ in used):
                continue
            (_, trained, tested), (_, trained_too, tested_too) = used
            is_leak = (trained and tested_too) or (trained_too and tested)
            held = " and ".join(
                f"{data.title}{f' in {beginning}' if beginning else ''} ({count})"
                for (data, beginning, _), (count, _, _) in zip(parts, used, strict=True)
            )
            remedy = "; leave it out of one by leave_out in a card (docs/DATA.md)" if is_leak else ""
            how = "one is pretrained on and the other tested" if is_leak else "its recordings count in both"
            yield Shared((one, other), is_leak, f"recordings of {cohort} are in {held}, and {how}{remedy}")


def known_as(data: Prepared) -> str:
    """What a dataset is called in `HOLDS`, whatever its card names it."""
    return data.form.partition(",")[0] if data.form.startswith(FORM) else data.dataset_name


def _used(data: Prepared, beginning: str, use: Use) -> tuple[int, bool, bool]:
    """Number of usable recordings of a cohort, and whether any are pretrained on, and tested."""
    own = np.array([entry.path.startswith(beginning) for entry in data.entries], bool)  # (R,)
    return int(own.sum()), bool(use.pretraining[own].any()), bool((use.side[own] == "test").any())


COLUMNS = (
    *(("", heading, "label") for heading in ("dataset", "form")),
    *(("", name, "right") for name in ("recordings", "on disk", "usable", "patients", "windows", "Hz", "seconds")),
)
"""Group, heading and kind of the columns of `data summary`."""
MISSING = "file missing"
"""How the kind of reason of a listed recording begins whose header or signal is not on disk."""
UNSTATED = "not stated"
EXAMPLES = 3
"""Most names listed as examples."""


@dataclass(frozen=True)
class TaskCounts:
    """The recordings of a dataset that count for a named task."""

    name: str
    classes: dict[str, int]
    """Class -> recordings."""
    sides: dict[str, int]
    """'training', 'validation' and 'test' -> recordings; empty where they cannot be split."""


@dataclass(frozen=True)
class Summary:
    """Facts of one dataset; those that need the signals are None before these are read."""

    name: str
    title: str
    form: str
    simulated: bool
    listed: int
    """Recordings in the dataset's tables."""
    patients: int
    """Of the usable recordings if known, else of those on disk; so are the classes."""
    classes: dict[str, dict[str, int]]
    """Kind of labels of the task `default` ('single' or 'multi') -> class -> recordings that count for it."""
    usable: int | None = None
    windows: int | None = None
    segmentation: Segmentation = HEARTBEATS
    """Kind and length of the windows."""
    signals: tuple[Signal, ...] | None = None
    skipped: tuple[Skipped, ...] = ()
    others: tuple[str, ...] = ()
    """On-disk forms also present and not read."""
    sexes: tuple[str, ...] = ()
    """Of the recordings counted in `classes`, as the table states them; '' where it does not."""
    ages: tuple[float | None, ...] = ()
    """Of the same recordings, in years."""
    tasks: tuple[TaskCounts, ...] = ()
    """Of the named tasks, of the same recordings."""

    @property
    def on_disk(self) -> int:
        """Listed recordings whose files exist."""
        return self.listed - sum(skip.reason.startswith(MISSING) for skip in self.skipped)


def of_prepared(prepared: Prepared, spec: TaskSpec) -> Summary:
    """Facts of a dataset whose signals have been read."""
    return Summary(
        name=prepared.name,
        title=prepared.title,
        form=prepared.form,
        simulated=prepared.simulated,
        listed=len(prepared.entries) + len(prepared.skipped),
        patients=len({entry.patient for entry in prepared.entries}),
        classes=class_counts(prepared, prepared.entries, spec),
        usable=len(prepared.entries),
        windows=prepared.window_count,
        segmentation=prepared.segmentation,
        signals=prepared.signals,
        skipped=prepared.skipped,
        others=prepared.others,
        sexes=tuple(entry.sex for entry in prepared.entries),
        ages=tuple(entry.age for entry in prepared.entries),
        tasks=task_counts(prepared.name, prepared.entries, spec),
    )


def of_listing(dataset: Dataset, listing: Listing, spec: TaskSpec) -> Summary:
    """Facts from a dataset's tables and the names of its files."""
    there = [entry for entry in listing.entries if all(path.is_file() for path in dataset.files(entry))]
    found = {entry.recording for entry in there}
    missing = (entry for entry in listing.entries if entry.recording not in found)
    ruled_out = (Skipped(recording, recording, (), reason) for recording, reason in listing.skipped)
    return Summary(
        name=dataset.name,
        title=dataset.title,
        form=listing.form,
        simulated=is_simulated(dataset, listing.entries),
        listed=len(listing.entries) + len(listing.skipped),
        patients=len({entry.patient for entry in there}),
        classes=class_counts(dataset, there, spec),
        skipped=(*(Skipped(entry.recording, entry.patient, (), MISSING) for entry in missing), *ruled_out),
        others=listing.others,
        sexes=tuple(entry.sex for entry in there),
        ages=tuple(entry.age for entry in there),
        tasks=task_counts(dataset.name, there, spec),
    )


def class_counts(dataset: About, entries: Sequence[Entry], spec: TaskSpec) -> dict[str, dict[str, int]]:
    """Task -> class -> recordings that count for it, in the order of the classes; empty where there are no classes."""
    tasks: tuple[Labels, ...] = ("single", "multi") if dataset.classes else ()
    counts: dict[str, dict[str, int]] = {}
    for labels in tasks:
        own = replace(spec, labels=labels)
        counted = Counter(
            label
            for entry in entries
            for label in task_labels(entry.labels, own, first_label_counts=dataset.first_label_counts)
        )
        counts[labels] = {title: counted[index] for index, title in enumerate(dataset.classes)}
    return counts


def task_counts(dataset: str, entries: Sequence[Entry], spec: TaskSpec) -> tuple[TaskCounts, ...]:
    """Of each named task of a dataset, in order."""
    found = []
    for name, task in TASKS.get(dataset, {}).items():
        own = [replace(entry, labels=task.labels(entry)) for entry in entries]
        counted = Counter(label for entry in own for label in entry.labels)
        sides: dict[str, int] = {}
        with suppress(DatasetError):
            split = split_recordings(own, replace(spec, labels="multi", sides=task.sides), first_label_counts=False)
            sides = {side: len(indices) for side, indices in sides_of(split).items()}
        found.append(TaskCounts(name, {title: counted[index] for index, title in enumerate(task.classes)}, sides))
    return tuple(found)


def table_row(summary: Summary) -> tuple[str, ...]:
    """Cells under `COLUMNS`; a dash for what is not known yet."""
    return (
        summary.name,
        form_text(summary),
        str(summary.listed),
        str(summary.on_disk),
        "-" if summary.usable is None else str(summary.usable),
        str(summary.patients),
        "-" if summary.windows is None else str(summary.windows),
        rates_text(summary.signals) if summary.signals else "-",
        lengths_text(summary.signals) if summary.signals else "-",
    )


def below_table(summary: Summary) -> Iterator[str]:
    """Lines on a dataset's classes and skipped recordings, and how to fill in its dashes."""
    yield summary.title
    yield from (
        f"  {line}"
        for line in (*other_lines(summary), *class_lines(summary), *people_lines(summary), *skipped_lines(summary))
    )
    if summary.usable is None:
        yield "  not prepared yet: `data check` or a run prepares it and fills in the dashes"


def fact_lines(summary: Summary) -> Iterator[str]:
    """All facts of a dataset whose signals have been read, one kind a line."""
    yield f"form        {form_text(summary)}"
    yield from other_lines(summary)
    yield f"recordings  {summary.listed} listed; {summary.usable} usable, of {summary.patients} patients"
    yield f"{summary.segmentation.word + 's':<12}{summary.windows}"
    if summary.signals:
        yield f"signals     {rates_text(summary.signals)} Hz; {lengths_text(summary.signals)} s"
    if words := list(summary.segmentation.words()):
        yield f"cut into    {', '.join(words)}"
    yield from class_lines(summary)
    yield from people_lines(summary)
    yield from skipped_lines(summary)


def form_text(summary: Summary) -> str:
    """The on-disk form, and whether a simulator wrote it."""
    return f"{summary.form} (simulated)" if summary.simulated else summary.form


def other_lines(summary: Summary) -> Iterator[str]:
    """On-disk forms present and not read: a recording can be in two of them."""
    if summary.others:
        yield f"also there  {', '.join(summary.others)}; not read, forms are never pooled"


def class_lines(summary: Summary) -> Iterator[str]:
    """One line per kind of labels: recordings of each class; and per named task: its classes and sides."""
    for task, counts in summary.classes.items():
        yield f"{task:<6}      {', '.join(f'{name} {count}' for name, count in counts.items())}"
    for own in summary.tasks:
        there = {name: count for name, count in own.classes.items() if count}
        sides = ", ".join(f"{side} {count}" for side, count in own.sides.items()) or "cannot be split"
        absent = ", ".join(name for name in own.classes if name not in there)
        lacking = f"; without a recording: {absent}" if absent else ""
        yield f"task {own.name}: {len(there)} of {len(own.classes)} classes ({sides}){lacking}"


def people_lines(summary: Summary) -> Iterator[str]:
    """Recordings by sex, and the range of the ages, where the dataset's table states them."""
    if any(summary.sexes):
        counts = Counter(summary.sexes).most_common()
        yield f"sex         {', '.join(f'{sex or UNSTATED} {count}' for sex, count in counts)}"
    ages = sorted(age for age in summary.ages if age is not None)
    if ages:
        without = f"; {len(summary.ages) - len(ages)} not stated" if len(ages) < len(summary.ages) else ""
        yield f"age         {ages[0]:g} to {ages[-1]:g}, median {ages[len(ages) // 2]:g}{without}"


def skipped_lines(summary: Summary) -> Iterator[str]:
    """One line per kind of reason, the most frequent first: number of recordings, and examples."""
    for kind, count in skip_summary(summary.skipped).items():
        named = [skip.recording for skip in summary.skipped if skip.reason.partition(":")[0] == kind]
        yield f"skipped     {count} {kind} ({some(named)})"


def some(names: Sequence[str]) -> str:
    """The first `EXAMPLES` names, and how many more there are."""
    more = f" and {len(names) - EXAMPLES} more" if len(names) > EXAMPLES else ""
    return ", ".join(names[:EXAMPLES]) + more


def rates_text(signals: Sequence[Signal]) -> str:
    """'500', or '500 (97 of 100), 1000 (3 of 100)' where rates differ."""
    rates = Counter(signal.fs for signal in signals).most_common()
    if len(rates) == 1:
        return f"{rates[0][0]:g}"
    return ", ".join(f"{rate:g} ({count} of {len(signals)})" for rate, count in rates)


def lengths_text(signals: Sequence[Signal]) -> str:
    """'10', or '6 to 60, median 12' where lengths differ; in seconds."""
    seconds = sorted(signal.samples / signal.fs for signal in signals)
    if seconds[0] == seconds[-1]:
        return f"{seconds[0]:g}"
    return f"{seconds[0]:g} to {seconds[-1]:g}, median {seconds[len(seconds) // 2]:g}"


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
        findings += unusable(data, splits.get(name), own if name in tested else None)
        if data.dataset_name not in seen:
            findings += of_files(data)
        seen.add(data.dataset_name)
        if name in tested and name in splits:
            findings += shared_patients(data, splits[name])
            if not (lacking(splits[name]) or too_few_classes(data, splits[name], own)):
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


def unusable(data: Prepared, split: Split | None, tested: TaskSpec | None) -> Iterator[Finding]:
    """A dataset without a usable recording, too small to be split, or `tested` on a task that cannot be scored."""
    if not data.entries:
        reasons = ", ".join(f"{reason} ({count})" for reason, count in skip_summary(data.skipped).items())
        text = f"no recording is usable: {reasons or 'none is there'}. {data.how_to_get}".strip()
        yield Finding((data.name,), "fatal", text)
    elif (split is not None and (problem := lacking(split))) or (
        split is not None and tested and (problem := too_few_classes(data, split, tested))
    ):
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


def people_of(dataset: Dataset, entries: Sequence[Entry]) -> dict[str, Person]:
    """Recording -> sex and age, of those entries of which a dataset states either; {} where it states none."""
    told = {entry.recording: (entry.sex, entry.age) for entry in entries}
    if not any(sex or age is not None for sex, age in told.values()):
        table = dataset.people()
        told = {own.recording: table.get(own.recording) or _of_headers(dataset.files(own)) for own in entries}
    return {recording: own for recording, own in told.items() if own[0] or own[1] is not None}


def _of_headers(files: Sequence[Path]) -> Person:
    """The person of the comments `# Age: 63` and `#Sex: Female` of a recording's WFDB headers."""
    return _stated(files, "sex"), years_of(_stated(files, "age"))


def _stated(files: Sequence[Path], name: str) -> str:
    """What the first comment of a name in the headers among some files says; '' for none, or none that can be read."""
    for header in (path for path in files if path.suffix == ".hea"):
        with suppress(Unusable):
            for text in comments(header.with_suffix(""), name):
                return text
    return ""
