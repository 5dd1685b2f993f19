"""The data of a run: located or simulated, prepared, joined where a row needs several datasets, audited; and its plan.

A plan is stored for reports beside the rows: what is compared, on which data, in which cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.config.load import Folders
from benchmark.data.audit import Finding, audit
from benchmark.data.column import NO_LABEL, Column, column_of
from benchmark.data.corpus import pretrained_entries, trials_of
from benchmark.data.datasets import find_root, refuse_unfinished
from benchmark.data.datasets.base import Dataset, DatasetError
from benchmark.data.datasets.card import Card
from benchmark.data.joined import JOIN, Seen, datasets_in, is_transport, join, transport_of, transported
from benchmark.data.prepare import Prepared, prepare, skip_summary, write_index
from benchmark.data.segments import TYPICAL_SECONDS, Segmentation
from benchmark.data.simulate import SimulatedDataset
from benchmark.data.tasks import DatasetTask, of_task
from benchmark.external import check_pretrained_on, pretrained_on_text, saw_test_patients, segmentation_of, try_external
from benchmark.results.arrays import Ints
from benchmark.results.files import digest
from benchmark.results.store import Plan, PlannedCell
from benchmark.run.crossfit import corpus_of_part, crossfitted, parts_of
from benchmark.run.grid import Grid, Variant, methods_of, unserved_by
from benchmark.screen import Console, note, step
from methods.encoders.pretrained import PretrainedEncoder

ROW_BYTES, SAMPLE_BYTES = 20_000, 12 * 2


def names_of(config: Config) -> list[str]:
    """List the datasets of a run: those of the pretraining corpus first, then the columns of the table."""
    columns = [name for column in config.data.datasets for name in datasets_in(column)]
    return list(dict.fromkeys([*config.data.corpora, *columns]))


def locate(config: Config, name: str, folders: Folders) -> Dataset:
    """Find a dataset, in its folder or simulated. Raises DatasetError for a missing or unfinished folder."""
    simulation, source = config.data.simulation, config.data.source(name)
    if simulation is not None:
        sizes = {"patients": simulation.patients[name], "test_patients": simulation.test_patients.get(name, 0)}
        return SimulatedDataset(name, **simulation.model_dump() | sizes)
    root = find_root(source, folders.data_root, folders.paths)
    refuse_unfinished(source, root)
    return source(root)


def prepare_data(
    dataset: Dataset,
    config: Config,
    folders: Folders,
    console: Console,
    cut: Segmentation | None = None,
    *,
    read_again: bool = False,
) -> Prepared:
    """Prepare a dataset, cut as the config says or by `cut`; names damaged files on the console, which it makes again.

    read_again: compare with their digests also files that look as they were left. Raises DatasetError if no recording
    is usable.
    """

    def tell_damage(file: Path) -> None:
        note(console, f"{dataset.title}: the prepared file {file} does not match its digest: it is made again")

    segmentation = cut or config.data.cut()
    with step(console, f"{dataset.title}: cutting {segmentation.unit_name}s") as progress:
        prepared = prepare(
            dataset,
            folders.cache,
            workers=folders.workers,
            segmentation=segmentation,
            prefix=config.data.prefix_of(dataset.name),
            read_again=read_again,
            on_progress=progress,
            on_damage=tell_damage,
        )
    if dataset.classes and (
        unlabelled := column_of(prepared, config.task_spec(config.finetune)).left_out.get(NO_LABEL)
    ):
        note(console, f"{dataset.title}: {unlabelled} of {len(prepared.entries)} usable recordings have no label")
    return prepared


def joins_of(config: Config, prepared: Mapping[str, Prepared], cache: Path) -> list[Prepared]:
    """Join the corpus and the transports of several datasets each. Raises DatasetError for an empty one."""
    joins, corpora = [], config.data.corpora
    trained = {name: pretrained_entries(prepared[name], config.task_spec(config.pretrain)) for name in corpora}
    if len(corpora) > 1:
        members = [(prepared[name], untested(config, prepared[name])) for name in corpora]
        trained = {data.name: [data.entries[r] for r in numbers] for data, numbers in members}
        views = [column for name in corpora for column in withheld_by(config, prepared[name])]
        chosen_by = [[column.data.fingerprint, column.spec.dividing()] for column in views]
        joins.append(join(config.data.pretrain, members, cache, chosen_by=chosen_by))
    corpus = joins[0] if joins else prepared[config.data.pretrain]
    columns = [column for column in config.data.columns() if not is_transport(column.dataset)]
    plain = {column.name: of_task(prepared[column.dataset], column) for column in columns}
    in_parts = {column.data.dataset_name for column in crossfitted(config, plain).values()}
    for name in filter(is_transport, config.data.datasets):
        transport = transport_of(name, config.data.source)
        if ends := in_parts.intersection(datasets_in(name)):
            raise DatasetError(
                f"{name}: everybody in {' and '.join(sorted(ends))} is tested in parts by encoders of their own "
                "(data.folds), and a transport has one encoder: leave the transport out, or --set data.folds=null"
            )
        learned, tested = (of_task(prepared[end.dataset], end) for end in transport.ends)
        learned_column = column_of(learned, config.task_spec(config.finetune, learned.name))
        # A transport tests nobody who is pretrained on.
        seen = Seen(set(), None)
        if tested.dataset_name in trained:
            patients = {entry.patient for entry in trained[tested.dataset_name]}
            seen = Seen(patients, [corpus.fingerprint, config.task_spec(config.pretrain).content()])
        joins.append(transported(transport, learned_column, tested, seen, cache))
    return joins


def untested(config: Config, data: Prepared) -> Ints:
    """Number the recordings of a dataset whose patients no column tests or chooses on.

    Of a labelled dataset under no column its training part, as where it is pretrained on alone.
    """
    if not data.classes:
        return np.arange(len(data.entries))
    columns = withheld_by(config, data)
    if any(column.is_cross_validated for column in columns):
        return np.arange(len(data.entries))  # of whom the encoder of each part sees others (benchmark.run.crossfit)
    splits = [column.split for column in columns]
    held_out = {data.entries[r].patient for split in splits for r in (*split.validation, *split.test)}
    train = sorted({int(r) for split in splits for r in split.train})
    return np.array([r for r in train if data.entries[r].patient not in held_out], np.int64)


def withheld_by(config: Config, data: Prepared) -> list[Column]:
    """List the tasks of a dataset by whose splits recordings are kept from a corpus of several datasets.

    Of a labelled dataset under no column the dataset itself, as it is split where it is pretrained on alone.
    """
    tasks = [column for column in config.data.columns() if column.dataset == data.name]
    if tasks or not data.classes:
        return [column_of(of_task(data, task), config.task_spec(config.finetune, task.name)) for task in tasks]
    return [column_of(data, config.task_spec(config.pretrain))]


def patients_of(config: Config, name: str) -> Iterator[str]:
    """Say that each recording of a user's data counts as a patient where no card says whose it is."""
    card = config.data.cards.get(name)
    if isinstance(card, Card) and not card.states_patients:
        yield "not stated (`table.patient` of its card), so every recording counts as a patient of its own"


