"""The commands `data check` and `data show`: what a dataset holds and what is wrong with it.

data check           prepares and audits every dataset; one verdict each
data show RECORDING  one recording and its heartbeats
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.cli.expected import expectation
from benchmark.cli.main import FAILED, OK, config_of, folders_of
from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.config.load import Folders
from benchmark.data.audit import Finding, fact_lines, implausible, measured_beats, side_line
from benchmark.data.column import column_of
from benchmark.data.datasets import find_root
from benchmark.data.datasets.base import Dataset, DatasetError, Entry, Recording, Unusable, some
from benchmark.data.heartbeats import FS, heartbeats
from benchmark.data.joined import datasets_in
from benchmark.data.prepare import Prepared
from benchmark.data.segments import Segmentation
from benchmark.data.tasks import of_task
from benchmark.results.arrays import AnyFloats
from benchmark.results.files import write_atomic
from benchmark.results.names import LEADS, counted
from benchmark.run.datasets import audit_of, locate, names_of, patients_of, prepare_data
from benchmark.screen import Console, note

VERDICTS = {
    "ok": "ok",
    "warning": "usable with warnings",
    "leak": "a run refuses it without --allow-leak",
    "fatal": "unusable",
}
"""Worst severity of a dataset's findings -> verdict, from best to worst."""
SHOWN_REPORT = 60
"""Maximum characters of a machine report in a title."""
SHEET_DPI = 100


def flags_of(arguments: Namespace) -> tuple[Config, Folders, list[str]]:
    """Return config and folders of a `data` command, and its datasets.

    These are named by flags, the pretraining corpus first; else the config's simulated ones, else all whose folder is
    there. Raises ConfigError, and DatasetError if there is none.
    """
    config = config_of(arguments)
    folders = folders_of(arguments)
    given = vars(arguments)
    named = config.data.corpora if given["data.pretrain"] else []
    for column in config.data.datasets if given["data.datasets"] else ():
        named += datasets_in(column)
    if named:
        return config, folders, list(dict.fromkeys(named))
    if config.data.simulation is not None:
        return config, folders, names_of(config)
    known = config.data.known()
    present = list[str]()
    for name in known:
        with suppress(DatasetError):
            find_root(config.data.source(name), folders.data_root, folders.paths)
            present.append(name)
    if not present:
        raise DatasetError(f"no dataset: use --data-root DIR or --data NAME=DIR; the names are {', '.join(known)}")
    return config, folders, present


def check(arguments: Namespace, console: Console) -> int:
    """Check every dataset (`data check`); FAILED where a run would not accept all of them."""
    config, folders, names = flags_of(arguments)
    prepared: dict[str, Prepared] = {}
    facts: dict[str, list[str]] = {}
    findings: list[Finding] = []
    for name in names:
        try:
            dataset = locate(config, name, folders)
            prepared[name] = prepare_data(dataset, config, folders, console, read_again=True)
        except DatasetError as problem:
            findings.append(Finding((name,), "fatal", str(problem)))
            continue
        listing = dataset.listing()
        facts[name] = facts_of(config, dataset, prepared[name], listing.notes)
        beats, doubts = beats_of(config, dataset, prepared[name], listing.entries)
        facts[name] += beats
        findings += doubts
    findings += findings_of(config, prepared)
    worst = []
    for name in names:
        severities = [finding.severity for finding in findings if name in datasets_named(finding)]
        worst.append(max(["ok", *severities], key=[*VERDICTS].index))
        note(console, f"{config.data.source(name).title} ({name}): {VERDICTS[worst[-1]]}")
        for line in facts.get(name, ()):
            note(console, f"  {line}")
        for finding in findings:
            if datasets_named(finding) == {name}:
                note(console, f"  {finding_line(finding)}")
    if len(names) > 1:
        across = [finding for finding in findings if len(datasets_named(finding)) > 1]
        note(console, "between the datasets:" if across else "between the datasets: no copies")
        for finding in across:
            note(console, f"  {finding_line(finding)}")
    return OK if {*worst} <= {"ok", "warning"} else FAILED


def facts_of(config: Config, dataset: Dataset, data: Prepared, notes: Iterable[str]) -> list[str]:
    """List the facts of a prepared dataset, the sides of its columns, and what a run on it can detect."""
    facts = [] if data.simulated else [f"folder      {dataset.root}"]
    facts += fact_lines(column_of(data, config.column_spec()))
    facts += [f"note        {note}" for note in notes]
    facts += [f"patients    {text}" for text in patients_of(config, dataset.name)]
    views = {}
    for task in config.data.columns():
        if task.dataset == dataset.name and data.classes:
            view = views[task.name] = of_task(data, task)
            sides = side_line(column_of(view, config.column_spec(task.name)))
            facts.append(f"{task.task if task.named else 'sides':<12}{sides}")
    if expected := expectation(config, views):
        facts.append(f"expected    {expected}")
    return facts


