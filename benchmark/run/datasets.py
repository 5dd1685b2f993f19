"""The data of a run: found or simulated, prepared, audited."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np

from benchmark.config.config import Config, with_settings
from benchmark.config.errors import ConfigError
from benchmark.config.load import Folders
from benchmark.data.audit import Finding, audit
from benchmark.data.corpus import pretrained_entries, trials_of
from benchmark.data.datasets import find_root, refuse_unfinished
from benchmark.data.datasets.base import Dataset, DatasetError, Entry
from benchmark.data.datasets.card import Card
from benchmark.data.joined import JOIN, join, recut
from benchmark.data.prepare import Prepared, prepare
from benchmark.data.segments import Segmentation
from benchmark.data.simulate import CohortSettings, SimulatedDataset
from benchmark.data.splits import is_cross_validated, split_or_none
from benchmark.data.tasks import of_task
from benchmark.data.transport import datasets_in, is_transport, transport_of, transported
from benchmark.external import check_pretrained_on, pretrained_on_text, saw_test_patients, segmentation_of, try_external
from benchmark.results.names import EVALUATION_FACTS
from benchmark.run.grid import Cell, Grid, Pretraining, Variant, methods_of, unserved_by
from benchmark.screen import Console, note, step
from methods.encoders.pretrained import PretrainedEncoder


def names_of(config: Config) -> list[str]:
    """Datasets of a run: those of the pretraining corpus first, then the columns of the table."""
    return list(dict.fromkeys([*config.data.corpora, *chain.from_iterable(map(datasets_in, config.data.datasets))]))


def locate(config: Config, name: str, folders: Folders) -> Dataset:
    """A dataset of a run, in its folder or simulated.

    Raises DatasetError if a real folder is missing or its download has not ended.
    """
    simulation, source = config.data.simulation, config.data.source(name)
    if simulation is not None:
        sizes = {"patients": simulation.sizes()[name], "test_patients": simulation.test_patients.get(name, 0)}
        try:
            return SimulatedDataset(name, CohortSettings(**simulation.model_dump() | sizes))
        except ValueError as error:
            raise ConfigError(f"data.simulation: {error}") from None
    try:
        root = find_root(source, folders.data_root, folders.paths)
    except DatasetError as missing:
        if name not in config.data.corpora or not folders.paths or name in folders.paths:
            raise
        given = next(iter(folders.paths))
        raise DatasetError(f"{missing}, or pretrain on a dataset that is given: --pretrain-dataset {given}") from None
    refuse_unfinished(source, root)
    return source(root)


def prepare_data(
    dataset: Dataset, config: Config, folders: Folders, console: Console, cut: Segmentation | None = None
) -> Prepared:
    """A prepared dataset, from the cache if possible. Raises DatasetError if no recording is usable.

    cut: how recordings are cut, if not as the config says.
    """
    segmentation = cut or config.data.cut()
    with step(console, f"{dataset.title}: cutting {segmentation.unit_name}s") as progress:
        prepared = prepare(
            dataset,
            folders.cache,
            workers=folders.workers,
            segmentation=segmentation,
            prefix=config.data.prefix_of(dataset.name),
            on_progress=progress,
        )
    unlabelled = sum(not entry.labels for entry in prepared.entries) if dataset.classes else 0
    if unlabelled:
        note(console, f"{dataset.title}: {unlabelled} of {len(prepared.entries)} usable recordings have no label")
    return prepared


def joined_corpora(config: Config, prepared: Mapping[str, Prepared], cache: Path) -> list[Prepared]:
    """The corpus of a run if it is of several datasets. Raises DatasetError for one without recordings."""
    if len(config.data.corpora) == 1:
        return []
    members = []
    for data in map(prepared.__getitem__, config.data.corpora):
        chosen = {entry.recording for entry in untested(config, data)}
        members.append((data, np.flatnonzero([entry.recording in chosen for entry in data.entries])))
    return [join(config.data.pretrain, members, cache)]


def transports_of(config: Config, prepared: Mapping[str, Prepared], cache: Path) -> list[Prepared]:
    """The transports of a run. Raises DatasetError for one without recordings."""
    transports = []
    for name in filter(is_transport, config.data.datasets):
        transport = transport_of(name, config.data.source)
        learned, tested = (of_task(prepared[end.dataset], end) for end in (transport.learned, transport.tested))
        spec = config.task_spec(config.finetune, learned.name)
        split, _ = split_or_none(learned, spec)
        seen = pretrained_patients(config, prepared, tested.dataset_name)
        transports.append(transported(transport, learned, tested, split, spec, seen, cache))
    return transports


def pretrained_patients(config: Config, prepared: Mapping[str, Prepared], name: str) -> set[str]:
    """Patients of a dataset who are pretrained on."""
    if name not in config.data.corpora:
        return set()
    several, data = len(config.data.corpora) > 1, prepared[name]
    used = untested(config, data) if several else pretrained_entries(data, config.task_spec(config.pretrain))
    return {entry.patient for entry in used}


def untested(config: Config, data: Prepared) -> list[Entry]:
    """The recordings of a dataset that no column tests or chooses on, nor any other recording of their patients.

    Of a labelled dataset under no column its training part, as where it is pretrained on alone.
    """
    if not data.classes:
        return list(data.entries)
    columns = [column for column in config.data.columns() if column.dataset == data.name]
    specs = [(of_task(data, column), config.task_spec(config.finetune, column.name)) for column in columns]
    if any(is_cross_validated(view, spec) for view, spec in specs):
        return []
    splits = [split_or_none(view, spec)[0] for view, spec in specs or [(data, config.task_spec(config.pretrain))]]
    held_out = {data.entries[r].patient for split in splits for r in (*split.validation, *split.test)}
    train = sorted({int(r) for split in splits for r in split.train})
    return [data.entries[r] for r in train if data.entries[r].patient not in held_out]


def patients_of(config: Config, name: str) -> Iterator[str]:
    """What counts as a patient of a user's own data, and what a run does about it."""
    card = config.data.cards.get(name)
    if isinstance(card, Card) and not card.states_patients:
        yield "not stated (`table.patient` of its card), so every recording counts as a patient of its own"
    elif isinstance(card, Card) and config.protocol == "strict":
        yield "stated, so labelled subsets and splits are by patient (protocol strict)"