def audit_run(config: Config, prepared: Mapping[str, Prepared]) -> tuple[list[str], list[str]]:
    """Audit a run's corpus and columns. Raises DatasetError if the corpus or every column is unusable.

    Returns the leaks, for which a run is refused without --allow-leak, and warnings: datasets that cannot be scored,
    whose cells are dashes, and what is doubtful about the data and used.
    """
    columns = config.data.columns()
    findings = audit_of(config, prepared, [column.name for column in columns])
    fatal = {finding.datasets[0]: finding.text for finding in findings if finding.severity == "fatal"}
    corpus = prepared[config.data.pretrain]
    usable = column_of(corpus, config.task_spec(config.pretrain)).split.train if corpus.classes else corpus.entries
    if corpus.name in fatal and not len(usable):
        raise DatasetError(f"{corpus.title} cannot be pretrained on: {fatal[corpus.name]}")
    names = [column.name for column in columns if column.name in fatal]
    unscored = [f"{prepared[name].title} cannot be scored: {fatal[name]}" for name in names]
    if len(unscored) == len(columns):
        raise DatasetError("; ".join(unscored))
    doubts = [f"{prepared[finding.datasets[0]].title}: {finding.text}" for finding in findings if finding.in_tables]
    return [finding.text for finding in findings if finding.severity == "leak"], [*unscored, *doubts]


