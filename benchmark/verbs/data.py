"""The verb `data`: which datasets are meant, what each holds, what is wrong with them, and one recording to draw.

data summary         facts from the tables and what is prepared already; reads no signal
data check           prepares, audits and judges every dataset
data show RECORDING  one recording and its heartbeats (drawn by reports.figures.draw)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from benchmark.config.command_line import Command, Place
from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.data.audit.findings import Finding, audit
from benchmark.data.audit.summary import COLUMNS, below_table, fact_lines, of_listing, of_prepared, some, table_row
from benchmark.data.prepared.beats import FS, heartbeats
from benchmark.data.prepared.prepare import Prepared, cached, list_part, prepare
from benchmark.data.readers.base import SIMULATED_MARK, Dataset, DatasetError, Entry, Unusable
from benchmark.data.readers.registry import DATASETS, find_root
from benchmark.run.cohorts import locate, names_of
from benchmark.screen.console import Console, note
from benchmark.screen.progress import step
from benchmark.screen.tables import print_table

VERDICTS = {
    "ok": "ok",
    "warning": "usable with warnings",
    "leak": "a run refuses it, unless told --allow-leak",
    "fatal": "unusable",
}
"""What the worst finding means for a dataset, from the best to the worst."""
SHOWN_REPORT = 60
"""Characters of a machine report in a title."""


@dataclass(frozen=True)
class Drawable:
    """One recording as it is drawn."""

    signal: NDArray[np.float32]
    """(n, 12) mV."""
    fs: float
    """Hz."""
    r_peaks: NDArray[np.int64]
    """Samples at `fs`; empty where no beat was found."""
    title: str
    """Two lines."""
    file_name: str


def names_asked(command: Command) -> list[str]:
    """Datasets of a `data` command: those that flags name, else the config's simulated ones, else all that are found.

    Raises DatasetError where none is found.
    """
    place = command.place
    if command.asked:
        return list(command.asked)
    if command.config.data.simulation is not None:
        return names_of(command.config)
    found = [name for name in DATASETS if name in place.paths or _is_found(name, place)]
    if not found:
        where = f"no dataset in {place.data_root}" if place.data_root else "no folder given"
        raise DatasetError(f"{where}: use --data-root DIR or --data NAME=DIR; the names are {', '.join(DATASETS)}")
    return found


def _is_found(name: str, place: Place) -> bool:
    try:
        find_root(name, place.data_root, place.paths)
    except DatasetError:
        return False
    return True


def open_data(config: Config, name: str, place: Place, console: Console) -> Dataset:
    """One dataset, simulated first where the config says so. Raises DatasetError where it is not there."""
    with step(console, f"{DATASETS[name].title}: simulating") as progress:
        return locate(
            config,
            name,
            simulated=place.simulated,
            data_root=place.data_root,
            paths=place.paths,
            on_progress=progress,
        )


def prepare_data(dataset: Dataset, config: Config, place: Place, console: Console) -> Prepared:
    """A dataset prepared, from the cache where it was before. Raises DatasetError where nothing in it is usable."""
    prefix = config.data.prefix_of(dataset.name)
    segmentation = config.data.cut()
    with step(console, f"{dataset.title}: cutting {segmentation.word}s") as progress:
        return prepare(
            dataset,
            place.cache,
            workers=place.workers,
            segmentation=segmentation,
            prefix=prefix,
            on_progress=progress,
        )


@dataclass(frozen=True)
class Gate:
    """What the audit has to say of a run."""

    leaks: list[str]
    """Why the run is refused, unless it is told to go on."""
    unscored: list[str]
    """Which datasets cannot be scored at all, and why; their cells come out as dashes."""


def gate(config: Config, prepared: Mapping[str, Prepared]) -> Gate:
    """The audit's word on a run. Raises DatasetError where the pretraining corpus is unusable, or every dataset is."""
    findings = audit_of(config, prepared, config.data.datasets)
    fatal = {finding.datasets[0]: finding.text for finding in findings if finding.severity == "fatal"}
    unscored = [f"{prepared[name].title} cannot be scored: {text}" for name, text in fatal.items()]
    corpus = config.data.pretrain
    if corpus in fatal and not prepared[corpus].entries:
        raise DatasetError(f"{prepared[corpus].title} cannot be pretrained on: {fatal[corpus]}")
    if fatal.keys() >= set(config.data.datasets):
        raise DatasetError("; ".join(unscored))
    return Gate([finding.text for finding in findings if finding.severity == "leak"], unscored)


def audit_of(config: Config, prepared: Mapping[str, Prepared], tested: Sequence[str]) -> list[Finding]:
    """The audit of prepared datasets under a config's corpus, task and protocol."""
    return audit(
        prepared, pretrain=config.data.pretrain, tested=tested, labels=config.data.labels, protocol=config.protocol
    )


def print_summary(command: Command, console: Console) -> bool:
    """`data summary`; whether every dataset could be listed."""
    names = names_asked(command)
    summaries = []
    for name in names:
        try:
            dataset = open_data(command.config, name, command.place, console)
            listing = list_part(dataset, command.config.data.prefix_of(name))
        except DatasetError as problem:
            note(console, f"{name}: {problem}")
            continue
        known = cached(dataset, command.place.cache, listing, command.config.data.cut())
        protocol = command.config.protocol
        summaries.append(of_prepared(known, protocol) if known else of_listing(dataset, listing, protocol))
    print_table(console, COLUMNS, [[table_row(summary) for summary in summaries]])
    for summary in summaries:
        for line in below_table(summary):
            note(console, line)
    return len(summaries) == len(names)


