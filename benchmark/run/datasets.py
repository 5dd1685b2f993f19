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
from benchmark.data.corpus import pretrained_recordings
from benchmark.data.datasets import find_root, refuse_unfinished
from benchmark.data.datasets.base import Dataset, DatasetError
from benchmark.data.datasets.card import Card
from benchmark.data.joined import JOIN, datasets_in, is_transport, join, transport_of, transported
from benchmark.data.prepare import Prepared, prepare, skip_summary, write_index
from benchmark.data.segments import TYPICAL_SECONDS, Segmentation
from benchmark.data.simulate import SimulatedDataset
from benchmark.data.splits import HELD_OUT
from benchmark.data.tasks import DatasetTask, of_task
from benchmark.data.trials import trials_of
from benchmark.external import check_pretrained_on, pretrained_on_text, saw_test_patients, segmentation_of, try_external
from benchmark.results.arrays import Ints
from benchmark.results.files import digest
from benchmark.results.names import RETRIEVAL
from benchmark.results.store import Plan, PlannedCell
from benchmark.run.crossfit import Columns, corpus_of_part, crossfitted, parts_of
from benchmark.run.grid import Cell, Grid, is_estimated, unserved_by
from benchmark.run.rows import Variant, methods_of, variants_of
from benchmark.screen import Console, note, step
from methods.encoders.pretrained import PretrainedEncoder
from methods.in_memory import ObjectEncoder

ROW_BYTES = 9_500
"""Bytes of a row on disk, without its predictions."""
WINDOW_BYTES = 1.5
"""Bytes of the names and the truth of a predicted window, compressed."""
PROBABILITY_BYTES = 3.5
"""Bytes of a predicted window's probability of a class. Probabilities are written whole, since thresholds, curves and
tests are computed again from them to the last bit, and their digits do not compress."""
SAMPLE_BYTES = 12 * 2
"""Bytes of a sample of a prepared window."""
TENTH = 0.1
"""Share of a dataset that a split tests, and as much validates."""


def names_of(config: Config) -> list[str]:
    """List the datasets of a run: those of the pretraining corpus first, then the columns of the table."""
    columns = [name for column in config.data.datasets for name in datasets_in(column)]
    return list(dict.fromkeys([*config.data.corpora, *columns]))


def locate(config: Config, name: str, folders: Folders) -> Dataset:
    """Find a dataset, in its folder or simulated. Raises DatasetError for a missing or unfinished folder."""
    simulation = config.data.simulation
    source = config.data.source(name)
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
    unlabelled = column_of(prepared, config.column_spec()).left_out.get(NO_LABEL)
    if dataset.classes and unlabelled:
        note(console, f"{dataset.title}: {unlabelled} of {prepared.usable} usable recordings have no label")
    return prepared


def joins_of(config: Config, prepared: Mapping[str, Prepared], cache: Path) -> list[Prepared]:
    """Join the corpus and the transports of several datasets each. Raises DatasetError for an empty one."""
    joins, corpora = [], config.data.corpora
    spec = config.corpus_spec()
    trained = {name: pretrained_recordings(column_of(prepared[name], spec)) for name in corpora}
    if len(corpora) == 1:
        corpus = prepared[config.data.pretrain]
    else:
        members = [(prepared[name], untested(config, prepared[name])) for name in corpora]
        chosen_by = []
        for data, numbers in members:
            trained[data.name] = numbers
            for column in withheld_by(config, data):
                chosen_by.append([column.data.fingerprint, column.spec.dividing()])
        corpus = join(config.data.pretrain, members, cache, chosen_by=chosen_by)
        joins.append(corpus)
    plain = {}
    for task in config.data.columns():
        if not is_transport(task.dataset):
            plain[task.name] = of_task(prepared[task.dataset], task)
    in_parts = {column.data.dataset_name for column in crossfitted(config, plain).values()}
    for name in filter(is_transport, config.data.datasets):
        if ends := in_parts.intersection(datasets_in(name)):
            raise DatasetError(
                f"{name}: everybody in {' and '.join(sorted(ends))} is tested in parts by encoders of their own "
                "(data.folds), and a transport has one encoder: leave the transport out, or --set data.folds=null"
            )
        transport = transport_of(name, config.data.source)
        learned, tested = (of_task(prepared[end.dataset], end) for end in transport.ends)
        # A transport tests nobody who is pretrained on.
        seen = set[str]()
        seen_by = None
        if tested.dataset_name in trained:
            seen = {tested.recordings.patient[number] for number in trained[tested.dataset_name]}
            seen_by = [corpus.fingerprint, spec.content()]
        column = column_of(learned, config.column_spec(learned.name))
        joins.append(transported(transport, column, tested, cache, seen=seen, seen_by=seen_by))
    return joins


