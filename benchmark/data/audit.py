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

from benchmark.data.column import SEVERAL_LABELS, Column, dealing_of
from benchmark.data.datasets.base import Dataset, Entry, Unusable, grouped, some
from benchmark.data.joined import JOIN
from benchmark.data.prepare import Prepared, skip_summary
from benchmark.data.signals import LIMB_LEADS, amplitude_of
from benchmark.data.splits import SPLIT_SEED, Part, Split
from benchmark.results.arrays import Doubles, Floats, Ints
from benchmark.results.names import counted

Severity = Literal["fatal", "leak", "warning"]
IN_THE_ECG = frozenset({"heart rate below 50/min", "no beats found", "too short"})
"""Kinds of reasons for skipping that lie in the ECG, not in a damaged file."""
CARD_FORM = "files of a card"
"""End of the on-disk form of a user's own files."""
NEAR = ", but for gain, steps or rate,"
MOST_ALIKE = 50
"""Signals that share a part of their outline; of more it is an artefact that makes them alike."""
RATES = 30, 200
"""Plausible median heart rates of a dataset, 1/min."""
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

    data: Prepared
    recording: str
    side: str
    """Side of the split, '' where none is tested; where all are tested in parts, 'test' and the patient."""
    is_pretrained: bool


def audit(
    columns: Mapping[str, Column],
    *,
    pretrain: str,
    tested: Sequence[str],
    joined: Mapping[str, Ints],
) -> list[Finding]:
    """Audit datasets under their tasks, given by name; `pretrain` is pretrained on, `tested` are scored.

    joined: where several datasets are the corpus, numbers of the recordings of each that are pretrained on. Several
    may be tasks of one dataset: what is wrong with its files is reported once.
    """
    findings: list[Finding] = []
    of_digest: dict[str, list[Recorded]] = {}
    outlines: dict[str, tuple[int, ...]] = {}  # digest -> outline
    datasets: set[str] = set()
    trained = {name: set(numbers.tolist()) for name, numbers in joined.items()}
    in_parts = {columns[name].data.dataset_name for name in tested if columns[name].is_cross_validated}
    crossfitted = in_parts.intersection(pretrain.split(JOIN))
    for name, column in columns.items():
        data, is_tested = column.data, name in tested
        if name == pretrain:
            trained[name] = set(column.split.train.tolist() if data.classes else range(data.usable))
        if problem := fatal_problem(column, is_split=is_tested or name == pretrain, is_scored=is_tested):
            findings.append(Finding((name,), "fatal", problem))
        sides = sides_by_recording(column) if is_tested else {}
        findings += shared_patients(data, sides)
        if data.dataset_name in crossfitted:
            trained[name] = set(sides)
        if data.dataset_name not in datasets:
            findings += file_warnings(data)
        datasets.add(data.dataset_name)
        used = trained.get(name, ())
        table = data.recordings
        signals = zip(table.recording, table.digest, table.outline, strict=True)
        for number, (recording, digest, outline) in enumerate(signals):
            recorded = Recorded(data, recording, sides.get(number, ""), number in used)
            of_digest.setdefault(digest, []).append(recorded)
            if outline:
                outlines[digest] = outline
    return [*findings, *copies(of_digest, outlines)]


def fatal_problem(column: Column, *, is_split: bool, is_scored: bool) -> str:
    """Say why a dataset cannot be used: no recording is usable, or its sides or, where scored, its classes are not."""
    data = column.data
    if not data.usable:
        reasons = [f"{reason} ({count})" for reason, count in skip_summary(data.skipped).items()]
        return f"no recording is usable: {', '.join(reasons) or 'none is there'}. {data.how_to_get}".strip()
    if not is_split or not (is_scored or data.classes):
        return ""
    splits = judged_splits(column) if is_scored else [column.split]
    problems = [column.problem(split, is_scored=is_scored) for split in splits]
    return next(filter(None, problems), "")


def sides_by_recording(column: Column) -> dict[int, str]:
    """Return the side of each recording of a column; 'test' and the patient of all that are tested in parts."""
    patients = column.data.recordings.patient
    if column.is_cross_validated:
        return {number: f"test {patients[number]}" for number in column.tested.tolist()}
    sides: dict[int, str] = {}
    for side, numbers in column.split.titled().items():
        sides |= dict.fromkeys(numbers.tolist(), side)
    return sides


def judged_splits(column: Column) -> list[Split]:
    """Return the splits by which a column is judged before a run: its own, or those of parts as any seed deals them."""
    if not column.is_cross_validated:
        return [column.split]
    dealing = dealing_of([column], SPLIT_SEED)
    return [column.split_of_part(Part(dealing, number)) for number in range(dealing.parts)]


