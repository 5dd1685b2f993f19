"""The audit of prepared datasets: leaks, copies, damage, odd leads, implausible units and rates; and facts of each.

A copy is a recording with the same signal, to the microvolt (`signals.signal_digest`), whatever its name; a near copy
is equal but for gain, steps or sampling rate (`signals.outline_of`). A leak is a patient, or copies, on two sides of a
split, or a test recording that is also pretrained on: a run refuses it. An unusable dataset is fatal. Everything else
is a warning, except what no repair could change (`IN_THE_ECG`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.data.column import SEVERAL_LABELS, Column, dealing_of
from benchmark.data.datasets.base import Dataset, Entry, Unusable, counted, grouped, some
from benchmark.data.joined import JOIN
from benchmark.data.prepare import Prepared, skip_summary
from benchmark.data.signals import AMPLITUDES, LIMB_LEADS, SignalFacts
from benchmark.data.splits import SPLIT_SEED, Part, Split

Severity = Literal["fatal", "leak", "warning"]
IN_THE_ECG = frozenset({"heart rate below 50/min", "no beats found", "too short"})
"""Kinds of reasons for skipping that lie in the ECG, not in a damaged file."""
CARD_FORM = "files of a card"
"""How the on-disk form of a user's own files ends."""
NEAR = ", but for gain, steps or rate,"
MOST_ALIKE = 50
"""Signals that share a part of their outline; of more it is an artefact that makes them alike."""
MEASURED = 100
"""Recordings whose beats are measured, evenly spread over a dataset."""


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


class Recorded(NamedTuple):
    """A recording of a dataset under a task."""

    name: str
    dataset: str
    """The dataset's name, whatever the task."""
    recording: str
    title: str
    signal: SignalFacts
    side: str
    """Side of the split, '' where none is tested; where all are tested in parts, 'test' and the patient."""
    pretrained: bool


def audit(
    columns: Mapping[str, Column],
    *,
    pretrain: str,
    tested: Sequence[str],
    joined: Mapping[str, NDArray[np.int64]] | None = None,
) -> list[Finding]:
    """Audit datasets under their tasks, given by name; `pretrain` is pretrained on, `tested` are scored.

    joined: where several datasets are the corpus, numbers of the recordings of each that are pretrained on. Several
    may be tasks of one dataset: what is wrong with its files is reported once.
    """
    findings, recordings, datasets = list[Finding](), list[Recorded](), set[str]()
    trained = {name: set(numbers.tolist()) for name, numbers in (joined or {}).items()}
    in_parts = {columns[name].data.dataset_name for name in tested if columns[name].is_cross_validated}
    crossfitted = in_parts.intersection(pretrain.split(JOIN))
    for name, column in columns.items():
        data, sides = column.data, dict[int, str]()
        splits = judged_splits(column) if name in tested else [column.split]
        reasons = ", ".join(f"{reason} ({count})" for reason, count in skip_summary(data.skipped).items())
        problem = None if data.entries else f"no recording is usable: {reasons or 'none is there'}. {data.how_to_get}"
        if name == pretrain:
            trained[name] = set(splits[0].train.tolist() if data.classes else range(len(data.entries)))
        if name in tested or (name == pretrain and data.classes):
            problems = [column.problem(split, is_scored=name in tested) for split in splits]
            problem = problem or next(filter(None, problems), None)
        if name in tested and column.is_cross_validated:
            sides = {int(r): f"test {data.entries[r].patient}" for r in column.tested}
        elif name in tested:
            findings += shared_patients(data, splits[0])
            sides = {int(r): side for side, numbers in splits[0].titled().items() for r in numbers}
        if data.dataset_name in crossfitted:
            trained[name] = set(sides)
        if problem:
            findings.append(Finding((name,), "fatal", problem.strip()))
        if data.dataset_name not in datasets:
            findings += file_warnings(data)
        datasets.add(data.dataset_name)
        used = trained.get(name, ())
        recordings += [
            Recorded(name, data.dataset_name, entry.recording, data.title, signal, sides.get(r, ""), r in used)
            for r, (entry, signal) in enumerate(zip(data.entries, data.signals, strict=True))
        ]
    return [*findings, *copies(recordings)]