def untested(config: Config, data: Prepared) -> Ints:
    """Number the recordings of a dataset whose patients no column tests or chooses on.

    A labelled dataset that is no column gives its training part, as where it alone is the corpus.
    """
    columns = withheld_by(config, data)
    # Of a column that is tested in parts the encoder of each part sees others (benchmark.run.crossfit).
    if not data.classes or any(column.is_cross_validated for column in columns):
        return np.arange(data.usable)
    train = set[int]()
    held_out = set[str]()
    patients = data.recordings.patient
    for column in columns:
        train.update(column.split.train.tolist())
        for number in (*column.split.validation, *column.split.test):
            held_out.add(patients[number])
    return np.array([number for number in sorted(train) if patients[number] not in held_out], np.int64)


def withheld_by(config: Config, data: Prepared) -> list[Column]:
    """List the columns of a dataset by whose splits recordings are kept from a corpus of several datasets.

    For a labelled dataset that is no column: the dataset itself, split as where it alone is the corpus.
    """
    tasks = [column for column in config.data.columns() if column.dataset == data.name]
    if tasks or not data.classes:
        return [column_of(of_task(data, task), config.column_spec(task.name)) for task in tasks]
    return [column_of(data, config.corpus_spec())]


def patients_of(config: Config, name: str) -> Iterator[str]:
    """Say that each recording of a user's data counts as a patient where no card says whose it is."""
    card = config.data.cards.get(name)
    if isinstance(card, Card) and not card.patients:
        yield "not stated (`table.patient` of its card), so every recording counts as a patient of its own"


def audit_run(config: Config, prepared: Mapping[str, Prepared], *, allow_leak: bool = False) -> list[str]:
    """Audit a run's corpus and columns; returns warnings: allowed leaks, columns without a score, and what is doubtful.

    Raises DatasetError if the corpus or every column is unusable, and for a leak that is not allowed.
    """
    names = [column.name for column in config.data.columns()]
    findings = audit_of(config, prepared, names)
    fatal = {finding.datasets[0]: finding.text for finding in findings if finding.severity == "fatal"}
    corpus = prepared[config.data.pretrain]
    usable = corpus.usable
    if corpus.classes:
        usable = len(column_of(corpus, config.corpus_spec()).split.train)
    if corpus.name in fatal and not usable:
        raise DatasetError(f"{corpus.title} cannot be pretrained on: {fatal[corpus.name]}")
    warnings = [f"{prepared[name].title} cannot be scored: {fatal[name]}" for name in names if name in fatal]
    if len(warnings) == len(names):
        raise DatasetError("; ".join(warnings))
    for finding in findings:
        if finding.in_tables:
            warnings.append(f"{prepared[finding.datasets[0]].title}: {finding.text}")
    leaks = [finding.text for finding in findings if finding.severity == "leak"]
    if leaks and not allow_leak:
        raise DatasetError(f"{'; '.join(leaks)}; `data check` shows more, `run --allow-leak` runs all the same")
    return [*leaks, *warnings]


def audit_of(config: Config, prepared: Mapping[str, Prepared], tested: Sequence[str]) -> list[Finding]:
    """Audit prepared datasets under a config's corpus, task and protocol; transports beside the corpus alone."""
    corpora, pretrain = config.data.corpora, config.data.pretrain
    joined = {}
    if len(corpora) > 1:
        joined = {name: untested(config, prepared[name]) for name in corpora}
    views = {name: column_of(data, config.column_spec(name)) for name, data in prepared.items()}
    plain = {name: view for name, view in views.items() if JOIN not in name and not is_transport(name)}
    columns = [name for name in tested if name in plain]
    findings = audit(plain, pretrain=pretrain, tested=columns, joined=joined)
    for name in [name for name in tested if name not in plain]:
        beside = {corpus: plain[corpus] for corpus in corpora if corpus in plain}
        beside[name] = views[name]
        for finding in audit(beside, pretrain=pretrain, tested=[name], joined=joined):
            if finding.severity != "warning" and name in finding.datasets:
                findings.append(finding)
    for name in columns:
        findings += too_short(plain[name])
    return findings


def too_short(column: Column) -> Iterator[Finding]:
    """Say where more than a tenth of a column's recordings have too few windows to be scored; all are fatal."""
    data, per_trial = column.data, column.spec.per_trial
    is_short = data.trials_of_each(per_trial) == 0  # (R,)
    short = np.count_nonzero(is_short)
    text = f"{short} of {data.usable} recordings have fewer than {per_trial} heartbeats"
    is_short_test = is_short[column.tested]  # (R',)
    if is_short_test.size and is_short_test.all():
        yield Finding((data.name,), "fatal", f"{text}, all that are tested among them: lower finetune.beats_per_trial")
    elif short > data.usable / 10:
        remedy = "are neither labelled nor scored: lower finetune.beats_per_trial"
        yield Finding((data.name,), "warning", f"{text} and {remedy}", in_tables=True)


