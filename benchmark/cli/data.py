"""The verbs `data check` and `data show`: what a dataset holds and what is wrong with it.

data check           prepares and audits every dataset; one verdict each
data show RECORDING  one recording and its heartbeats (drawn by reports.figures.choose)
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from benchmark.cli.arguments import config_of, datasets_of, folders_of
from benchmark.cli.main import FAILED, OK
from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.config.load import Folders
from benchmark.data.audit import (
    Finding,
    counted,
    fact_lines,
    implausible,
    measured_beats,
    some,
)
from benchmark.data.datasets import find_root
from benchmark.data.datasets.base import Dataset, DatasetError, Entry, Recording, Source, Unusable
from benchmark.data.datasets.card import Card
from benchmark.data.heartbeats import FS, heartbeats
from benchmark.data.prepare import Prepared, list_part
from benchmark.data.segments import Segmentation
from benchmark.data.task import of_task
from benchmark.data.transport import datasets_in
from benchmark.run.datasets import audit_of, locate, names_of, patients_of, prepare_data
from benchmark.screen import Console, note, print_prose

VERDICTS = {
    "ok": "ok",
    "warning": "usable with warnings",
    "leak": "a run refuses it, unless told --allow-leak",
    "fatal": "unusable",
}
"""Worst severity of a dataset's findings -> verdict, from best to worst."""
SHOWN_REPORT = 60
"""Maximum characters of a machine report in a title."""


def flags_of(arguments: Namespace) -> tuple[Config, Folders, list[str]]:
    """Config and folders of a `data` command, and its datasets.

    These are named by flags, the pretraining corpus first; else the config's simulated ones, else all that are found.
    Raises ConfigError, and DatasetError if none is found.
    """
    from benchmark.config.load import dataset_names as names_in  # here, because the readers load slowly

    config, place = config_of(arguments), folders_of(arguments)
    if named := [own for name in names_in(datasets_of(arguments)) for own in datasets_in(name)]:
        return config, place, list(dict.fromkeys(named))
    if config.data.simulation is not None:
        return config, place, names_of(config)
    known = {name: config.data.source(name) for name in config.data.known()}
    found = [name for name, source in known.items() if name in place.paths or _is_found(source, place)]
    if not found:
        where = f"no dataset in {place.data_root}" if place.data_root else "no folder given"
        raise DatasetError(f"{where}: use --data-root DIR or --data NAME=DIR; the names are {', '.join(known)}")
    return config, place, found


def _is_found(source: Source, place: Folders) -> bool:
    try:
        find_root(source, place.data_root, place.paths)
    except DatasetError:
        return False
    return True


def check(arguments: Namespace, console: Console) -> int:
    """`data check`: fails where a run would not accept every dataset."""
    config, place, names = flags_of(arguments)
    prepared: dict[str, Prepared] = {}
    facts: dict[str, list[str]] = {}
    findings: list[Finding] = []
    for name in names:
        try:
            dataset = locate(config, name, place)
            data = prepared[name] = prepare_data(dataset, config, place, console)
        except DatasetError as problem:
            findings.append(Finding((name,), "fatal", str(problem)))
            continue
        facts[name] = [] if data.simulated else [f"folder      {dataset.root}"]
        if name in config.data.cards and dataset.how_to_get:
            facts[name].append(f"source      {dataset.how_to_get}")
        facts[name] += fact_lines(data, config.task_spec(config.finetune))
        facts[name] += [f"patients    {text}" for text in patients_of(config, name)]
        mostly_usable = len(data.entries) > len(data.skipped)  # a wrong rate makes recordings unusable
        entries = data.entries if mostly_usable else list_part(dataset, config.data.prefix_of(name)).entries
        beats = measured_beats(dataset, entries)
        if beats:
            amplitude, rate = np.median(beats, axis=0).tolist()
            of = f"medians of {counted(len(beats), 'recording')}" if len(beats) > 1 else "of 1 recording"
            facts[name].append(
                f"beats       QRS amplitude {float(f'{amplitude:.3g}'):g} mV, heart rate {rate:.0f}/min ({of})"
            )
            findings += implausible(name, amplitude, rate, *stated_by(config, name))
    findings += findings_of(config, prepared)
    titles = {name: config.data.source(name).title for name in names}
    print_prose(console, verdict_lines(titles, facts, findings))
    return OK if all(worst(findings, name) in ("ok", "warning") for name in names) else FAILED


def stated_by(config: Config, name: str) -> tuple[str, str]:
    """What states the unit and the sampling rate of a dataset: keys of its card with their values, or its files."""
    files = f"that the files of {config.data.source(name).title} state"
    unit, rate = f"the gain {files}", f"the sampling rate {files}"
    card = config.data.cards.get(name)
    if isinstance(card, Card):
        signals = card.signals
        if signals.gain:
            unit = f"`signals.gain: {signals.gain:g}` of its card"
        elif signals.unit:
            unit = f"`signals.unit: {signals.unit}` of its card"
        if signals.rate:
            rate = f"`signals.rate: {signals.rate:g}` of its card"
        elif signals.rate_name:
            rate = f"the entry of its files that `signals.rate_name: {signals.rate_name}` of its card names"
    return unit, rate