def audit_of(config: Config, prepared: Mapping[str, Prepared], tested: Sequence[str]) -> list[Finding]:
    """Audit prepared datasets under a config's corpus, task and protocol; transports beside the corpus alone."""
    corpora = config.data.corpora
    views = {name: column_of(data, config.task_spec(config.finetune, name)) for name, data in prepared.items()}
    joined = {name: untested(config, prepared[name]) for name in corpora} if len(corpora) > 1 else {}
    parts = {name: view for name, view in views.items() if JOIN not in name and not is_transport(name)}
    pretrain, columns = config.data.pretrain, [name for name in tested if name in parts]
    findings = audit(parts, pretrain=pretrain, tested=columns, joined=joined)
    for name in [name for name in tested if name not in parts]:
        beside = {corpus: parts[corpus] for corpus in corpora if corpus in parts} | {name: views[name]}
        further = audit(beside, pretrain=pretrain, tested=[name], joined=joined)
        findings += [finding for finding in further if finding.severity != "warning" and name in finding.datasets]
    return [*findings, *(finding for name in columns for finding in too_short(parts[name]))]


def too_short(column: Column) -> Iterator[Finding]:
    """Warn of a column of whose recordings more than a tenth have too few windows to be scored."""
    data, spec = column.data, column.spec
    short = np.count_nonzero(data.trials_of_each(spec.per_trial) == 0)
    if short > len(data.entries) / 10:
        yield Finding(
            (data.name,),
            "warning",
            f"{short} of {len(data.entries)} recordings have fewer than {spec.per_trial} heartbeats and are neither "
            "labelled nor scored: lower finetune.beats_per_trial",
            in_tables=True,
        )


def with_columns(config: Config, datasets: Mapping[str, Prepared]) -> dict[str, Prepared]:
    """Collect the prepared pretraining corpus and columns of a run by name, from its prepared datasets."""
    columns = {column.name: of_task(datasets[column.dataset], column) for column in config.data.columns()}
    return {name: datasets[name] for name in (config.data.pretrain, *config.data.corpora)} | columns


def prepare_trials(config: Config, prepared: Mapping[str, Prepared]) -> None:
    """Write the pseudo-trials of corpus and columns once, so that all processes of a run map the same files."""
    trials_of(prepared[config.data.pretrain], config.task_spec(config.pretrain).per_trial)
    for column in config.data.columns():
        trials_of(prepared[column.name], config.task_spec(config.finetune, column.name).per_trial)


def external_rows(variants: Iterable[Variant]) -> Iterator[tuple[Variant, type[PretrainedEncoder]]]:
    """Yield the rows with an external encoder (weights of another group), with these encoders."""
    for variant in variants:
        if variant.elsewhere:
            yield variant, variant.elsewhere


def refuse_unusable(config: Config) -> None:
    """Try encoders of other groups on noise, before data are read. Raises ConfigError for what does not hold."""
    for variant, kind in external_rows(methods_of(config)):
        try:
            try_external(kind)
            check_pretrained_on(kind, config.data.known())
        except ValueError as error:
            raise ConfigError(str(error)) from None
        unserved = unserved_by(variant, config.evaluate)
        if len(unserved) == len(config.evaluate):
            raise ConfigError(f"{kind.word()}: {next(iter(unserved.values()))}; add a probe, e.g. --evaluate linear")


def external_forms(
    config: Config,
    datasets: Iterable[Dataset],
    make: Callable[[Dataset, Segmentation], Prepared],
) -> dict[tuple[str, str], Prepared]:
    """Cut each column by `make` to the windows of each external encoder; of a transport both datasets."""
    by_name = {dataset.name: dataset for dataset in datasets}
    forms: dict[tuple[str, str], Prepared] = {}
    for variant, kind in external_rows(methods_of(config)):
        cut = segmentation_of(kind.signals, config.data.cut().beats)
        for column in config.data.columns():
            parts = [make(by_name[name], cut) for name in datasets_in(column.dataset)]
            form = parts[0]
            if is_transport(column.dataset):
                members = [(part, np.arange(len(part.entries))) for part in parts]
                form = join(column.dataset, members, form.folder.parent)
                write_index(form)
            forms[variant.method_name, column.name] = form
    return forms


