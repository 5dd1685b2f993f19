"""The audit of prepared datasets, and the facts of each: leaks, copies, damage, odd leads, implausible units and rates.

A copy is a recording with the same signal, to the microvolt (`signals.signal_digest`), whatever its name; a near copy
is equal but for gain, steps or sampling rate (`signals.outline_of`). A leak is a patient, or copies, on two sides of a
split, or a test recording that is also pretrained on: a run refuses it. An unusable dataset is fatal. Everything else
is a warning, except what no repair could change (`IN_THE_ECG`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from benchmark.data.datasets.base import Dataset, DatasetError, Entry, Unusable
from benchmark.data.prepare import Prepared, skip_summary
from benchmark.data.signals import LIMB_LEADS
from benchmark.data.splits import (
    Labels,
    Split,
    TaskSpec,
    is_cross_validated,
    patients_on_two_sides,
    problem_of,
    sides_of,
    split_of,
    target_of,
    tested_recordings,
)
from benchmark.data.tasks import TASKS, DatasetTask, of_task

Severity = Literal["fatal", "leak", "warning"]
IN_THE_ECG = frozenset({"heart rate below 50/min", "no beats found", "too short"})
"""Kinds of reasons for skipping that lie in the ECG, not in a damaged file."""
CARD_FORM = "files of a card"
"""How the on-disk form of a user's own files ends."""
EXAMPLES = 3
"""Most names listed as examples."""
TEST = "test"
NEAR_BITS = 8
"""Bits of 192 in which the outlines of near copies differ at most; those of other signals differ in some 70 to 100."""
MOST_ALIKE = 50
"""Signals that share a part of their outline; of more it is an artefact that makes them alike."""
MOST, FEWEST = 0.5, 3
"""Share of the recordings, and their number, from which on broken limb leads are the fault of all files."""
Key = TypeVar("Key")
Value = TypeVar("Value")
Member = tuple[str, int]
"""Name of a dataset or task, and number of a recording of it."""


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


def audit(
    prepared: Mapping[str, Prepared],
    specs: Mapping[str, TaskSpec],
    *,
    pretrain: str,
    tested: Sequence[str],
    joined: Mapping[str, frozenset[str]] | None = None,
) -> list[Finding]:
    """Audit prepared datasets, given by name with their specs; `pretrain` is pretrained on, `tested` are scored.

    joined: where several datasets are the corpus, the recordings of each that are pretrained on. `pretrain` need not be
    in `prepared`. Several may be tasks of one dataset: what is wrong with its files is reported once.
    """
    sides: dict[Member, str] = {}
    pretrained: set[Member] = set()
    findings: list[Finding] = []
    datasets: set[str] = set()
    for name, data in prepared.items():
        spec, split = specs[name], None
        reasons = ", ".join(f"{reason} ({count})" for reason, count in skip_summary(data.skipped).items())
        nothing = f"no recording is usable: {reasons or 'none is there'}. {data.how_to_get}".strip()
        problem = None if data.entries else nothing
        if name in tested or (name == pretrain and data.classes):
            try:
                split = split_of(data, spec)
                problem = problem or problem_of(data, split, spec, is_scored=name in tested)
            except DatasetError as error:
                problem = str(error)
        findings += [Finding((name,), "fatal", problem)] if problem else []
        findings += of_files(data) if data.dataset_name not in datasets else []
        datasets.add(data.dataset_name)
        if split and name in tested:
            findings += shared_patients(data, split)
            findings += [] if problem else absent_classes(data, split, spec)
            sides |= {(name, r): side for r, side in sides_under(data, spec, split)}
        if joined and name in joined:
            pretrained |= {(name, r) for r, entry in enumerate(data.entries) if entry.recording in joined[name]}
        elif name == pretrain:
            every = [] if data.classes else range(len(data.entries))
            pretrained |= {(name, int(r)) for r in (split.train if split else every)}
    return [*findings, *copies(prepared, sides, pretrained)]


def sides_under(data: Prepared, spec: TaskSpec, split: Split) -> Iterator[tuple[int, str]]:
    """Yield the recordings of a dataset with their sides: 'training', 'validation' or 'test'.

    A cross-validation tests patients by what is learned on each other: each patient is a side, 'test' and the name.
    """
    if is_cross_validated(data, spec):
        yield from ((int(r), f"{TEST} {data.entries[r].patient}") for r in tested_recordings(data, spec))
        return
    for name, indices in sides_of(split).items():
        yield from ((int(r), name) for r in indices)