def judged_splits(column: Column) -> list[Split]:
    """Return the splits by which a column is judged before a run: its own, or those of parts as any seed deals them."""
    if not column.is_cross_validated:
        return [column.split]
    dealing = dealing_of([column], SPLIT_SEED)
    return [column.split_of_part(Part(dealing, number)) for number in range(dealing.parts)]


def shared_patients(data: Prepared, split: Split) -> Iterator[Finding]:
    """Name patients on two sides of a split."""
    pairs = ((data.entries[r].patient, side) for side, numbers in split.titled().items() for r in numbers)
    sides = grouped(dict.fromkeys(pairs))
    if shared := [f"{patient}: {' and '.join(names)}" for patient, names in sides.items() if len(names) > 1]:
        where = f"{counted(len(shared), 'patient')} on two sides of the split of {data.title} ({some(shared)})"
        yield Finding((data.name,), "leak", f"{where}: correct the folds or use --protocol strict")


def file_warnings(data: Prepared) -> Iterator[Finding]:
    """Say what is wrong with a dataset's files and tables, whatever its task."""
    skipped = by_kind((skip.recording, skip.reason) for skip in data.skipped)
    for kind, names in sorted(skipped.items(), key=lambda item: -len(item[1])):
        if kind not in IN_THE_ECG:
            text = f"{counted(len(names), 'recording')} cannot be used: {kind} ({some(names)})"
            yield Finding((data.name,), "warning", text)
    doubts = list(data.warnings)
    facts = zip(data.entries, data.signals, strict=True)
    doubted = by_kind((entry.recording, doubt) for entry, signal in facts for doubt in signal.doubts)
    for kind, names in doubted.items():
        text = f"{counted(len(names), 'recording')} used with {kind} ({some(names)})"
        if kind == LIMB_LEADS and len(names) >= max(3, len(data.entries) / 2):
            key = "`signals.leads` of its card" if data.form.endswith(CARD_FORM) else "the order that its files state"
            text += f": most of {len(data.entries)}, so the order of leads is probably wrong, correct {key}"
        doubts.append(text)
    if padded := sum(data.segmentation.is_padded(signal.samples, signal.fs) for signal in data.signals):
        doubts.append(
            f"{counted(padded, 'recording')} shorter than {data.segmentation.seconds:g} s, lengthened by zeros"
        )
    yield from (Finding((data.name,), "warning", text, in_tables=True) for text in doubts)
    for what, values in (
        ("rate", [f"{signal.fs:g} Hz" for signal in data.signals]),
        ("length", [f"{signal.samples / signal.fs:g} s" for signal in data.signals]),
    ):
        yield from two_groups(data, what, values)