def findings_of(config: Config, prepared: Mapping[str, Prepared]) -> list[Finding]:
    """Findings on prepared datasets, the columns among them under the config's tasks; each is of its dataset."""
    views = dict(prepared)
    for column in config.data.columns():
        if column.dataset in prepared:
            views[column.name] = of_task(prepared[column.dataset], column)
    named = {name for name, data in views.items() if data.dataset}
    only_named = {views[name].dataset for name in named} - {column.name for column in config.data.columns()}
    tested = [name for name, data in views.items() if data.classes and name not in only_named]
    found = audit_of(config, views, tested)
    return [own if not named.intersection(own.datasets) else of_dataset(own, views) for own in found]


def of_dataset(finding: Finding, views: Mapping[str, Prepared]) -> Finding:
    """A finding on named tasks as one on their datasets, which says the task."""
    datasets = tuple(dict.fromkeys(views[name].dataset_name for name in finding.datasets))
    tasks = [name for name in finding.datasets if views[name].dataset]
    return replace(finding, datasets=datasets, text=f"{', '.join(tasks)}: {finding.text}")


def verdict_lines(
    titles: Mapping[str, str], facts: Mapping[str, list[str]], findings: Sequence[Finding]
) -> Iterator[str]:
    """Verdict, facts and findings of each dataset, given by name and title, then findings on several datasets."""
    for name, title in titles.items():
        yield f"{title} ({name}): {VERDICTS[worst(findings, name)]}"
        yield from (f"  {line}" for line in facts.get(name, ()))
        yield from (f"  {finding.severity}: {finding.text}" for finding in findings if finding.datasets == (name,))
    across = [finding for finding in findings if len(finding.datasets) > 1]
    if len(titles) > 1:
        yield f"between the datasets: {'' if across else 'no copies'}".rstrip()
        yield from (f"  {finding.severity}: {finding.text}" for finding in across)


def worst(findings: Sequence[Finding], name: str) -> str:
    """Worst severity of a dataset's findings; 'ok' without any."""
    own = [finding.severity for finding in findings if name in finding.datasets]
    return max(["ok", *own], key=list(VERDICTS).index)


def show(arguments: Namespace, console: Console) -> int:
    """`data show`: draw one recording as a 12-lead sheet.

    Raises ConfigError if not exactly one dataset has it, DatasetError if its signal is unusable.
    """
    from reports.figures import draw_recording

    wanted = arguments.word
    config, place, names = flags_of(arguments)
    found: list[tuple[Dataset, Entry]] = []
    known: list[str] = []
    for name in names:
        try:
            dataset = locate(config, name, place)
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
    ((dataset, entry),) = found
    try:
        recording = dataset.read(entry)
    except Unusable as reason:
        raise DatasetError(f"{dataset.title} {entry.recording} cannot be drawn: {reason}") from None
    title, peaks = caption(dataset, entry, recording, config.data.cut())
    path = arguments.out / f"ecg-{dataset.name}-{re.sub(r'[^A-Za-z0-9._-]', '_', entry.recording)}.png"
    draw_recording(recording.signal, recording.fs, title, peaks, path)
    note(console, f"wrote {path}")
    return OK


def not_found(wanted: str, known: Sequence[str]) -> str:
    """Message for an unknown recording, with similar names."""
    number = _number(wanted)
    near = [name for name in known if number and _number(name) == number]
    near = near or get_close_matches(wanted, known, n=3)
    hint = f"did you mean {some(near)}?" if near else f"there are {len(known)}, e.g. {some(known)}"
    return f"no recording {wanted!r}: {hint}"


def _number(name: str) -> str:
    """Number in a recording's name: '1' of '00001_hr', 'A0001' or '1.0'."""
    digits = re.search(r"\d+", name)
    return digits[0].lstrip("0") if digits else ""


def caption(dataset: Dataset, entry: Entry, recording: Recording, cut: Segmentation) -> tuple[str, NDArray[np.int64]]:
    """Two lines on a recording, with what a run cuts from it unless that is heartbeats, and the samples of its R peaks.

    There are no R peaks if no beat was found.
    """
    peaks = np.empty(0, np.int64)
    try:
        beats = heartbeats(recording.signal, recording.fs, beats=cut.beats)
        peaks = np.rint(beats.r_peaks * recording.fs / FS).astype(np.int64)
        rate = f"rate {60 * FS / beats.median_rr:.0f}/min"
    except Unusable as reason:
        rate = str(reason) if cut.kind != "heartbeats" else f"skipped by a run: {reason}"
    if cut.kind != "heartbeats":
        rate = f"{rate}   {cut_text(recording, cut)}"
    labels = ", ".join(dataset.classes[label] for label in entry.labels)
    simulated = " (simulated)" if dataset.drawn_from else ""
    report = recording.report or entry.report
    seconds = len(recording.signal) / recording.fs
    title = (
        f"{dataset.title}{simulated}  {entry.recording}   patient {entry.patient}   "
        f"{labels or report[:SHOWN_REPORT] or 'no label'}\n{rate}   {recording.fs:g} Hz   {seconds:g} s"
    )
    return title, peaks


def cut_text(recording: Recording, cut: Segmentation) -> str:
    """'7 crops of 2.5 s every 1.25 s of whole recordings, 100 Hz', or why a run skips the recording."""
    try:
        kept = np.array(len(cut.cut(recording.signal, recording.fs)))
    except Unusable as reason:
        return f"skipped by a run: {reason}"
    return f"{int(cut.trials_in(kept, 1))} {', '.join(cut.words())}"