def beats_of(
    config: Config, dataset: Dataset, data: Prepared, entries: Sequence[Entry]
) -> tuple[list[str], list[Finding]]:
    """Say the median QRS amplitude and heart rate of a dataset, and what is implausible about them."""
    if data.usable > len(data.skipped):  # else a wrong rate may have made recordings unusable
        usable = {*data.recordings.recording}
        entries = [entry for entry in entries if entry.recording in usable]
    beats = measured_beats(dataset, entries)
    if not beats:
        return [], []
    amplitude, rate = np.median(beats, axis=0).tolist()
    rounded = float(f"{amplitude:.3g}")
    medians = f"medians of {counted(len(beats), 'recording')}"
    line = f"beats       QRS amplitude {rounded:g} mV, heart rate {rate:.0f}/min ({medians})"
    source = f"the rate that the files of {dataset.title} state"
    card = config.data.cards.get(dataset.name)
    if card and card.signals.rate:
        source = f"`signals.rate: {card.signals.rate:g}` of its card"
    return [line], list(implausible(dataset.name, rate, source))


def findings_of(config: Config, prepared: Mapping[str, Prepared]) -> list[Finding]:
    """List the findings on prepared datasets, the columns among them under the config's tasks."""
    columns = [column for column in config.data.columns() if column.dataset in prepared]
    views = dict(prepared)
    for column in columns:
        views[column.name] = of_task(prepared[column.dataset], column)
    only_named = {column.dataset for column in columns} - {column.name for column in columns}
    tested = [name for name, data in views.items() if data.classes and name not in only_named]
    return audit_of(config, views, tested)


def datasets_named(finding: Finding) -> set[str]:
    """Return the datasets that a finding is on: 'ptb-xl' of the column 'ptb-xl.rhythm'."""
    return {name.partition(".")[0] for name in finding.datasets}


def finding_line(finding: Finding) -> str:
    """Return a finding with its severity, and the named tasks that it is on."""
    tasks = ", ".join(name for name in finding.datasets if "." in name)
    text = f"{tasks}: {finding.text}" if tasks else finding.text
    return f"{finding.severity}: {text}"


def show(arguments: Namespace, console: Console) -> int:
    """Draw one recording as a 12-lead sheet.

    Raises ConfigError if not exactly one dataset has it, DatasetError if its signal is unusable.
    """
    config, folders, names = flags_of(arguments)
    datasets = [locate(config, name, folders) for name in names]
    listed = [(dataset, entry) for dataset in datasets for entry in dataset.listing().entries]
    matches = [(dataset, entry) for dataset, entry in listed if entry.recording == arguments.word]
    if not matches:
        known = [entry.recording for _, entry in listed]
        raise ConfigError(f"no recording {arguments.word!r}; there are {some(known)}")
    if len(matches) > 1:
        several = " and ".join(dataset.name for dataset, _ in matches)
        raise ConfigError(f"recording {arguments.word!r} stands in {several}: add --datasets NAME")
    ((dataset, entry),) = matches
    try:
        recording = dataset.read(entry)
    except Unusable as reason:
        raise DatasetError(f"{dataset.title} {entry.recording} cannot be drawn: {reason}") from None
    title, peaks = caption(dataset, entry, recording, config.data.cut())
    name = re.sub(r"[^A-Za-z0-9._-]", "_", entry.recording)
    path = arguments.out / f"ecg-{dataset.name}-{name}.png"
    draw_recording(recording.signal, recording.fs, title, peaks, path)
    note(console, f"wrote {path}")
    return OK


def caption(dataset: Dataset, entry: Entry, recording: Recording, cut: Segmentation) -> tuple[str, NDArray[np.int64]]:
    """Return two lines on a recording and the samples of its R peaks, none where no beat was found."""
    peaks = np.empty(0, np.int64)
    try:
        beats = heartbeats(recording.signal, recording.fs, beats=cut.beats)
        peaks = np.rint(beats.r_peaks * recording.fs / FS).astype(np.int64)
        rate = f"rate {60 * FS / beats.median_rr:.0f}/min"
    except Unusable as reason:
        rate = f"no heartbeats: {reason}"
    labels = ", ".join(dataset.classes[label] for label in entry.labels)
    text = labels or (recording.report or entry.report)[:SHOWN_REPORT] or "no label"
    simulated = " (simulated)" if dataset.drawn_from else ""
    title = f"{dataset.title}{simulated}  {entry.recording}   patient {entry.patient}   {text}"
    seconds = len(recording.signal) / recording.fs
    return f"{title}\n{rate}   {recording.fs:g} Hz   {seconds:g} s", peaks


def draw_recording(signal: AnyFloats, rate: float, title: str, r_peaks: NDArray[np.integer[Any]], path: Path) -> None:
    """Draw a recording on ECG paper, a lead below the other, its heartbeats marked on lead II.

    signal: (n, 12) mV, leads I, II, III, aVR, aVL, aVF, V1 to V6. rate: Hz. r_peaks: (k,) samples.
    """
    import wfdb  # here, because all of these load slowly
    from matplotlib import pyplot as plt

    none = np.empty(0, np.int64)
    marked = [r_peaks if lead == "II" else none for lead in LEADS]
    plt.switch_backend("agg")
    with plt.rc_context({"text.parse_math": False}):
        canvas = wfdb.plot_items(
            signal=signal, ann_samp=marked, fs=rate, time_units="seconds", sig_name=list(LEADS),
            sig_units=["mV"] * len(LEADS), title=title, ecg_grids="all", return_fig=True, figsize=(10, 14),
            ann_style=["b."],
        )  # fmt: skip
    buffer = BytesIO()
    canvas.savefig(buffer, format="png", dpi=SHEET_DPI)
    plt.close(canvas)
    write_atomic(path, buffer.getvalue())