def shared_patients(data: Prepared, sides: Mapping[int, str]) -> Iterator[Finding]:
    """Name patients on two sides of a split, by the side of each recording."""
    sides_of: dict[str, dict[str, None]] = {}
    for number, side in sides.items():
        sides_of.setdefault(data.recordings.patient[number], {})[side] = None
    shared = [f"{patient}: {' and '.join(several)}" for patient, several in sides_of.items() if len(several) > 1]
    if shared:
        where = f"{counted(len(shared), 'patient')} on two sides of the split of {data.title} ({some(shared)})"
        yield Finding((data.name,), "leak", f"{where}: correct the folds or use --protocol strict")


def file_warnings(data: Prepared) -> Iterator[Finding]:
    """Say what is wrong with a dataset's files and tables, whatever its task."""
    table = data.recordings
    skipped = by_kind(zip(data.skipped.recording, data.skipped.reason, strict=True))
    for kind, names in sorted(skipped.items(), key=lambda item: -len(item[1])):
        if kind not in IN_THE_ECG:
            text = f"{counted(len(names), 'recording')} cannot be used: {kind} ({some(names)})"
            yield Finding((data.name,), "warning", text)
    doubts = list(data.warnings)
    doubted = []
    for name, doubts_of_one in zip(table.recording, table.doubts, strict=True):
        doubted += [(name, doubt) for doubt in doubts_of_one.splitlines()]
    for kind, names in by_kind(doubted).items():
        text = f"{counted(len(names), 'recording')} used with {kind} ({some(names)})"
        is_most = len(names) >= max(3, data.usable / 2)
        if kind == LIMB_LEADS and is_most:
            key = "`signals.leads` of its card" if data.form.endswith(CARD_FORM) else "the order that its files state"
            text += f": most of {data.usable}, so the order of leads is probably wrong, correct {key}"
        doubts.append(text)
    cut = data.segmentation
    if padded := int(cut.is_padded(table.samples, table.fs).sum()):
        doubts.append(f"{counted(padded, 'recording')} shorter than {cut.seconds:g} s, lengthened by zeros")
    for text in doubts:
        yield Finding((data.name,), "warning", text, in_tables=True)
    yield from two_groups(data, "rate", [f"{rate:g} Hz" for rate in table.fs])
    yield from two_groups(data, "length", [f"{seconds:g} s" for seconds in table.samples / table.fs])


