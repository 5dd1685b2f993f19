"""The audit of prepared datasets, and the facts of each: leaks, copies, damage, odd leads.

A copy is a recording with the same signal, to the microvolt (`prepare.signal_digest`), whatever its name; the same ECG
at another rate, filtered or in another length is none. A leak is a patient, or copies, on two sides of a split, or a
test recording that is also pretrained on: a run refuses it. An unusable dataset is fatal. Everything else is a warning,
except what no repair could change (`IN_THE_ECG`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from benchmark.data.datasets.base import Dataset, DatasetError, Entry, Unusable
from benchmark.data.prepare import LIMB_LEADS, Prepared, skip_summary
from benchmark.data.splits import (
    TASKS,
    Labels,
    Split,
    TaskSpec,
    empty_parts,
    is_cross_validated,
    labels_under,
    patients_on_two_sides,
    sides_of,
    split_of,
    split_recordings,
    target_of,
    tested_recordings,
    too_few_classes,
)

CARD_FORM = "files of a card"
"""How the on-disk form of a user's own files ends."""
EXAMPLES = 3
"""Most names listed as examples."""
Key = TypeVar("Key")
Value = TypeVar("Value")


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Collect the values of each key, in the order in which they come."""
    groups: dict[Key, list[Value]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return dict(groups)


def some(names: Sequence[str]) -> str:
    """List the first `EXAMPLES` names, and how many more there are."""
    more = f" and {len(names) - EXAMPLES} more" if len(names) > EXAMPLES else ""
    return ", ".join(names[:EXAMPLES]) + more


def counted(count: int, word: str) -> str:
    """Return '1 recording' or '3 recordings'."""
    return f"{count} {word}{'s' * (count != 1)}"


def skipped_by_kind(data: Prepared) -> dict[str, list[str]]:
    """Group the names of the skipped recordings by kind of reason, the most frequent first."""
    kinds = grouped((skip.reason.partition(":")[0], skip.recording) for skip in data.skipped)
    return dict(sorted(kinds.items(), key=lambda item: -len(item[1])))


def fact_lines(data: Prepared, spec: TaskSpec) -> Iterator[str]:
    """Say all facts of a prepared dataset, one kind a line; `spec` is of the tasks in which classes are counted."""
    yield f"form        {data.form}"
    if data.others:  # a recording can be in two of them
        yield f"also there  {', '.join(data.others)}; not read, forms are never pooled"
    listed, patients = len(data.entries) + len(data.skipped), len({entry.patient for entry in data.entries})
    yield f"recordings  {listed} listed; {len(data.entries)} usable, of {patients} patients"
    yield f"{data.segmentation.unit_name + 's':<12}{data.window_count}"
    if data.signals:
        rates = Counter(signal.fs for signal in data.signals).most_common()
        shares = [f"{rate:g}" + f" ({count} of {len(data.signals)})" * (len(rates) > 1) for rate, count in rates]
        seconds = range_text([signal.samples / signal.fs for signal in data.signals])
        yield f"signals     {', '.join(shares)} Hz; {seconds} s"
    if words := list(data.segmentation.describe()):
        yield f"cut into    {', '.join(words)}"
    yield from class_lines(data, spec)
    for kind, names in skipped_by_kind(data).items():
        yield f"skipped     {len(names)} {kind} ({some(names)})"


def range_text(values: Sequence[float]) -> str:
    """Return '10', or '6 to 60, median 12' where values differ."""
    ordered = sorted(values)
    if ordered[0] == ordered[-1]:
        return f"{ordered[0]:g}"
    return f"{ordered[0]:g} to {ordered[-1]:g}, median {ordered[len(ordered) // 2]:g}"


def class_lines(data: Prepared, spec: TaskSpec) -> Iterator[str]:
    """Count the recordings of each class, a line per kind of labels; and of each named task its classes and sides."""
    kinds: tuple[Labels, ...] = ("single", "multi") if data.classes else ()
    for labels in kinds:
        counts = target_of(data, replace(spec, labels=labels)).sum(axis=0)  # (C,)
        pairs = zip(data.classes, counts, strict=True)
        yield f"{labels:<6}      {', '.join(f'{name} {count}' for name, count in pairs)}"
    for name, task in TASKS.get(data.name, {}).items():
        labelled = [replace(entry, labels=task.labels(entry)) for entry in data.entries]
        sides = "cannot be split"
        with suppress(DatasetError):
            split = split_recordings(
                labelled, replace(spec, labels="multi", sides=task.sides), first_label_counts=False
            )
            sides = ", ".join(f"{side} {len(indices)}" for side, indices in sides_of(split).items())
        present = {label for entry in labelled for label in entry.labels}
        absent = [title for label, title in enumerate(task.classes) if label not in present]
        without = f"; without a recording: {', '.join(absent)}" if absent else ""
        yield f"task {name}: {len(present)} of {len(task.classes)} classes ({sides}){without}"


MEASURED = 100
"""Recordings whose beats are measured, evenly spread over a dataset."""
LOWEST, HIGHEST = (0.1, 30.0), (10.0, 200.0)
"""Limits of a dataset's median QRS amplitude, mV, and heart rate, 1/min, whose unit and sampling rate are right."""
REPEATED = 0.7
"""Share of the highest repetition of the slopes from which on a shorter lag is the beats'."""