def print_check(command: Command, console: Console) -> bool:
    """`data check`: facts, findings and a verdict per dataset; whether a run would take them all."""
    names = names_asked(command)
    prepared: dict[str, Prepared] = {}
    facts: dict[str, list[str]] = {}
    findings: list[Finding] = []
    for name in names:
        try:
            dataset = open_data(command.config, name, command.place, console)
            prepared[name] = prepare_data(dataset, command.config, command.place, console)
        except DatasetError as problem:
            findings.append(Finding((name,), "fatal", str(problem)))
            continue
        facts[name] = [
            f"folder      {dataset.root}",
            *fact_lines(of_prepared(prepared[name], command.config.protocol)),
        ]
    findings += audit_of(command.config, prepared, [name for name, data in prepared.items() if data.classes])
    for line in verdict_lines(names, facts, findings):
        note(console, line)
    return all(worst(findings, name) in ("ok", "warning") for name in names)


def verdict_lines(names: Sequence[str], facts: Mapping[str, list[str]], findings: Sequence[Finding]) -> Iterator[str]:
    """The verdict on each dataset, its facts and findings; then what concerns several."""
    for name in names:
        yield f"{DATASETS[name].title} ({name}): {VERDICTS[worst(findings, name)]}"
        yield from (f"  {line}" for line in facts.get(name, ()))
        yield from (f"  {finding.severity}: {finding.text}" for finding in findings if finding.datasets == (name,))
    across = [finding for finding in findings if len(finding.datasets) > 1]
    if len(names) > 1:
        yield f"between the datasets: {'' if across else 'no copies'}".rstrip()
        yield from (f"  {finding.severity}: {finding.text}" for finding in across)


def worst(findings: Sequence[Finding], name: str) -> str:
    """The gravest severity among a dataset's findings, 'ok' where there is none."""
    own = [finding.severity for finding in findings if name in finding.datasets]
    return max(["ok", *own], key=list(VERDICTS).index)


def look_up(command: Command, console: Console) -> Drawable:
    """The recording of `data show`.

    Raises ConfigError where no dataset or more than one has it, DatasetError where its signal cannot be used.
    """
    wanted = command.subject
    found: list[tuple[Dataset, Entry]] = []
    known: list[str] = []
    for name in names_asked(command):
        try:
            dataset = open_data(command.config, name, command.place, console)
            entries = dataset.listing().entries
        except DatasetError as problem:
            note(console, f"{name}: {problem}")
            continue
        known += [entry.recording for entry in entries]
        found += [(dataset, entry) for entry in entries if entry.recording == wanted]
    if not found:
        raise ConfigError(not_found(wanted, known))
    if len(found) > 1:
        homes = " and ".join(dataset.name for dataset, _ in found)
        raise ConfigError(f"recording {wanted!r} stands in {homes}: add --datasets NAME")
    return drawable(*found[0])


def not_found(wanted: str, known: Sequence[str]) -> str:
    """The line for a recording that is not there, with names that are nearly the same."""
    number = _number(wanted)
    near = [name for name in known if number and _number(name) == number]
    near = near or get_close_matches(wanted, known, n=3)
    hint = f"did you mean {some(near)}?" if near else f"there are {len(known)}, e.g. {some(known)}"
    return f"no recording {wanted!r}: {hint}"


def _number(name: str) -> str:
    """'1' of '00001_hr', 'A0001' or '1.0': what is left when a name is spelt in another way."""
    digits = re.search(r"\d+", name)
    return digits[0].lstrip("0") if digits else ""


def drawable(dataset: Dataset, entry: Entry) -> Drawable:
    """Signal, beats and title of a recording. Raises DatasetError where the signal cannot be used."""
    try:
        recording = dataset.read(entry)
    except Unusable as reason:
        raise DatasetError(f"{dataset.title} {entry.recording} cannot be drawn: {reason}") from None
    peaks = np.empty(0, np.int64)
    try:
        beats = heartbeats(recording.signal, recording.fs)
        peaks = np.rint(beats.r_peaks * recording.fs / FS).astype(np.int64)
        rate = f"rate {60 * FS / beats.median_rr:.0f}/min"
    except Unusable as reason:
        rate = f"skipped by a run: {reason}"
    names = ", ".join(dataset.classes[label] for label in entry.labels)
    told = names or entry.report[:SHOWN_REPORT] or "no label"
    simulated = " (simulated)" if (dataset.root / SIMULATED_MARK).is_file() else ""
    seconds = len(recording.signal) / recording.fs
    return Drawable(
        signal=recording.signal,
        fs=recording.fs,
        r_peaks=peaks,
        title=f"{dataset.title}{simulated}  {entry.recording}   patient {entry.patient}   {told}\n"
        f"{rate}   {recording.fs:g} Hz   {seconds:g} s",
        file_name=f"ecg-{dataset.name}-{re.sub(r'[^A-Za-z0-9._-]', '_', entry.recording)}.png",
    )