@dataclass(frozen=True)
class RunAudit:
    """Result of the audit for a run."""

    leaks: list[str]
    """Reasons to refuse the run, unless --allow-leak is given."""
    warnings: list[str]
    """Datasets that cannot be scored, whose cells are dashes, and what is doubtful about the data and used."""


def audit_run(config: Config, prepared: Mapping[str, Prepared]) -> RunAudit:
    """Audit a run's corpus and columns.

    Raises DatasetError if the pretraining corpus or every column is unusable.
    """
    columns = [column.name for column in config.data.columns()]
    findings = audit_of(config, prepared, columns)
    fatal = {finding.datasets[0]: finding.text for finding in findings if finding.severity == "fatal"}
    unscored = [f"{prepared[name].title} cannot be scored: {fatal[name]}" for name in columns if name in fatal]
    for column in config.data.columns():
        data, spec = prepared[column.name], config.task_spec(config.finetune, column.name)
        if column.dataset in config.data.corpora and is_cross_validated(data, spec):
            raise DatasetError(
                f"{data.title}: every patient is tested (data.folds={spec.folds}), so that none is left to pretrain "
                f"on: leave {column.dataset} out of --pretrain-dataset"
            )
    corpus = prepared[config.data.pretrain]
    usable = split_or_none(corpus, config.task_spec(config.pretrain))[0].train if corpus.classes else corpus.entries
    if corpus.name in fatal and not len(usable):
        raise DatasetError(f"{corpus.title} cannot be pretrained on: {fatal[corpus.name]}")
    if len(unscored) == len(columns):
        raise DatasetError("; ".join(unscored))
    leaks = [finding.text for finding in findings if finding.severity == "leak"]
    doubts = [f"{prepared[f.datasets[0]].title}: {f.text}" for f in findings if f.in_tables]
    return RunAudit(leaks, [*unscored, *doubts])


def audit_of(config: Config, prepared: Mapping[str, Prepared], tested: Sequence[str]) -> list[Finding]:
    """Findings on prepared datasets under a config's corpus, task and protocol."""
    specs = {name: config.task_spec(config.finetune, name) for name in prepared}
    spec = config.task_spec(config.finetune)
    corpora = config.data.corpora if len(config.data.corpora) > 1 else []
    joined = {name: frozenset(entry.recording for entry in untested(config, prepared[name])) for name in corpora}
    parts = {name: data for name, data in prepared.items() if JOIN not in name and not is_transport(name)}
    plain = [name for name in tested if name in parts]
    findings = audit(parts, spec, pretrain=config.data.pretrain, tested=plain, specs=specs, joined=joined)
    of_corpus = {name: parts[name] for name in config.data.corpora if name in parts}
    for name in [name for name in tested if name not in plain]:
        beside = of_corpus | {name: prepared[name]}
        further = audit(beside, spec, pretrain=config.data.pretrain, tested=[name], specs=specs, joined=joined)
        findings += [finding for finding in further if finding.severity != "warning" and name in finding.datasets]
    return findings