def with_columns(config: Config, datasets: Mapping[str, Prepared]) -> dict[str, Prepared]:
    """Collect the prepared pretraining corpus and columns of a run by name, from its prepared datasets."""
    views = {name: datasets[name] for name in (config.data.pretrain, *config.data.corpora)}
    for column in config.data.columns():
        views[column.name] = of_task(datasets[column.dataset], column)
    return views


def prepare_trials(config: Config, prepared: Mapping[str, Prepared]) -> None:
    """Write the pseudo-trials of corpus and columns once, so that all processes of a run map the same files."""
    trials_of(prepared[config.data.pretrain], config.corpus_spec().per_trial)
    for column in config.data.columns():
        trials_of(prepared[column.name], config.column_spec(column.name).per_trial)


def external_rows(variants: Iterable[Variant]) -> Iterator[tuple[Variant, type[PretrainedEncoder]]]:
    """Yield the rows with an external encoder (weights of another group), with these encoders."""
    for variant in variants:
        if variant.external:
            yield variant, variant.external


def refuse_unusable(config: Config) -> None:
    """Try encoders of other groups on noise, before data are read. Raises ConfigError for what does not hold."""
    for variant, encoder_class in external_rows(methods_of(config)):
        try:
            if not encoder_class.reads_windows_of_run:
                try_external(encoder_class)
            check_pretrained_on(encoder_class, config.data.known())
        except ValueError as error:
            raise ConfigError(str(error)) from None
        unserved = unserved_by(variant, config.evaluate)
        if len(unserved) == len(config.evaluate):
            reason = next(iter(unserved.values()))
            raise ConfigError(f"{encoder_class.word()}: {reason}; add a probe, e.g. --evaluate linear")


def external_forms(
    config: Config,
    datasets: Iterable[Dataset],
    make: Callable[[Dataset, Segmentation], Prepared],
) -> dict[tuple[str, str], Prepared]:
    """Cut each column by `make` to the windows of each external encoder; a transport joins its two datasets."""
    by_name = {dataset.name: dataset for dataset in datasets}
    forms: dict[tuple[str, str], Prepared] = {}
    for variant, encoder_class in external_rows(variants_of(config)):
        if encoder_class.reads_windows_of_run:
            continue
        cut = segmentation_of(encoder_class.signals, config.data.cut().beats)
        names = {column.name: datasets_in(column.dataset) for column in config.data.columns()}
        if is_estimated(config, variant):
            names[config.data.pretrain] = config.data.corpora
        for name, members in names.items():
            parts = [make(by_name[member], cut) for member in members]
            form = parts[0]
            if len(parts) > 1:
                form = join(name, [(part, np.arange(part.usable)) for part in parts], form.folder.parent)
                write_index(form)
            forms[variant.method_name, name] = form
    return forms


def make_plan(
    config: Config, prepared: Mapping[str, Prepared], grid: Grid, warnings: Sequence[str] = (), health_windows: str = ""
) -> Plan:
    """Make the plan of a run; warnings stand under every table, health is of windows with this digest."""
    in_parts = crossfitted(config, prepared)
    roles = {variant.name: variant.facts() for variant in grid.variants}
    for variant, encoder_class in external_rows(grid.variants):
        roles[variant.name]["external"] = external_facts(variant, encoder_class, config, prepared)
    datasets = {}
    for column in config.data.columns():
        datasets[column.name] = column_facts(prepared[column.name], column, config)
        if column.name in in_parts:
            datasets[column.name]["crossfitted"] = True
    content: dict[str, Any] = {
        "config": config.model_dump(mode="json"),
        "variants": {variant.name: variant.title for variant in grid.variants},
        "roles": roles,
        "datasets": datasets,
        "pretraining": corpus_facts(prepared[config.data.pretrain], in_parts, config),
    }
    cells = []
    for cell in grid.cells:
        coordinates = cell.table, cell.dataset, cell.ratio, cell.seed, cell.subset
        cells.append(PlannedCell(cell.key, cell.variant.name, *coordinates))
    key = digest([content, [cell.key for cell in cells]])
    return Plan(key=key, cells=cells, warnings=list(warnings), health_windows=health_windows, **content)