def of_files(data: Prepared) -> Iterator[Finding]:
    """Name what is wrong with a dataset's files and tables, whatever its task."""
    for kind, names in skipped_by_kind(data).items():
        if kind not in IN_THE_ECG:
            text = f"{counted(len(names), 'recording')} cannot be used: {kind} ({some(names)})"
            yield Finding((data.name,), "warning", text)
    listed = Counter([entry.recording for entry in data.entries] + [skip.recording for skip in data.skipped])
    if repeated := [name for name, count in listed.items() if count > 1]:
        yield Finding((data.name,), "warning", f"listed more than once: {some(repeated)}")
    for text in (*data.warnings, *lead_warnings(data)):
        yield Finding((data.name,), "warning", text, in_tables=True)
    if padded := sum(data.segmentation.is_padded(signal.samples, signal.fs) for signal in data.signals):
        text = f"{counted(padded, 'recording')} shorter than {data.segmentation.seconds:g} s, lengthened by zeros"
        yield Finding((data.name,), "warning", text, in_tables=True)


def lead_warnings(data: Prepared) -> Iterator[str]:
    """Name recordings that are used although something is wrong with their leads, a line per kind."""
    pairs = zip(data.signals, data.entries, strict=True)
    for kind, names in grouped((signal.warning, entry.recording) for signal, entry in pairs if signal.warning).items():
        text = f"{counted(len(names), 'recording')} used with {kind} ({some(names)})"
        if kind == LIMB_LEADS and len(names) >= max(FEWEST, MOST * len(data.entries)):
            key = "`signals.leads` of its card" if data.form.endswith(CARD_FORM) else "the order that its files state"
            text += f": most of {len(data.entries)}, so the order of leads is probably wrong, correct {key}"
        yield text


def shared_patients(data: Prepared, split: Split) -> Iterator[Finding]:
    """Name patients on two sides of a split."""
    shared = patients_on_two_sides(data.entries, split)
    if shared:
        has_folds = any(entry.fold is not None for entry in data.entries)
        remedy = "correct the folds" if has_folds else "use --protocol strict"
        names = some([f"{patient}: {' and '.join(sides)}" for patient, sides in shared.items()])
        text = f"{counted(len(shared), 'patient')} on two sides of the split of {data.title} ({names}): {remedy}"
        yield Finding((data.name,), "leak", text)


def absent_classes(data: Prepared, split: Split, spec: TaskSpec) -> Iterator[Finding]:
    """Name classes without a recording on some side of the split."""
    target = target_of(data, spec)  # (R, C)
    counts = {side: target[indices].sum(axis=0) for side, indices in sides_of(split).items()}  # (C,) each
    empty = ((tuple(side for side in counts if not counts[side][i]), name) for i, name in enumerate(data.classes))
    for sides, names in grouped(empty).items():
        if sides:
            text = f"no usable recording of {', '.join(names)} for {' and '.join(sides)}"
            yield Finding((data.name,), "warning", text)


def copies(prepared: Mapping[str, Prepared], sides: Mapping[Member, str], pretrained: Set[Member]) -> Iterator[Finding]:
    """Name copies and near copies, within and across datasets, grouped by datasets and kind.

    A recording in two tasks of a dataset is a copy of itself only where that is a leak. Near copies are never more than
    a warning.
    """
    signals = [(signal.digest, (name, r)) for name, data in prepared.items() for r, signal in enumerate(data.signals)]
    members = grouped(signals)
    groups = [(group, "") for group in members.values() if len(group) > 1]
    groups += [([*members[a], *members[b]], ", but for gain, steps or rate,") for a, b in near_copies(prepared)]
    findings: dict[tuple[tuple[str, ...], Severity, str, str], list[str]] = {}
    for group, near in groups:
        severity, what = copy_severity(group, sides, pretrained)
        if severity == "warning":  # each recording once, whatever the number of tasks of its dataset
            group = [first for first, *_ in grouped(((prepared[n].dataset_name, r), (n, r)) for n, r in group).values()]
        if len(group) > 1:
            datasets = tuple(dict.fromkeys(name for name, _ in group))
            equal = " = ".join(f"{prepared[name].title} {prepared[name].entries[r].recording}" for name, r in group)
            findings.setdefault((datasets, severity, what, near), []).append(equal)
    for (datasets, severity, what, near), examples in findings.items():
        text = f"{counted(len(examples), 'signal')}{near} {what}: {some(examples)}"
        yield Finding(datasets, "warning" if near else severity, text, in_tables=bool(near) and severity == "leak")


