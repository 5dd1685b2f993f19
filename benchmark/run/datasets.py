"""The datasets of a run, found or simulated, prepared, and judged before anything is trained on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmark.config.command_line import Place
from benchmark.config.config import Config
from benchmark.data.audit.findings import Finding, audit
from benchmark.data.prepared.prepare import Prepared, prepare
from benchmark.data.readers.base import Dataset, DatasetError
from benchmark.data.readers.registry import DATASETS
from benchmark.data.tasks.task import split_or_none
from benchmark.run.cohorts import locate
from benchmark.screen.console import Console
from benchmark.screen.progress import step


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
    tested = config.data.datasets
    findings = audit_of(config, prepared, tested)
    fatal = {finding.datasets[0]: finding.text for finding in findings if finding.severity == "fatal"}
    unscored = [f"{prepared[name].title} cannot be scored: {fatal[name]}" for name in tested if name in fatal]
    corpus = prepared[config.data.pretrain]
    if corpus.name in fatal and not any_to_pretrain_on(corpus, config):
        raise DatasetError(f"{corpus.title} cannot be pretrained on: {fatal[corpus.name]}")
    if len(unscored) == len(tested):
        raise DatasetError("; ".join(unscored))
    return Gate([finding.text for finding in findings if finding.severity == "leak"], unscored)


def any_to_pretrain_on(corpus: Prepared, config: Config) -> bool:
    """Whether a corpus has a recording to pretrain on: any where it has no labels, else one in its training part."""
    if not corpus.classes:
        return bool(corpus.entries)
    split, _ = split_or_none(corpus, config.task_spec(config.pretrain))
    return len(split.train) > 0


def audit_of(config: Config, prepared: Mapping[str, Prepared], tested: Sequence[str]) -> list[Finding]:
    """The audit of prepared datasets under a config's corpus, task and protocol."""
    return audit(prepared, config.task_spec(config.finetune), pretrain=config.data.pretrain, tested=tested)