def by_kind(reasons: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Collect recordings with the details of their reasons by kind, given as pairs (recording, kind: details)."""
    parts = ((recording, *reason.partition(":")) for recording, reason in reasons)
    return grouped((kind, f"{recording}{colon}{details}") for recording, kind, colon, details in parts)


def two_groups(data: Prepared, what: str, values: Sequence[str]) -> Iterator[Finding]:
    """Warn where two values, neither of them rare, are those of nearly all recordings: two sources may be mixed."""
    common = Counter(values).most_common(2)
    least = max(3, len(values) / 10)
    if len(common) == 2 and common[1][1] >= least and sum(count for _, count in common) >= 0.9 * len(values):
        (first, many), (second, few) = common
        pairs = zip(data.entries, values, strict=True)
        names = some([entry.recording for entry, value in pairs if value == second])
        text = f"recordings have two {what}s, {first} ({many}) and {second} ({few}: {names})"
        yield Finding((data.name,), "warning", f"{text}: if one is wrong, two sources are mixed")


def copies(recordings: Sequence[Recorded]) -> Iterator[Finding]:
    """Name copies and near copies, within and across datasets, grouped by datasets and kind.

    A recording in two tasks of a dataset is a copy of itself only where that is a leak. Near copies are never more than
    a warning.
    """
    of_digest = grouped((recording.signal.digest, recording) for recording in recordings)
    groups = [(group, "") for group in of_digest.values() if len(group) > 1]
    groups += [([*of_digest[a], *of_digest[b]], NEAR) for a, b in near_copies(recordings)]
    equal = []
    for group, near in groups:
        sides = {(one.name, one.side) for one in group if one.side}
        learned = {one.side for one in group if one.pretrained}
        tested = {one.side for one in group if one.side.startswith("test")}
        leak = ""
        if len(sides) > len({name for name, _ in sides}):
            leak = "on two sides of a split"
        elif tested and learned and len(tested | learned) > 1:
            leak = "both pretrained on and tested"
        else:  # each recording once, whatever the number of tasks of its dataset
            group = [first for first, *_ in grouped(((one.dataset, one.recording), one) for one in group).values()]
        if len(group) > 1:
            datasets = tuple(dict.fromkeys(one.name for one in group))
            equal.append(((datasets, leak, near), " = ".join(f"{one.title} {one.recording}" for one in group)))
    for (datasets, leak, near), texts in grouped(equal).items():
        text = f"{counted(len(texts), 'signal')}{near} {leak or 'in more than one recording'}: {some(texts)}"
        yield Finding(datasets, "leak" if leak and not near else "warning", text, in_tables=bool(leak and near))


def near_copies(recordings: Sequence[Recorded]) -> list[tuple[str, str]]:
    """List the pairs of digests of signals whose outlines have a part in common, 64 signs of sums.

    Different signals of correlation r are taken for near copies with a chance of 3 (1 - arccos(r) / pi)^64: 7e-5 at
    .885. Among 4,451 real recordings, 9.9 million pairs, none was.
    """
    outlines = {one.signal.digest: one.signal.outline for one in recordings if one.signal.outline}
    groups = grouped(((part, outline[part]), digest) for part in range(3) for digest, outline in outlines.items())
    few = [group for group in groups.values() if len(group) <= MOST_ALIKE]
    return list(dict.fromkeys(pair for group in few for pair in combinations(group, 2)))


def fact_lines(column: Column) -> Iterator[str]:
    """Say all facts of a prepared dataset, one kind a line; classes are counted under its task."""
    data = column.data
    yield f"form        {data.form}"
    listed, patients = len(data.entries) + len(data.skipped), len({entry.patient for entry in data.entries})
    yield f"recordings  {listed} listed; {len(data.entries)} usable, of {patients} patients"
    yield f"{data.segmentation.unit_name + 's':<12}{data.window_count}"
    rates = Counter(signal.fs for signal in data.signals)
    yield f"signals     {', '.join(f'{rate:g} Hz ({count})' for rate, count in rates.items())}"
    if data.classes:
        counts = zip(data.classes, column.target.sum(axis=0), strict=True)
        texts = [f"{name} {count}" for name, count in counts]
        if negative := column.labels.count(()):
            texts.append(f"no to every class {negative}")
        yield f"{column.spec.labels:<12}{', '.join(texts)}"
        for reason, count in column.left_out.items():
            remedy = "; --labels multi counts them" if reason == SEVERAL_LABELS else ""
            yield f"left out    {count} of {len(data.entries)} recordings have {reason}{remedy}"
    for kind, count in skip_summary(data.skipped).items():
        yield f"skipped     {count} {kind}"
    yield from (f"note        {note}" for note in data.notes)


class SizeOfTest(NamedTuple):
    """How much a column tests."""

    patients: int
    effective: float
    """As many where classes are balanced, else fewer: a macro mean varies as its rare classes do."""


def size_of_test(column: Column) -> SizeOfTest:
    """Count the test patients of a column, of a cross-validation all; its data may be listed and not prepared."""
    patients = np.array([column.data.entries[r].patient for r in column.tested], dtype=np.str_)
    of_class = [len(np.unique(patients[having == 1])) for having in column.target[column.tested].T]
    counts = np.array([count for count in of_class if count])
    number = len(np.unique(patients))
    return SizeOfTest(number, min(number, len(counts) ** 2 / (1 / counts).sum()) if number else 0.0)


def side_line(column: Column) -> str:
    """Count the recordings of each side of a split, and name classes that none of them has; or count those in parts."""
    if column.is_cross_validated:
        return f"{len(column.tested)} recordings are tested, in {column.spec.folds} parts by patient"
    texts = []
    for side, recordings in column.split.titled().items():
        numbers = np.flatnonzero(column.target[recordings].sum(axis=0) == 0)
        absent = [column.data.classes[number] for number in numbers]
        texts.append(f"{side} {len(recordings)}{f' (without {some(absent)})' if absent else ''}")
    return ", ".join(texts)


def measured_beats(dataset: Dataset, entries: Sequence[Entry]) -> list[tuple[float, float]]:
    """Measure QRS amplitude, mV, and heart rate, 1/min, of up to `MEASURED` recordings in which beats repeat."""
    beats = []
    for entry in entries[:: max(1, -(-len(entries) // MEASURED))]:
        with suppress(Unusable):
            recording = dataset.read(entry)
            if rate := heart_rate(recording.signal, recording.fs):
                beats.append((range_of_beats(recording.signal, round(60 * recording.fs / rate)), rate))
    return beats


def range_of_beats(signal: NDArray[np.float32], interval: int) -> float:
    """Measure the QRS amplitude, mV, of (n, 12): the median over beats and leads of the range in an RR interval."""
    moving = signal[:, np.ptp(signal, axis=0) > 0].astype(np.float64)  # (n, L)
    beats = moving[: len(moving) // interval * interval].reshape(-1, interval, moving.shape[1])  # (beats, RR, L)
    return float(np.median(np.ptp(beats, axis=1)))


def heart_rate(signal: NDArray[np.float32], fs: float) -> float:
    """Measure the heart rate, 1/min, of a recording (n, 12) at fs Hz; 0 where no beat repeats.

    The RR interval is the shortest lag, in samples, at which the slopes of all leads repeat: neither a wrong unit nor a
    wrong sampling rate changes it.
    """
    from scipy.ndimage import uniform_filter1d  # here, because they load slowly
    from scipy.signal import find_peaks

    moving = signal[:, np.ptp(signal, axis=0) > 0].astype(np.float64)  # (n, L)
    if not moving.size:
        return 0.0
    slope = np.abs(np.diff(moving, axis=0))  # (n - 1, L)
    steep = (slope / slope.mean(axis=0)).mean(axis=1)  # (n - 1,)
    complex_samples = np.argmax(autocorrelation(steep) <= 0)  # the first lag without correlation
    repeats = autocorrelation(uniform_filter1d(steep, 2 * complex_samples + 1))  # (lags,) one bump per QRS complex
    lags, _ = find_peaks(repeats, height=0)
    return 60 * fs / int(lags[repeats[lags] >= 0.7 * repeats[lags].max()][0]) if len(lags) else 0.0


def autocorrelation(course: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the autocorrelation of a course (n,) at the lags from 0 to n / 2."""
    from scipy.signal import correlate

    centred = course - course.mean()
    return np.asarray(correlate(centred, centred, method="fft")[len(course) - 1 :][: len(course) // 2])


def implausible(name: str, amplitude: float, rate: float, unit: str, frequency: str) -> Iterator[Finding]:
    """Warn of a dataset's median QRS amplitude, mV, and heart rate, 1/min; with what states unit and frequency."""
    for what, value, low, high, symbol, statement in (
        ("QRS amplitude", amplitude, *AMPLITUDES, " mV", unit),
        ("heart rate", rate, 30, 200, "/min", frequency),
    ):
        if not low <= value <= high:
            outside = f"the median {what} is {value:.4g}{symbol}, outside {low} to {high}{symbol}"
            yield Finding((name,), "warning", f"{outside}: {statement} is probably wrong")
