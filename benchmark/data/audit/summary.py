"""Summary of a dataset from its tables and, if prepared, its index: counts, classes, sampling rates, lengths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from benchmark.data.prepared.cutting import Signal
from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.skipped import Skipped, skip_summary
from benchmark.data.prepared.windows import HEARTBEATS, Segmentation
from benchmark.data.readers.base import About, Dataset, DatasetError, Entry, Listing
from benchmark.data.readers.simulated import is_simulated
from benchmark.data.tasks.columns import TASKS
from benchmark.data.tasks.spec import Labels, TaskSpec
from benchmark.data.tasks.split import sides_of, split_recordings, task_labels

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