def by_kind(reasons: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Collect recordings with the details of their reasons by kind, given as pairs (recording, kind: details)."""
    pairs = []
    for recording, reason in reasons:
        kind, colon, details = reason.partition(":")
        pairs.append((kind, f"{recording}{colon}{details}"))
    return grouped(pairs)


def two_groups(data: Prepared, fact: str, values: Sequence[str]) -> Iterator[Finding]:
    """Warn where two values, neither of them rare, are those of nearly all recordings: two sources may be mixed."""
    common = Counter(values).most_common(2)
    if len(common) < 2:
        return
    (first, many), (second, few) = common
    if few >= max(3, len(values) / 10) and many + few >= 0.9 * len(values):
        pairs = zip(data.recordings.recording, values, strict=True)
        names = some([name for name, value in pairs if value == second])
        text = f"recordings have two {fact}s, {first} ({many}) and {second} ({few}: {names})"
        yield Finding((data.name,), "warning", f"{text}: if one is wrong, two sources are mixed")


def copies(of_digest: Mapping[str, list[Recorded]], outlines: Mapping[str, tuple[int, ...]]) -> Iterator[Finding]:
    """Name copies and near copies, within and across datasets, grouped by datasets and kind.

    A recording in two tasks of a dataset is a copy of itself only where that is a leak. Near copies are never more than
    a warning.
    """
    groups = [(group, "") for group in of_digest.values() if len(group) > 1]
    groups += [([*of_digest[a], *of_digest[b]], NEAR) for a, b in near_copies(outlines)]
    equal = []
    for group, near in groups:
        sides = {(one.data.name, one.side) for one in group if one.side}
        learned = {one.side for one in group if one.is_pretrained}
        tested = {one.side for one in group if one.side.startswith("test")}
        leak = ""
        if len(sides) > len({name for name, _ in sides}):
            leak = "on two sides of a split"
        elif tested and learned and len(tested | learned) > 1:
            leak = "both pretrained on and tested"
        else:  # each recording once, whatever the number of tasks of its dataset
            first_of: dict[tuple[str, str], Recorded] = {}
            for one in group:
                first_of.setdefault((one.data.dataset_name, one.recording), one)
            group = list(first_of.values())
        if len(group) > 1:
            datasets = tuple(dict.fromkeys(one.data.name for one in group))
            names = [f"{one.data.title} {one.recording}" for one in group]
            equal.append(((datasets, leak, near), " = ".join(names)))
    for (datasets, leak, near), texts in grouped(equal).items():
        where = leak or "in more than one recording"
        severity: Severity = "leak" if leak and not near else "warning"
        text = f"{counted(len(texts), 'signal')}{near} {where}: {some(texts)}"
        yield Finding(datasets, severity, text, in_tables=bool(leak and near))


def near_copies(outlines: Mapping[str, tuple[int, ...]]) -> list[tuple[str, str]]:
    """List the pairs of digests of signals whose outlines have a part in common, 64 signs of sums.

    Different signals of correlation r are taken for near copies with a chance of 3 (1 - arccos(r) / pi)^64: 7e-5 at
    .885. Among 4,451 real recordings, 9.9 million pairs, none was.
    """
    pairs: dict[tuple[str, str], None] = {}
    for part in range(3):
        groups = grouped((outline[part], digest) for digest, outline in outlines.items())
        for group in groups.values():
            if len(group) <= MOST_ALIKE:
                pairs |= dict.fromkeys(combinations(group, 2))
    return list(pairs)


def fact_lines(column: Column) -> Iterator[str]:
    """Say all facts of a prepared dataset, one kind a line; classes are counted under its task."""
    data = column.data
    yield f"form        {data.form}"
    patients = len({*data.recordings.patient})
    yield f"recordings  {len(data.listed)} listed; {data.usable} usable, of {patients} patients"
    yield f"{data.segmentation.unit_name + 's':<12}{data.window_count}"
    rates = Counter(data.recordings.fs.tolist())
    rate_texts = [f"{rate:g} Hz ({count})" for rate, count in rates.items()]
    yield f"signals     {', '.join(rate_texts)}"
    if data.classes:
        counts = zip(data.classes, column.target.sum(axis=0), strict=True)
        texts = [f"{name} {count}" for name, count in counts]
        if negative := column.labels.count(()):
            texts.append(f"no to every class {negative}")
        yield f"{column.spec.labels:<12}{', '.join(texts)}"
        for reason, count in column.left_out.items():
            remedy = "; --labels multi counts them" if reason == SEVERAL_LABELS else ""
            yield f"left out    {count} of {data.usable} recordings have {reason}{remedy}"
    for kind, count in skip_summary(data.skipped).items():
        yield f"skipped     {count} {kind}"


class SizeOfTest(NamedTuple):
    """The test patients of a column."""

    patients: int
    effective: float
    """As many where classes are balanced, else fewer: a macro mean varies as its rare classes do."""


def size_of_test(column: Column) -> SizeOfTest:
    """Count the test patients of a column, of a cross-validation all; its data may be listed and not prepared."""
    target = column.target[column.tested]  # (R', C)
    patients = np.array([column.data.recordings.patient[number] for number in column.tested], dtype=np.str_)
    number = len(np.unique(patients))
    if not number:
        return SizeOfTest(0, 0.0)
    counts = np.array([len(np.unique(patients[having == 1])) for having in target.T if having.any()])
    balanced = len(counts) ** 2 / (1 / counts).sum()
    return SizeOfTest(number, min(number, balanced))


def side_line(column: Column) -> str:
    """Count the recordings of each side of a split, and name classes that none of them has; or count those in parts."""
    if column.is_cross_validated:
        return f"{len(column.tested)} recordings are tested, in {column.spec.folds} parts by patient"
    texts = []
    for side, recordings in column.split.titled().items():
        numbers = np.flatnonzero(column.target[recordings].sum(axis=0) == 0)
        absent = [column.data.classes[number] for number in numbers]
        without = f" (without {some(absent)})" if absent else ""
        texts.append(f"{side} {len(recordings)}{without}")
    return ", ".join(texts)


def measured_beats(dataset: Dataset, entries: Sequence[Entry]) -> list[tuple[float, float]]:
    """Measure QRS amplitude, mV, and heart rate, 1/min, of up to `MEASURED` recordings in which beats repeat."""
    beats = []
    for entry in entries[:: max(1, -(-len(entries) // MEASURED))]:
        with suppress(Unusable):
            recording = dataset.read(entry)
            if rate := heart_rate(recording.signal, recording.fs):
                beats.append((amplitude_of(recording.signal, recording.fs), rate))
    return beats


def heart_rate(signal: Floats, fs: float) -> float:
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
    if not len(lags):
        return 0.0
    high = lags[repeats[lags] >= 0.7 * repeats[lags].max()]
    return 60 * fs / int(high[0])


def autocorrelation(course: Doubles) -> Doubles:
    """Return the autocorrelation of a course (n,) at the lags from 0 to n / 2."""
    from scipy.signal import correlate

    centred = course - course.mean()
    samples = len(course)
    both_ways = np.asarray(correlate(centred, centred, method="fft"))  # (2 n - 1,)
    return both_ways[samples - 1 :][: samples // 2]


def implausible(name: str, rate: float, source: str) -> Iterator[Finding]:
    """Warn of a dataset's median heart rate, 1/min; source: what states its sampling rate."""
    low, high = RATES
    if not low <= rate <= high:
        outside = f"the median heart rate is {rate:.4g}/min, outside {low} to {high}/min"
        yield Finding((name,), "warning", f"{outside}: {source} is probably wrong")
