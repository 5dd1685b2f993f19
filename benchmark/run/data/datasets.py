"""Open or simulate the datasets of a run, prepare them and audit them before training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from benchmark.config.command_line.values import Place
from benchmark.config.config import Config
from benchmark.data.audit.findings import Finding, audit
from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.prepare import prepare
from benchmark.data.prepared.windows import Segmentation
from benchmark.data.readers.base import Dataset, DatasetError
from benchmark.data.tasks.relabelled import of_task
from benchmark.data.tasks.split import split_or_none
from benchmark.data.tasks.subsets import patients_per_class
from benchmark.results.keys import digest
from benchmark.results.names import FEW_SHOT
from benchmark.run.data.cohorts import locate, missing_cohort
from benchmark.run.work.claims import alone
from benchmark.screen.console import Console, note
from benchmark.screen.progress import step

MANY_FILES = 1000
"""From so many files on, reading them takes long enough to be told."""


def open_data(config: Config, name: str, place: Place, console: Console) -> Dataset:
    """A dataset, simulated first if the config says so. Raises DatasetError if it is missing."""
    title = config.data.source(name).title
    folder = missing_cohort(config, name, place.simulated)
    with (
        made_once(place.simulated, folder.parent.name, title, console) if folder else nullcontext(),
        step(console, f"{title}: simulating") as progress,
    ):
        return locate(
            config,
            name,
            simulated=place.simulated,
            data_root=place.data_root,
            paths=place.paths,
            workers=place.workers,
            on_progress=progress,
        )


def prepare_data(
    dataset: Dataset, config: Config, place: Place, console: Console, cut: Segmentation | None = None
) -> Prepared:
    """A prepared dataset, from the cache if possible. Raises DatasetError if no recording is usable.

    cut: how recordings are cut, if not as the config says.
    """
    prefix = config.data.prefix_of(dataset.name)
    segmentation = cut or config.data.cut()
    key = digest([dataset.name, str(dataset.root.resolve()), prefix, segmentation.content()])
    with (
        made_once(place.cache, key, dataset.title, console),
        step(console, f"{dataset.title}: cutting {segmentation.word}s") as progress,
    ):
        return prepare(
            dataset,
            place.cache,
            workers=place.workers,
            segmentation=segmentation,
            prefix=prefix,
            on_progress=progress,
            on_reading=reading_note(console, dataset.title),
        )


def reading_note(console: Console, title: str) -> Callable[[int, int], None]:
    """A callback of `prepare` and `cached` that prints a line before many files are read."""

    def say(done: int, total: int) -> None:
        if done == 0 and total >= MANY_FILES:
            note(console, f"{title}: {total} files are new or touched; reading them once, as content decides")

    return say


def made_once(shared: Path, key: str, title: str, console: Console) -> AbstractContextManager[None]:
    """Context in which no other runner simulates or prepares the same data in a shared folder."""
    return alone(shared, key, lambda holder: note(console, f"{title}: waiting for {holder}, which makes the same"))


@dataclass(frozen=True)
class Gate:
    """Result of the audit for a run."""

    leaks: list[str]
    """Reasons to refuse the run, unless --allow-leak is given."""
    unscored: list[str]
    """Datasets that cannot be scored, with the reason; their cells are dashes."""
    doubts: list[str]
    """What is doubtful about the data and used all the same."""


def gate(config: Config, prepared: Mapping[str, Prepared]) -> Gate:
    """Audit a run's corpus and columns.

    Raises DatasetError if the pretraining corpus or every column is unusable, or if there are too few patients for some
    of the shots.
    """
    tested = [column.name for column in config.data.columns()]
    findings = audit_of(config, prepared, tested)
    fatal = {finding.datasets[0]: finding.text for finding in findings if finding.severity == "fatal"}
    unscored = [f"{prepared[name].title} cannot be scored: {fatal[name]}" for name in tested if name in fatal]
    corpus = prepared[config.data.pretrain]
    if corpus.name in fatal and not any_to_pretrain_on(corpus, config):
        raise DatasetError(f"{corpus.title} cannot be pretrained on: {fatal[corpus.name]}")
    if len(unscored) == len(tested):
        raise DatasetError("; ".join(unscored))
    refuse_shots(config, prepared)
    leaks = [finding.text for finding in findings if finding.severity == "leak"]
    return Gate(leaks, unscored, [f"{prepared[f.datasets[0]].title}: {f.text}" for f in findings if f.in_tables])


def refuse_shots(config: Config, prepared: Mapping[str, Prepared]) -> None:
    """Raise DatasetError for more shots under `few-shot` than any class of any column has training patients."""
    if FEW_SHOT not in config.evaluate:
        return
    names = [column.name for column in config.data.columns()]
    specs = {name: config.task_spec(config.finetune, name) for name in names}
    counts = {name: patients_per_class(prepared[name], specs[name]).values() for name in names}
    asked = max(config.few_shot.shots)
    if all(asked > most for own in counts.values() for most in own):
        there = ", ".join(f"{prepared[name].title} {min(own)} to {max(own)}" for name, own in counts.items())
        raise DatasetError(f"few_shot.shots {asked}: no class has so many training patients; they have: {there}")


def any_to_pretrain_on(corpus: Prepared, config: Config) -> bool:
    """Whether a corpus has a recording to pretrain on: in its training part if it has labels, else any."""
    if not corpus.classes:
        return bool(corpus.entries)
    split, _ = split_or_none(corpus, config.task_spec(config.pretrain))
    return len(split.train) > 0


def audit_of(config: Config, prepared: Mapping[str, Prepared], tested: Sequence[str]) -> list[Finding]:
    """Findings on prepared datasets under a config's corpus, task and protocol."""
    specs = {name: config.task_spec(config.finetune, name) for name in prepared}
    spec = config.task_spec(config.finetune)
    return audit(prepared, spec, pretrain=config.data.pretrain, tested=tested, specs=specs)


def with_columns(config: Config, datasets: Mapping[str, Prepared]) -> dict[str, Prepared]:
    """The prepared pretraining corpus and columns of a run by name, from its prepared datasets."""
    columns = {column.name: of_task(datasets[column.dataset], column) for column in config.data.columns()}
    return {config.data.pretrain: datasets[config.data.pretrain]} | columns
