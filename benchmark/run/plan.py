"""The plan of a run, stored for reports beside its rows, and why cells of the plan before it do not serve."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from benchmark.config.config import Config
from benchmark.data.corpus import pretrained_entries
from benchmark.data.prepare import Prepared, skip_summary
from benchmark.data.report_text import has_text
from benchmark.data.splits import is_cross_validated
from benchmark.data.tasks import DatasetTask
from benchmark.results.schema import digest, flat
from benchmark.results.store import BadCard, CorruptRow, NoResults, Plan, PlannedCell, Store
from benchmark.run.datasets import facts_of_external
from benchmark.run.grid import Cell, Grid


def make_plan(
    config: Config,
    prepared: Mapping[str, Prepared],
    grid: Grid,
    warnings: Sequence[str] = (),
    health_windows: str = "",
) -> Plan:
    """The plan of a run.

    warnings: printed under every table. health_windows: digest of the windows that health is measured on.
    """
    cells = [
        PlannedCell(cell.key, cell.variant.name, cell.table, cell.dataset, cell.ratio, cell.seed, cell.subset)
        for cell in grid.cells
    ]
    corpus = prepared[config.data.pretrain]
    used = pretrained_entries(corpus, config.task_spec(config.pretrain))
    external = {name: {"elsewhere": facts} for name, facts in facts_of_external(config, prepared, grid).items()}
    content: dict[str, Any] = {
        "config": config.model_dump(mode="json"),
        "variants": {variant.name: variant.title for variant in grid.variants},
        "roles": {variant.name: variant.facts() | external.get(variant.name, {}) for variant in grid.variants},
        "datasets": {
            column.name: column_facts(prepared[column.name], column, config) for column in config.data.columns()
        },
        "pretraining": facts_of(corpus)
        | {
            "name": corpus.name,
            "without_report": sum(not has_text(entry.report) for entry in corpus.entries),
            "used_recordings": len(used),
            "used_patients": len({entry.patient for entry in used}),
        },
    }
    key = digest([content, [cell.key for cell in cells]])
    return Plan(key=key, cells=cells, warnings=list(warnings), health_windows=health_windows, **content)


def column_facts(prepared: Prepared, column: DatasetTask, config: Config) -> dict[str, Any]:
    """Facts of a column; of a cross-validated one its parts, of a named task its dataset and name."""
    spec = config.task_spec(config.finetune, column.name)
    parts = {"parts": spec.folds} if is_cross_validated(prepared, spec) else {}
    named = {} if column.named is None else {"of": column.dataset, "task": column.task}
    return facts_of(prepared) | parts | named


def facts_of(prepared: Prepared) -> dict[str, Any]:
    """Facts of a dataset for captions and tables."""
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


MOST_REASONS = 5
LONGEST_VALUE = 40
"""Characters; longer values are digests and sources, of which only the names are printed."""


def cache_miss_lines(cells: Sequence[Cell], grid: Grid, store: Store) -> list[str]:
    """Why cells of the latest stored plan do not serve in the same places: the settings that differ, a line each."""
    try:
        plan = store.load_plan()
    except NoResults:
        return []
    wanted = {(cell.variant.name, cell.table, cell.dataset, cell.ratio, cell.seed, cell.subset): cell for cell in cells}
    current = {cell.key for cell in grid.cells}
    known: dict[tuple[str, str, str], str] = {}
    reasons: Counter[str] = Counter()
    for old in plan.cells:
        cell = wanted.get((old.variant, old.evaluation, old.dataset, old.ratio, old.seed, old.subset))
        if cell is None or old.key in current or not (store.cells / f"{old.key}.json").is_file():
            continue
        kind = (old.variant, old.evaluation, old.dataset)
        if kind not in known:
            known[kind] = differences(cell, old.key, store)
        reasons[known[kind]] += 1
    return [f"{count} stored cells do not match: {reason}" for reason, count in reasons.most_common(MOST_REASONS)]


def differences(cell: Cell, key: str, store: Store) -> str:
    """What differs between the keys of a cell and of a stored one: 'pretraining.epochs 60, was 30; ...'."""
    try:
        row = store.load_row(key)
        card = store.card(row.pretrain_key) if row else None
    except (BadCard, CorruptRow):
        row = None
    if row is None:
        return "damaged, or of another version"
    old = texts_of(cell.evaluation, row.provenance["key_content"], (card or {}).get("key_content", {}))
    new = texts_of(cell.evaluation, cell.content, cell.pretraining.content if cell.pretraining else {})
    names = [name for name in dict.fromkeys([*new, *old]) if new.get(name) != old.get(name)]
    changes = [(name, new.get(name, "not set"), old.get(name, "not set")) for name in names]
    return "; ".join(
        f"{name} {now}, was {before}" if max(len(now), len(before)) <= LONGEST_VALUE else name
        for name, now, before in changes
    )


def texts_of(evaluation: str, cell: Mapping[str, Any], pretraining: Mapping[str, Any]) -> dict[str, str]:
    """Dotted name of each part of the keys of a cell and of its pretraining -> its value as text."""
    parts = {name: value for name, value in cell.items() if name != "pretrain"}
    values = flat({evaluation: parts, "pretraining": pretraining})
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}