def with_columns(config: Config, datasets: Mapping[str, Prepared]) -> dict[str, Prepared]:
    """The prepared pretraining corpus and columns of a run by name, from its prepared datasets."""
    columns = {column.name: of_task(datasets[column.dataset], column) for column in config.data.columns()}
    return {name: datasets[name] for name in (config.data.pretrain, *config.data.corpora)} | columns


def prepare_trials(config: Config, parts: Iterable[Pretraining | Cell], prepared: Mapping[str, Prepared]) -> None:
    """Write and verify the pseudo-trials that pretrainings and cells need, so that their processes find them."""
    lengths = set()
    for part in parts:
        if isinstance(part, Cell):
            settings = with_settings(config, part.variant.settings).finetune
            lengths.add((part.dataset, config.task_spec(settings).per_trial))
        else:
            lengths.add((config.data.pretrain, config.task_spec(config.pretrain).per_trial))
    for name, per_trial in lengths:
        trials_of(prepared[name], per_trial)


def external_rows(config: Config) -> Iterator[tuple[Variant, type[PretrainedEncoder]]]:
    """The compared rows with an external encoder (weights of another group), with these encoders."""
    for variant in methods_of(config):
        if variant.method is not None and variant.method.external_encoder is not None:
            yield variant, variant.method.external_encoder


def refuse_unusable(config: Config) -> None:
    """Try each encoder from elsewhere on windows of noise, before any data are read.

    Raises ConfigError, in one line, for a card or file that does not hold, and for a row that no evaluation serves.
    """
    for variant, kind in external_rows(config):
        try:
            try_external(kind)
            check_pretrained_on(kind, config.data.known())
        except ValueError as error:
            raise ConfigError(str(error)) from None
        unserved = unserved_by(variant, config.evaluate)
        if set(unserved) == set(config.evaluate):
            frozen = ", ".join(name for name, facts in EVALUATION_FACTS.items() if facts.frozen)
            raise ConfigError(f"{kind.word()}: {next(iter(unserved.values()))}; add --evaluate with one of {frozen}")


def external_forms(
    config: Config,
    datasets: Iterable[Dataset],
    prepared: Mapping[str, Prepared],
    make: Callable[[Dataset, Segmentation], Prepared | None],
) -> dict[tuple[str, str], Prepared] | None:
    """(method, column) -> `make` of its dataset, cut to the windows of the method's external encoder; None if one is.

    Each dataset is cut once for equal windows. prepared: the transports, of whose datasets the same recordings are
    joined.
    """
    by_name = {dataset.name: dataset for dataset in datasets}
    made_of = cache(lambda name, cut: make(by_name[name], cut))
    forms: dict[tuple[str, str], Prepared] = {}
    for variant, kind in external_rows(config):
        cut = segmentation_of(kind.signals, config.data.cut().beats)
        for column in config.data.columns():
            parts = [made_of(name, cut) for name in datasets_in(column.dataset)]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            is_joined = is_transport(column.dataset)
            forms[variant.method_name, column.name] = recut(prepared[column.dataset], known) if is_joined else known[0]
    return forms


def facts_of_external(config: Config, prepared: Mapping[str, Prepared], grid: Grid) -> dict[str, dict[str, object]]:
    """Row -> facts of its external encoder for plans and reports."""
    facts: dict[str, dict[str, object]] = {}
    for variant in grid.variants:
        kind = variant.method.external_encoder if variant.method is not None else None
        if kind is None:
            continue
        columns = [column.name for column in config.data.columns()]
        facts[variant.name] = {
            "pretrained_on": pretrained_on_text(kind),
            "saw": {name: saw_test_patients(kind, prepared[name]) for name in columns},
            "licence": kind.licence,
            "signals": kind.signals.words(),
            "features": kind.features,
            "unserved": unserved_by(variant, config.evaluate),
        }
    return facts
