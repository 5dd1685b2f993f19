"""The audit of prepared datasets, and the facts of each: leaks, copies, damage, odd leads.

A copy is a recording with the same signal, to the microvolt (`prepare.signal_digest`), whatever its name. A leak is a
patient, or copies, on two sides of a split, or a test recording that is also pretrained on: a run refuses it. An
unusable dataset is fatal. Everything else is a warning, except what no repair could change (`IN_THE_ECG`).

Copies are found by content, which cannot see the same ECG at another rate, filtered or in another length.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from benchmark.data.datasets.base import About, Dataset, DatasetError, Entry, Unusable
from benchmark.data.folds import is_cross_validated, tested_recordings
from benchmark.data.prepare import LIMB_LEADS, Prepared, SignalFacts, Skipped, skip_summary
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

OWN_FORM = "files of a card"
"""How the on-disk form of a user's own files ends."""
EXAMPLES = 3
"""Most names listed as examples."""
Key = TypeVar("Key")
Value = TypeVar("Value")


def fact_lines(data: Prepared, spec: TaskSpec) -> Iterator[str]:
    """All facts of a prepared dataset, one kind a line; `spec` is of the tasks in which classes are counted."""
    yield f"form        {data.form}"
    if data.others:  # a recording can be in two of them
        yield f"also there  {', '.join(data.others)}; not read, forms are never pooled"
    listed, patients = len(data.entries) + len(data.skipped), len({entry.patient for entry in data.entries})
    yield f"recordings  {listed} listed; {len(data.entries)} usable, of {patients} patients"
    yield f"{data.segmentation.word + 's':<12}{data.window_count}"
    if data.signals:
        yield f"signals     {rates_text(data.signals)} Hz; {lengths_text(data.signals)} s"
    if words := list(data.segmentation.words()):
        yield f"cut into    {', '.join(words)}"
    yield from class_lines(data, data.entries, spec)
    yield from skipped_lines(data.skipped)


def class_lines(about: About, entries: Sequence[Entry], spec: TaskSpec) -> Iterator[str]:
    """One line per kind of labels: recordings of each class; and per named task: its classes and sides."""
    kinds: tuple[Labels, ...] = ("single", "multi") if about.classes else ()
    for labels in kinds:
        of_kind = replace(spec, labels=labels)
        stated = [task_labels(e.labels, of_kind, first_label_counts=about.first_label_counts) for e in entries]
        counts = class_counts(about.classes, stated)
        yield f"{labels:<6}      {', '.join(f'{name} {count}' for name, count in counts.items())}"
    for name, task in TASKS.get(about.name, {}).items():
        labelled = [replace(entry, labels=task.labels(entry)) for entry in entries]
        sides = "cannot be split"
        with suppress(DatasetError):
            of_task = replace(spec, labels="multi", sides=task.sides)
            split = split_recordings(labelled, of_task, first_label_counts=False)
            sides = ", ".join(f"{side} {len(indices)}" for side, indices in sides_of(split).items())
        counts = class_counts(task.classes, [entry.labels for entry in labelled])
        absent = [title for title, count in counts.items() if not count]
        there = len(counts) - len(absent)
        without = f"; without a recording: {', '.join(absent)}" if absent else ""
        yield f"task {name}: {there} of {len(counts)} classes ({sides}){without}"


def class_counts(classes: Sequence[str], labels: Iterable[tuple[int, ...]]) -> dict[str, int]:
    """Class -> recordings with its label, in the order of the classes."""
    counted = Counter(label for own in labels for label in own)
    return {title: counted[index] for index, title in enumerate(classes)}


def skipped_lines(skipped: Iterable[Skipped]) -> Iterator[str]:
    """One line per kind of reason, the most frequent first: number of recordings, and examples."""
    for kind, names in sorted(by_kind(skipped).items(), key=lambda own: -len(own[1])):
        yield f"skipped     {len(names)} {kind} ({some(names)})"