def measured_beats(dataset: Dataset, entries: Sequence[Entry]) -> list[tuple[float, float]]:
    """Measure up to `MEASURED` of the recordings that can be read, as `beats_of`."""
    beats = []
    for entry in entries[:: max(1, -(-len(entries) // MEASURED))]:
        with suppress(Unusable):
            recording = dataset.read(entry)
            beats += beats_of(recording.signal, recording.fs)
    return beats


def beats_of(signal: NDArray[np.float32], fs: float) -> list[tuple[float, float]]:
    """Measure the QRS amplitude, mV, and the heart rate, 1/min, of a recording (n, 12); none where no beat repeats.

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
    """Warn of a dataset's median QRS amplitude, mV, and heart rate, 1/min; with what states unit and frequency."""
    measured = (
        (f"QRS amplitude is {float(f'{amplitude:.3g}'):g} mV", amplitude, " mV", unit),
        (f"heart rate is {rate:.0f}/min", rate, "/min", frequency),
    )
    for (what, value, suffix, key), low, high in zip(measured, LOWEST, HIGHEST, strict=True):
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
class Role:
    """What a run does with the R usable recordings of a dataset."""

    side: NDArray[np.object_]
    """(R,) 'training', 'validation', 'test' or ''; in a cross-validation, which tests patients by what is learned on
    each other, 'test' and the patient."""
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
    """Audit prepared datasets, given by name; `pretrain` is pretrained on, `tested` are scored.

    joined: where several datasets are the corpus, the recordings of each that are pretrained on. `pretrain` need not be
    in `prepared`. Several may be tasks of one dataset: what is wrong with its files is found once. specs: those of
    named tasks, in place of `spec`.
    """
    roles: dict[str, Role] = {}
    findings: list[Finding] = []
    datasets: set[str] = set()
    for name, data in prepared.items():
        task_spec, split = (specs or {}).get(name, spec), None
        problem = None if data.entries else no_recordings(data)
        if name in tested or (name == pretrain and data.classes):
            try:
                split = split_of(data, task_spec)
                problem = problem or empty_parts(split)
                problem = problem or (too_few_classes(data, split, task_spec) if name in tested else None)
            except DatasetError as error:
                problem = str(error)
        findings += [Finding((name,), "fatal", problem)] if problem else []
        findings += of_files(data) if data.dataset_name not in datasets else []
        datasets.add(data.dataset_name)
        if split and name in tested:
            findings += shared_patients(data, split)
            findings += [] if problem else rare_classes(data, split, task_spec)
        pretrained = (joined or {}).get(name)
        roles[name] = role_of(data, task_spec, split, name in tested, name == pretrain, pretrained)
    return [*findings, *copies(prepared, roles), *near_copies(prepared, roles)]


def role_of(
    data: Prepared, spec: TaskSpec, split: Split | None, tested: bool, pretrained: bool, joined: frozenset[str] | None
) -> Role:
    """Return a dataset's role in a run: pretraining takes all of a corpus without labels, else the training part.

    joined: recordings of it in a corpus of several datasets.
    """
    side = np.full(len(data.entries), "", dtype=object)  # (R,)
    if tested and is_cross_validated(data, spec):
        for r in tested_recordings(data, spec):
            side[r] = f"{TEST} {data.entries[r].patient}"
    elif tested and split:
        for name, indices in sides_of(split).items():
            side[indices] = name
    pretraining = np.full(len(data.entries), pretrained and not data.classes)  # (R,)
    if split and pretrained:
        pretraining[split.train] = True
    if joined is not None:
        pretraining = np.array([entry.recording in joined for entry in data.entries], np.bool_)
    return Role(side, pretraining)


def no_recordings(data: Prepared) -> str:
    """Say why a dataset has no usable recording."""
    reasons = ", ".join(f"{reason} ({count})" for reason, count in skip_summary(data.skipped).items())
    return f"no recording is usable: {reasons or 'none is there'}. {data.how_to_get}".strip()


def of_files(data: Prepared) -> Iterator[Finding]:
    """Find what is wrong with a dataset's files and tables, whatever its task."""
    for kind, names in skipped_by_kind(data).items():
        if kind not in IN_THE_ECG:
            text = f"{counted(len(names), 'recording')} cannot be used: {kind} ({some(names)})"
            yield Finding((data.name,), "warning", text)
    listed = Counter([entry.recording for entry in data.entries] + [skip.recording for skip in data.skipped])
    if repeated := [name for name, count in listed.items() if count > 1]:
        yield Finding((data.name,), "warning", f"listed more than once: {some(repeated)}")
    for text in (*data.warnings, *lead_warnings(data)):
        yield Finding((data.name,), "warning", text, in_tables=True)
    padded = sum(data.segmentation.is_padded(signal.samples, signal.fs) for signal in data.signals)
    if padded:
        verb = "is" if padded == 1 else "are"
        text = f"{counted(padded, 'recording')} shorter than {data.segmentation.seconds:g} s {verb} lengthened by zeros"
        yield Finding((data.name,), "warning", text, in_tables=True)


def lead_warnings(data: Prepared) -> Iterator[str]:
    """Name recordings that are used although something is wrong with their leads, a line per kind."""
    pairs = zip(data.signals, data.entries, strict=True)
    for kind, names in grouped((signal.warning, entry.recording) for signal, entry in pairs if signal.warning).items():
        verb = "is" if len(names) == 1 else "are"
        text = f"{counted(len(names), 'recording')} {verb} used with {kind} ({some(names)})"
        if kind == LIMB_LEADS and len(names) >= max(FEWEST, MOST * len(data.entries)):
            key = "`signals.leads` of its card" if data.form.endswith(CARD_FORM) else "the order that its files state"
            text += f": most of {len(data.entries)}, so the order of leads is probably wrong, correct {key}"
        yield text


def shared_patients(data: Prepared, split: Split) -> Iterator[Finding]:
    """Find patients on two sides of a split."""
    shared = patients_on_two_sides(data.entries, split)
    if shared:
        has_folds = any(entry.fold is not None for entry in data.entries)
        remedy = "correct the folds" if has_folds else "use --protocol strict"
        names = some([f"{patient}: {' and '.join(sides)}" for patient, sides in shared.items()])
        patients = f"{counted(len(shared), 'patient')} {'is' if len(shared) == 1 else 'are'}"
        yield Finding((data.name,), "leak", f"{patients} on two sides of the split of {data.title} ({names}): {remedy}")


def rare_classes(data: Prepared, split: Split, spec: TaskSpec) -> Iterator[Finding]:
    """Find classes without a recording on some side of the split, and those of one patient, who is on one side."""
    target = target_of(data, spec)  # (R, C)
    counts = {side: target[indices].sum(axis=0) for side, indices in sides_of(split).items()}  # (C,) each
    empty = ((tuple(side for side in counts if not counts[side][i]), name) for i, name in enumerate(data.classes))
    for sides, names in grouped(empty).items():
        if sides:
            text = f"no usable recording of {', '.join(names)} for {' and '.join(sides)}"
            yield Finding((data.name,), "warning", text)
    labels = zip(data.entries, labels_under(data, spec), strict=True)
    patients = Counter(label for label, _ in {(label, entry.patient) for entry, own in labels for label in own})
    alone = [data.classes[label] for label in sorted(patients) if patients[label] == 1]
    if alone:
        classes = "1 class has" if len(alone) == 1 else f"{len(alone)} classes have"
        remedy = "no split both trains and tests it: merge it with another or leave it out"
        yield Finding((data.name,), "warning", f"{classes} only one patient ({some(alone)}), so {remedy}")


def copies(prepared: Mapping[str, Prepared], roles: Mapping[str, Role]) -> Iterator[Finding]:
    """Find recordings with the same signal, within and across datasets, grouped by datasets and kind.

    A recording in two tasks of a dataset is a copy of itself only where that is a leak.
    """
    repeated = Counter(signal.digest for data in prepared.values() for signal in data.signals)
    digests = (
        (signal.digest, (name, r))
        for name, data in prepared.items()
        for r, signal in enumerate(data.signals)
        if repeated[signal.digest] > 1
    )
    kinds: dict[tuple[tuple[str, ...], Severity, str], list[str]] = {}
    for group in grouped(digests).values():
        severity, what = copy_severity(group, roles)
        if severity == "warning":  # each recording once, whatever the number of tasks of its dataset
            group = [first for first, *_ in grouped(((prepared[n].dataset_name, r), (n, r)) for n, r in group).values()]
        if len(group) > 1:
            datasets = tuple(dict.fromkeys(name for name, _ in group))
            examples = " = ".join(f"{prepared[name].title} {prepared[name].entries[r].recording}" for name, r in group)
            kinds.setdefault((datasets, severity, what), []).append(examples)
    for (datasets, severity, what), signals in kinds.items():
        yield Finding(datasets, severity, f"{counted(len(signals), 'signal')} {what}: {some(signals)}")


def near_copies(prepared: Mapping[str, Prepared], roles: Mapping[str, Role]) -> Iterator[Finding]:
    """Warn of recordings that are equal but for their gain, steps or sampling rate (`prepare.outline_of`)."""
    signals = [(signal, (name, r)) for name, data in prepared.items() for r, signal in enumerate(data.signals)]
    outlines = {signal.digest: signal.outline for signal, _ in signals if signal.outline}
    recordings = grouped((signal.digest, recording) for signal, recording in signals)
    alike = [grouped((outline[word], digest) for digest, outline in outlines.items()) for word in range(3)]
    pairs = {  # of more signals than a few it is an artefact that makes them alike
        pair: None
        for groups in alike
        for group in groups.values()
        if len(group) <= 50
        for pair in combinations(group, 2)
    }
    kinds: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for one, other in pairs:
        if sum((a ^ b).bit_count() for a, b in zip(outlines[one], outlines[other], strict=True)) <= NEAR_BITS:
            group = [*recordings[one], *recordings[other]]
            titles = dict.fromkeys(f"{prepared[name].title} {prepared[name].entries[r].recording}" for name, r in group)
            datasets = tuple(dict.fromkeys(name for name, _ in group))
            kinds.setdefault((datasets, copy_severity(group, roles)[1]), []).append(" = ".join(titles))
    for (datasets, what), examples in kinds.items():
        text = f"{counted(len(examples), 'signal')}, but for gain, steps or rate, {what}: {some(examples)}"
        yield Finding(datasets, "warning", text, in_tables=what != "in more than one recording")


def copy_severity(group: Sequence[tuple[str, int]], roles: Mapping[str, Role]) -> tuple[Severity, str]:
    """Return severity and description of a group of equal recordings, given as (dataset, number)."""
    sides = {(name, roles[name].side[r]) for name, r in group if roles[name].side[r]}  # of each dataset
    if len(sides) > len({name for name, _ in sides}):
        return "leak", "on two sides of a split"
    if any(side.startswith(TEST) for _, side in sides) and any(roles[name].pretraining[r] for name, r in group):
        return "leak", "both pretrained on and tested"
    return "warning", "in more than one recording"