def near_copies(prepared: Mapping[str, Prepared]) -> list[tuple[str, str]]:
    """List the pairs of digests of signals whose outlines are almost equal, and of which one part is."""
    outlines = {signal.digest: signal.outline for data in prepared.values() for signal in data.signals}
    pairs: dict[tuple[str, str], None] = {}
    for word in range(3):
        alike = grouped((outline[word], digest) for digest, outline in outlines.items() if outline)
        for group in alike.values():
            pairs |= dict.fromkeys(combinations(group, 2) if len(group) <= MOST_ALIKE else ())
    return [
        (one, other)
        for one, other in pairs
        if sum((a ^ b).bit_count() for a, b in zip(outlines[one], outlines[other], strict=True)) <= NEAR_BITS
    ]


def copy_severity(
    group: Sequence[Member], sides: Mapping[Member, str], pretrained: Set[Member]
) -> tuple[Severity, str]:
    """Return severity and description of a group of equal recordings."""
    different = {(member[0], sides[member]) for member in group if member in sides}  # sides of each dataset
    if len(different) > len({name for name, _ in different}):
        return "leak", "on two sides of a split"
    if any(side.startswith(TEST) for _, side in different) and any(member in pretrained for member in group):
        return "leak", "both pretrained on and tested"
    return "warning", "in more than one recording"


def skipped_by_kind(data: Prepared) -> dict[str, list[str]]:
    """Group the names of the skipped recordings by kind of reason, the most frequent first."""
    kinds = grouped((skip.reason.partition(":")[0], skip.recording) for skip in data.skipped)
    return dict(sorted(kinds.items(), key=lambda item: -len(item[1])))


def fact_lines(data: Prepared, spec: TaskSpec) -> Iterator[str]:
    """Say all facts of a prepared dataset, one kind a line; `spec` is of the tasks in which classes are counted."""
    yield f"form        {data.form}"
    listed, patients = len(data.entries) + len(data.skipped), len({entry.patient for entry in data.entries})
    yield f"recordings  {listed} listed; {len(data.entries)} usable, of {patients} patients"
    yield f"{data.segmentation.unit_name + 's':<12}{data.window_count}"
    if data.signals:
        rates = Counter(f"{signal.fs:g} Hz" for signal in data.signals).most_common()
        seconds = [signal.samples / signal.fs for signal in data.signals]
        length = f"{min(seconds):g} to {max(seconds):g} s, median {np.median(seconds):g}"
        yield f"signals     {', '.join(f'{rate} ({count})' for rate, count in rates)}; {length}"
    if words := list(data.segmentation.describe()):
        yield f"cut into    {', '.join(words)}"
    kinds: tuple[Labels, ...] = ("single", "multi") if data.classes else ()
    for labels in kinds:
        counts = target_of(data, replace(spec, labels=labels)).sum(axis=0)  # (C,)
        yield f"{labels:<12}{', '.join(f'{name} {count}' for name, count in zip(data.classes, counts, strict=True))}"
    for name, task in TASKS.get(data.name, {}).items():
        view = of_task(data, DatasetTask(data.name, name))
        sides, present = "cannot be split", {label for entry in view.entries for label in entry.labels}
        with suppress(DatasetError):
            split = split_of(view, replace(spec, labels="multi", sides=task.sides))
            sides = ", ".join(f"{side} {len(indices)}" for side, indices in sides_of(split).items())
        yield f"task {name}: {len(present)} of {len(task.classes)} classes ({sides})"
    for kind, names in skipped_by_kind(data).items():
        yield f"skipped     {len(names)} {kind} ({some(names)})"


MEASURED = 100
"""Recordings whose beats are measured, evenly spread over a dataset."""
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
    if not 0.1 <= amplitude <= 10:
        text = f"the median QRS amplitude is {amplitude:.3g} mV, outside 0.1 to 10 mV: {unit} is probably wrong"
        yield Finding((name,), "warning", text)
    if not 30 <= rate <= 200:
        text = f"the median heart rate is {rate:.0f}/min, outside 30 to 200/min: {frequency} is probably wrong"
        yield Finding((name,), "warning", text)