def by_kind(skipped: Iterable[Skipped]) -> dict[str, list[str]]:
    """Kind of reason -> names of the recordings."""
    return grouped((skip.reason.partition(":")[0], skip.recording) for skip in skipped)


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """The values of each key, in the order in which they come."""
    groups: dict[Key, list[Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def some(names: Sequence[str]) -> str:
    """The first `EXAMPLES` names, and how many more there are."""
    more = f" and {len(names) - EXAMPLES} more" if len(names) > EXAMPLES else ""
    return ", ".join(names[:EXAMPLES]) + more


def rates_text(signals: Sequence[SignalFacts]) -> str:
    """'500', or '500 (97 of 100), 1000 (3 of 100)' where rates differ."""
    rates = Counter(signal.fs for signal in signals).most_common()
    if len(rates) == 1:
        return f"{rates[0][0]:g}"
    return ", ".join(f"{rate:g} ({count} of {len(signals)})" for rate, count in rates)


def lengths_text(signals: Sequence[SignalFacts]) -> str:
    """'10', or '6 to 60, median 12' where lengths differ; in seconds."""
    seconds = sorted(signal.samples / signal.fs for signal in signals)
    if seconds[0] == seconds[-1]:
        return f"{seconds[0]:g}"
    return f"{seconds[0]:g} to {seconds[-1]:g}, median {seconds[len(seconds) // 2]:g}"


MEASURED = 100
"""Recordings whose beats are measured, evenly spread over a dataset."""
LOWEST, HIGHEST = (0.1, 30.0), (10.0, 200.0)
"""Limits of a dataset's median QRS amplitude, mV, and heart rate, 1/min, whose unit and sampling rate are right."""
REPEATED = 0.7
"""Share of the highest repetition of the slopes from which on a shorter lag is the beats'."""


def measured_beats(dataset: Dataset, entries: Sequence[Entry]) -> list[tuple[float, float]]:
    """QRS amplitude and heart rate, as in `beats_of`, of up to `MEASURED` of the recordings that can be read."""
    found = []
    for entry in entries[:: max(1, -(-len(entries) // MEASURED))]:
        with suppress(Unusable):
            recording = dataset.read(entry)
            found += beats_of(recording.signal, recording.fs)
    return found


def beats_of(signal: NDArray[np.float32], fs: float) -> list[tuple[float, float]]:
    """The QRS amplitude, mV, and the heart rate, 1/min, of a recording (n, 12); none where no beat repeats.

    The RR interval is the shortest lag, in samples, at which the slopes of all leads repeat: neither a wrong unit nor a
    wrong sampling rate changes it. The amplitude is the median over beats and leads of the range within a beat.
    """
    slope = np.abs(np.diff(signal.astype(np.float64), axis=0))  # (n - 1, 12)
    moving = slope.any(axis=0) & np.isfinite(slope).all(axis=0)  # (12,)
    if not moving.any():
        return []
    steep = (slope[:, moving] / slope[:, moving].mean(axis=0)).mean(axis=1)  # (n - 1,)
    level = uniform_filter1d(steep, len(steep) // 5 + 1)  # (n - 1,) noise may come and go
    steep = np.divide(steep, level, out=np.zeros_like(steep), where=level > 0)  # (n - 1,)
    complexes = uniform_filter1d(steep, 2 * _first_dip(_repeats(steep)) + 1)  # (n - 1,) one bump per QRS complex
    repeats = _repeats(complexes)  # (lags,)
    dip = _first_dip(repeats)
    inside = repeats[dip:]
    peaks = np.flatnonzero((inside[1:-1] > inside[:-2]) & (inside[1:-1] >= inside[2:])) + 1
    if not len(peaks) or inside[peaks].max() <= 0:
        return []
    lag = int(dip + peaks[inside[peaks] >= REPEATED * inside[peaks].max()][0])
    beats = signal[: len(signal) // lag * lag, moving].reshape(-1, lag, moving.sum())  # (beats, lag, leads)
    return [(float(np.median(np.ptp(beats, axis=1))), 60 * fs / lag)]


def _repeats(course: NDArray[np.float64]) -> NDArray[np.float64]:
    """Autocorrelation of a course (n,) at the lags from 0 to n / 2."""
    spectrum = np.fft.rfft(course - course.mean(), 2 * len(course))
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2)[: len(course) // 2])


def _first_dip(repeats: NDArray[np.float64]) -> int:
    """The first lag without correlation: about the length of a QRS complex; the last lag where there is none."""
    return int(np.argmax(np.append(repeats[:-1] <= 0, True)))


def implausible(name: str, amplitude: float, rate: float, unit: str, frequency: str) -> Iterator[Finding]:
    """Warnings on a dataset's median QRS amplitude, mV, and heart rate, 1/min; with what states unit and frequency."""
    stated = (
        (f"QRS amplitude is {float(f'{amplitude:.3g}'):g} mV", amplitude, " mV", unit),
        (f"heart rate is {rate:.0f}/min", rate, "/min", frequency),
    )
    for (what, value, suffix, key), low, high in zip(stated, LOWEST, HIGHEST, strict=True):
        if not low <= value <= high:
            text = f"the median {what}, outside {low:g} to {high:g}{suffix}: {key} is probably wrong"
            yield Finding((name,), "warning", text)


Severity = Literal["fatal", "leak", "warning"]
IN_THE_ECG = frozenset({"heart rate below 50/min", "no beats found", "too short"})
"""Kinds of reasons for skipping that lie in the ECG, not in a damaged file."""
TEST = "test"
NEAR_BITS = 8
"""Bits of 192 in which the outlines of near copies differ at most; those of other signals differ in some 70 to 100."""
MOST, FEWEST = 0.5, 3
"""Share of the recordings, and their number, from which on broken limb leads are the fault of all files."""


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
    """(R,) 'training', 'validation', 'test' or ''; where patients are tested by what is learned on each other (a
    cross-validation) 'test' and the patient."""
    pretraining: NDArray[np.bool_]
    """(R,) pretrained on."""


def audit(
    prepared: Mapping[str, Prepared],
    spec: TaskSpec,
    *,
    pretrain: str,
    tested: Sequence[str],
    specs: Mapping[str, TaskSpec] | None = None,
    joined: Mapping[str, frozenset[str]] | None = None,
) -> list[Finding]:
    """Findings on prepared datasets, given by name; `pretrain` is pretrained on, `tested` are scored.

    joined: where several datasets are the corpus, the recordings of each that are pretrained on. `pretrain` need not be
    in `prepared`. Several may be tasks of one dataset: what is wrong with its files is found once. specs: those of
    named tasks, in place of `spec`.
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
    for name in tested:
        own = (specs or {}).get(name, spec)
        if name in uses and is_cross_validated(prepared[name], own):
            side = np.full(len(prepared[name].entries), "", dtype=object)  # (R,)
            for r in tested_recordings(prepared[name], own):
                side[r] = f"{TEST} {prepared[name].entries[r].patient}"
            uses[name] = replace(uses[name], side=side.astype(np.str_))
    for name, chosen in (joined or {}).items():
        pretraining = np.array([entry.recording in chosen for entry in prepared[name].entries], np.bool_)  # (R,)
        uses[name] = replace(uses[name], pretraining=pretraining)
    return [*findings, *copies(prepared, uses), *near_copies(prepared, uses), *names_in_two_datasets(prepared)]


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
    for kind, names in by_kind(data.skipped).items():
        if kind not in IN_THE_ECG:
            yield Finding((data.name,), "warning", f"{recordings(len(names))} cannot be used: {kind} ({some(names)})")


def doubtful_leads(data: Prepared) -> Iterator[Finding]:
    """Recordings that are used although something is wrong with their leads, one finding per kind."""
    doubts = grouped(
        (signal.warning, entry.recording)
        for entry, signal in zip(data.entries, data.signals, strict=True)
        if signal.warning
    )
    for kind, names in doubts.items():
        text = f"{recordings(len(names))} {'is' if len(names) == 1 else 'are'} used with {kind} ({some(names)})"
        if kind == LIMB_LEADS and len(names) >= max(FEWEST, MOST * len(data.entries)):
            key = "`signals.leads` of its card" if data.form.endswith(OWN_FORM) else "the order that its files state"
            text += f": most of {len(data.entries)}, so the order of leads is probably wrong, correct {key}"
        yield Finding((data.name,), "warning", text, in_tables=True)


def lengthened(data: Prepared) -> Iterator[Finding]:
    """Recordings shorter than a window, which zeros follow."""
    padded = sum(data.segmentation.is_padded(signal.samples, signal.fs) for signal in data.signals)
    if padded:
        verb = "is" if padded == 1 else "are"
        text = f"{recordings(padded)} shorter than {data.segmentation.seconds:g} s {verb} lengthened by zeros"
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
    absent = ((tuple(side for side in counts if not counts[side][i]), name) for i, name in enumerate(data.classes))
    for sides, names in grouped(absent).items():
        if sides:
            yield Finding(
                (data.name,), "warning", f"no usable recording of {', '.join(names)} for {' and '.join(sides)}"
            )


def classes_of_one_patient(data: Prepared, spec: TaskSpec) -> Iterator[Finding]:
    """Classes that only one patient has: they cannot be on two sides of a split."""
    counted = data.first_label_counts
    of_class = {
        (label, entry.patient)
        for entry in data.entries
        for label in task_labels(entry.labels, spec, first_label_counts=counted)
    }
    patients = Counter(label for label, _ in of_class)
    alone = [data.classes[label] for label in sorted(patients) if patients[label] == 1]
    if alone:
        classes = "1 class has" if len(alone) == 1 else f"{len(alone)} classes have"
        remedy = "no split both trains and tests it: merge it with another or leave it out"
        yield Finding((data.name,), "warning", f"{classes} only one patient ({some(alone)}), so {remedy}")


def copies(prepared: Mapping[str, Prepared], uses: Mapping[str, Use]) -> Iterator[Finding]:
    """Recordings with the same signal, within and across datasets, grouped by datasets and kind.

    A recording in two tasks of a dataset is a copy of itself only where that is a leak.
    """
    counted = Counter(signal.digest for data in prepared.values() for signal in data.signals)
    places = (
        (signal.digest, (name, i))
        for name, data in prepared.items()
        for i, signal in enumerate(data.signals)
        if counted[signal.digest] > 1
    )
    found: dict[tuple[tuple[str, ...], Severity, str], list[str]] = {}
    for group in grouped(places).values():
        severity, what = _kind_of_copy(group, uses)
        if severity == "warning":  # each recording once, whatever the number of tasks of its dataset
            once = grouped(((prepared[name].dataset_name, i), (name, i)) for name, i in group)
            group = [first for first, *_ in once.values()]
        if len(group) > 1:
            datasets = tuple(dict.fromkeys(name for name, _ in group))
            examples = " = ".join(f"{prepared[name].title} {prepared[name].entries[i].recording}" for name, i in group)
            found.setdefault((datasets, severity, what), []).append(examples)
    for (datasets, severity, what), signals in found.items():
        count = "1 signal" if len(signals) == 1 else f"{len(signals)} signals"
        yield Finding(datasets, severity, f"{count} {what}: {some(signals)}")


def near_copies(prepared: Mapping[str, Prepared], uses: Mapping[str, Use]) -> Iterator[Finding]:
    """Warn of recordings that are equal but for their gain, steps or sampling rate (`prepare.outline_of`)."""
    outlines = {signal.digest: signal.outline for data in prepared.values() for signal in data.signals}
    places = grouped(
        (signal.digest, (name, i)) for name, data in prepared.items() for i, signal in enumerate(data.signals)
    )
    alike = [grouped((outline[word], digest) for digest, outline in outlines.items() if outline) for word in range(3)]
    pairs = {pair: None for groups in alike for group in groups.values() for pair in combinations(group, 2)}
    findings: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for one, other in pairs:
        if sum((a ^ b).bit_count() for a, b in zip(outlines[one], outlines[other], strict=True)) <= NEAR_BITS:
            group = [*places[one], *places[other]]
            titles = dict.fromkeys(f"{prepared[name].title} {prepared[name].entries[i].recording}" for name, i in group)
            datasets = tuple(dict.fromkeys(name for name, _ in group))
            findings.setdefault((datasets, _kind_of_copy(group, uses)[1]), []).append(" = ".join(titles))
    for (datasets, what), examples in findings.items():
        count = "1 signal" if len(examples) == 1 else f"{len(examples)} signals"
        text = f"{count}, but for gain, steps or rate, {what}: {some(examples)}"
        yield Finding(datasets, "warning", text, in_tables=what != "in more than one recording")


def _kind_of_copy(group: Sequence[tuple[str, int]], uses: Mapping[str, Use]) -> tuple[Severity, str]:
    """Severity and description of a group of equal recordings, given as (dataset, index)."""
    sides = {(name, uses[name].side[i]) for name, i in group} - {(name, "") for name, _ in group}  # of each dataset
    if len(sides) > len({name for name, _ in sides}):
        return "leak", "on two sides of a split"
    if any(side.startswith(TEST) for _, side in sides) and any(uses[name].pretraining[i] for name, i in group):
        return "leak", "both pretrained on and tested"
    return "warning", "in more than one recording"


def names_in_two_datasets(prepared: Mapping[str, Prepared]) -> Iterator[Finding]:
    """Non-numeric recording names found in two datasets; numbers may coincide by chance."""
    first = {data.dataset_name: name for name, data in reversed(list(prepared.items()))}
    homes = grouped(
        (recording, name)
        for name in reversed(list(first.values()))
        for recording in {entry.recording for entry in prepared[name].entries if not entry.recording.isdigit()}
    )
    shared = grouped((tuple(places), recording) for recording, places in homes.items() if len(places) > 1)
    for places, names in shared.items():
        titles = " and ".join(prepared[name].title for name in places)
        yield Finding(places, "warning", f"recording names that stand in both {titles}: {some(sorted(names))}")


def recordings(count: int) -> str:
    """'1 recording' or '3 recordings'."""
    return "1 recording" if count == 1 else f"{count} recordings"