def make_plan(
    config: Config, prepared: Mapping[str, Prepared], grid: Grid, warnings: Sequence[str] = (), health_windows: str = ""
) -> Plan:
    """Make the plan of a run; warnings stand under every table, health is of windows with this digest."""
    cells = [
        PlannedCell(cell.key, cell.variant.name, cell.table, cell.dataset, cell.ratio, cell.seed, cell.subset)
        for cell in grid.cells
    ]
    corpus, columns, in_parts = prepared[config.data.pretrain], config.data.columns(), crossfitted(config, prepared)
    used = pretrained_entries(corpus, config.task_spec(config.pretrain))
    if in_parts:
        numbers = corpus_of_part(corpus, in_parts, parts_of(in_parts, config.seeds[0])[0])
        used = [corpus.entries[number] for number in numbers]
    external = {
        variant.name: {
            "elsewhere": {
                "pretrained_on": pretrained_on_text(kind),
                "saw": {column.name: saw_test_patients(kind, prepared[column.name]) for column in columns},
                "licence": kind.licence,
                "signals": kind.signals.words(),
                "features": kind.features,
                "unserved": unserved_by(variant, config.evaluate),
            }
        }
        for variant, kind in external_rows(grid.variants)
    }
    content: dict[str, Any] = {
        "config": config.model_dump(mode="json"),
        "variants": {variant.name: variant.title for variant in grid.variants},
        "roles": {variant.name: variant.facts() | external.get(variant.name, {}) for variant in grid.variants},
        "datasets": {
            column.name: column_facts(prepared[column.name], column, config)
            | ({"crossfitted": True} if column.name in in_parts else {})
            for column in columns
        },
        "pretraining": {
            **facts_of(corpus),
            "name": corpus.name,
            "used_recordings": len(used),
            "used_patients": len({entry.patient for entry in used}),
        },
    }
    key = digest([content, [cell.key for cell in cells]])
    return Plan(key=key, cells=cells, warnings=list(warnings), health_windows=health_windows, **content)


def column_facts(prepared: Prepared, column: DatasetTask, config: Config) -> dict[str, Any]:
    """Collect facts of a column; of a cross-validated one its parts, of a named task its dataset and name."""
    view = column_of(prepared, config.task_spec(config.finetune, column.name))
    parts = {"parts": view.spec.folds} if view.is_cross_validated else {}
    named = {} if column.named is None else {"of": column.dataset, "task": column.task}
    return facts_of(prepared) | {"left_out": view.left_out} | parts | named


def facts_of(prepared: Prepared) -> dict[str, Any]:
    """Collect facts of a dataset for captions and tables."""
    return {
        "title": prepared.title,
        "classes": list(prepared.classes),
        "form": prepared.form,
        "simulated": prepared.simulated,
        "fingerprint": prepared.fingerprint,
        "recordings": len(prepared.entries),
        "patients": len({entry.patient for entry in prepared.entries}),
        "skipped": skip_summary(prepared.skipped),
    }


class Size(NamedTuple):
    """Size of a dataset."""

    recordings: int
    windows: int


def estimated_size(recordings: int, cut: Segmentation) -> Size:
    """Estimate the size of an unprepared dataset of recordings of 10 s."""
    return Size(recordings, recordings * cut.windows_of_typical())


def disk_bytes(config: Config, sizes: Mapping[str, Size], pretrainings: int, cells: int, parameters: int) -> int:
    """Estimate the bytes of prepared windows and pseudo-trials, encoders, and rows with predictions."""
    cut = config.data.cut()
    written = [size for name, size in sizes.items() if JOIN not in name]  # a corpus of several has no windows
    samples = sum(size.windows for size in written) * cut.samples * (1 + cut.standardises_trials)
    if cut.kind == "recordings":
        samples = sum(size.recordings for size in written) * TYPICAL_SECONDS * cut.rate
    return int(samples * SAMPLE_BYTES + 4 * parameters * pretrainings + cells * ROW_BYTES)