def external_facts(
    variant: Variant, encoder_class: type[PretrainedEncoder], config: Config, prepared: Mapping[str, Prepared]
) -> dict[str, Any]:
    """Collect facts of an external encoder, and for each column whether it saw the test patients."""
    names = [column.name for column in config.data.columns()]
    return {
        "pretrained_on": pretrained_on_text(encoder_class),
        "saw": {name: saw_test_patients(encoder_class, prepared[name]) for name in names},
        "licence": encoder_class.licence,
        "is_twin": encoder_class.is_twin,
        "is_object": issubclass(encoder_class, ObjectEncoder),
        "signals": "the windows of this run" if encoder_class.reads_windows_of_run else encoder_class.signals.words(),
        "features": encoder_class.features,
        "unserved": unserved_by(variant, config.evaluate),
    }


def corpus_facts(corpus: Prepared, in_parts: Columns, config: Config) -> dict[str, Any]:
    """Collect facts of the corpus, and count what is pretrained on; where it is cross-fitted, in the first part."""
    used = pretrained_recordings(column_of(corpus, config.corpus_spec()))
    if in_parts:
        first_part = parts_of(in_parts, config.seeds[0])[0]
        used = corpus_of_part(corpus, in_parts, first_part)
    patients = {corpus.recordings.patient[number] for number in used}
    counts = {"used_recordings": len(used), "used_patients": len(patients)}
    return {**facts_of(corpus), "name": corpus.name, **counts}


def column_facts(prepared: Prepared, column: DatasetTask, config: Config) -> dict[str, Any]:
    """Collect facts of a column, with the parts of a cross-validation, and dataset and name of a named task."""
    view = column_of(prepared, config.column_spec(column.name))
    facts = facts_of(prepared) | {"left_out": view.left_out, "division": view.division}
    if view.is_cross_validated:
        facts["parts"] = view.spec.folds
    if column.named is not None:
        facts |= {"of": column.dataset, "task": column.task}
    return facts


def facts_of(prepared: Prepared) -> dict[str, Any]:
    """Collect facts of a dataset for captions and tables."""
    return {
        "title": prepared.title,
        "classes": list(prepared.classes),
        "form": prepared.form,
        "simulated": prepared.simulated,
        "fingerprint": prepared.fingerprint,
        "recordings": prepared.usable,
        "patients": len({*prepared.recordings.patient}),
        "skipped": skip_summary(prepared.skipped),
    }


class Size(NamedTuple):
    """Size of a dataset."""

    recordings: int
    windows: int
    parts: int = 1
    """Parts in which its patients are tested, where they are cross-validated."""


def estimated_size(recordings: int, cut: Segmentation) -> Size:
    """Estimate the size of an unprepared dataset of recordings of 10 s."""
    return Size(recordings, recordings * cut.windows_of_typical())


def disk_bytes(
    config: Config, sizes: Mapping[str, Size], pretrainings: int, cells: Sequence[Cell], parameters: int
) -> int:
    """Estimate the bytes of prepared windows and pseudo-trials, encoders, and rows with predictions."""
    cut = config.data.cut()
    written = [size for name, size in sizes.items() if JOIN not in name]  # a corpus of several has no windows
    samples = sum(size.windows for size in written) * cut.samples * (1 + cut.standardises_trials)
    if cut.kind == "recordings":
        samples = sum(size.recordings for size in written) * TYPICAL_SECONDS * cut.rate
    rows = sum(row_bytes(cell, config, sizes) for cell in cells)
    return int(samples * SAMPLE_BYTES + 4 * parameters * pretrainings + rows)


def row_bytes(cell: Cell, config: Config, sizes: Mapping[str, Size]) -> float:
    """Estimate the bytes of a cell's row and predictions."""
    if cell.evaluation == RETRIEVAL:  # a line a recording
        return ROW_BYTES
    column = config.data.column(cell.dataset)
    spec = config.column_spec(cell.dataset)
    source = column.named or config.data.source(datasets_in(column.dataset)[0])
    size = sizes[column.dataset]
    in_trials = size.windows - size.recordings * (spec.per_trial - 1) / 2  # a last pseudo-trial is cut short
    windows = predicted_share(cell, config, column.dataset, size.parts) * in_trials
    return ROW_BYTES + windows * (WINDOW_BYTES + PROBABILITY_BYTES * len(source.classes))


def predicted_share(cell: Cell, config: Config, dataset: str, parts: int) -> float:
    """Estimate the share of the windows of a dataset that a cell predicts, of test and validation."""
    spec = config.column_spec(cell.dataset)
    simulation = config.data.simulation
    if parts > 1:
        return 1 + (parts - 1) / HELD_OUT
    validated = cell.ratio if spec.validation_labels == "share" else 1.0
    of_split = TENTH * (1 + validated)
    if simulation is None:
        return of_split
    tested = simulation.test_patients.get(dataset, 0)
    patients = simulation.patients.get(dataset, 1)
    return (tested + of_split * patients) / (tested + patients)
