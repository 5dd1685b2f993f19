"""The stored plan; why stored cells do not match.

The plan of a run, stored for reports beside the rows: config, variants, datasets and cells.

Why stored cells do not match a grid's: the parts in which their keys differ.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from benchmark.config.config import Config
from benchmark.data.corpus import pretrained_entries
from benchmark.data.folds import is_cross_validated
from benchmark.data.prepare import Prepared, skip_summary
from benchmark.data.report_text import has_text
from benchmark.data.splits import DatasetTask
from benchmark.results.schema import digest, flat
from benchmark.results.store import BadCard, CorruptRow, NoResults, Plan, PlannedCell, Store
from benchmark.run.datasets import facts_of_external
from benchmark.run.grid import Cell, Grid
from benchmark.training.evaluations import WAYS


def make_plan(
    config: Config,
    prepared: Mapping[str, Prepared],
    grid: Grid,
    warnings: Sequence[str] = (),
    health_windows: str = "",
) -> Plan:
    """The plan of a run.

    warnings: printed under every table. health_windows: digest of the
    windows that the health of this run's pretrainings is measured on.
    """
    cells = [
        PlannedCell(cell.key, cell.variant.name, cell.table, cell.dataset, cell.ratio, cell.seed, cell.subset)
        for cell in grid.cells
    ]
    corpus = prepared[config.data.pretrain]
    elsewhere = {name: {"elsewhere": facts} for name, facts in facts_of_external(config, prepared, grid).items()}
    content: dict[str, Any] = {
        "config": config.model_dump(mode="json"),
        "variants": {variant.name: variant.title for variant in grid.variants},
        "roles": {variant.name: variant.facts() | elsewhere.get(variant.name, {}) for variant in grid.variants},
        "datasets": {
            column.name: column_facts(prepared[column.name], column, config) for column in config.data.columns()
        },
        "pretraining": facts_of(corpus) | pretrained_on(corpus, config),
    }
    key = digest([content, [cell.key for cell in cells]])
    return Plan(key=key, cells=cells, warnings=list(warnings), health_windows=health_windows, **content)


def column_facts(prepared: Prepared, column: DatasetTask, config: Config) -> dict[str, Any]:
    """Facts of a column; of a cross-validated one its parts, of a named task its dataset and name."""
    spec = config.task_spec(config.finetune, column.name)
    parts = {"parts": spec.folds} if is_cross_validated(prepared, spec) else {}
    named = {} if column.named is None else {"of": column.dataset, "task": column.task}
    return facts_of(prepared) | parts | named


def pretrained_on(corpus: Prepared, config: Config) -> dict[str, Any]:
    """Name of the pretraining corpus, and what of it is pretrained on."""
    used = pretrained_entries(corpus, config.task_spec(config.pretrain))
    return {
        "name": corpus.name,
        "without_report": without_report(corpus),
        "used_recordings": len(used),
        "used_patients": len({entry.patient for entry in used}),
    }


def without_report(corpus: Prepared) -> int:
    """Number of recordings without report text, which methods that need text leave out."""
    return sum(not has_text(entry.report) for entry in corpus.entries)


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


MOST_PLANS = 20
"""Latest plans whose cells are compared."""
MOST_LINES, MOST_PARTS = 5, 4
LONGEST_PART = 500
"""Characters of a part with its values."""

Parts = dict[str, Any]
"""Name of a part of a key, as a reader knows it, -> value."""
UNKNOWN = "what their keys are made of is not known"
UNREADABLE = "damaged, or of another version"
ODD = (ArithmeticError, AttributeError, LookupError, StopIteration, TypeError, ValueError)
"""Errors of a foreign content in a form that no version wrote."""
HIDDEN = ("data fingerprint", "source of", "module", "encoder.source", "encoder.modules", "encoder.weights")
"""Parts whose values are digests: only their names are printed."""


def cache_miss_lines(cells: Sequence[Cell], grid: Grid, store: Store) -> list[str]:
    """Why stored cells of the same places as missing `cells` do not match: a line per reason, the most frequent first.

    A place is variant, table, dataset, ratio, seed and subset. Reads the latest plans, and one row for all cells of a
    plan that differ in the last three only.
    """
    stored = {path.stem for path in store.cells.glob("*.json")} - {cell.key for cell in grid.cells}
    wanted = {(cell.variant.name, cell.table, cell.dataset, cell.ratio, cell.seed, cell.subset): cell for cell in cells}
    if not stored or not wanted:
        return []
    nearest: dict[tuple[Any, ...], tuple[str, ...]] = {}
    for plan in latest_plans(store):
        known: dict[tuple[str, str, str], tuple[str, ...]] = {}
        for old in plan.cells:
            place = (old.variant, old.evaluation, old.dataset, old.ratio, old.seed, old.subset)
            if old.key not in stored or place not in wanted:
                continue
            if place[:3] not in known:
                known[place[:3]] = differences(wanted[place], old.key, store)
            nearest[place] = min(nearest.get(place, known[place[:3]]), known[place[:3]], key=len)
    return lines_of(Counter(nearest.values()))


def latest_plans(store: Store) -> list[Plan]:
    """The latest readable plans."""
    files = [path for path in store.plans.glob("*.json") if path.is_file()]
    plans = []
    for file in sorted(files, key=lambda path: -path.stat().st_mtime_ns)[:MOST_PLANS]:
        try:
            plans.append(store.load_plan(file.stem))
        except NoResults:
            continue
    return plans


def lines_of(reasons: Counter[tuple[str, ...]]) -> list[str]:
    """The reasons with their numbers of cells, a line each."""
    lines = []
    for parts, count in reasons.most_common(MOST_LINES):
        more = [f"{len(parts) - MOST_PARTS} more"] if len(parts) > MOST_PARTS else []
        lines.append(f"{count} stored cells do not match: {'; '.join([*parts[:MOST_PARTS], *more])}")
    rest = reasons.most_common()[MOST_LINES:]
    further = f"{sum(count for _, count in rest)} stored cells do not match for {len(rest)} other reasons"
    return [*lines, further] if rest else lines


def differences(cell: Cell, key: str, store: Store) -> tuple[str, ...]:
    """The parts in which a cell's key differs from that of a stored row: 'pretrain.epochs 60, was 30'."""
    try:
        row = store.load_row(key)
        card = store.card(row.pretrain_key) if row and row.pretrain_key else None
    except (CorruptRow, BadCard):
        row = None
    if row is None:
        return (UNREADABLE,)
    try:
        content, before = row.provenance["key_content"], (card or {}).get("key_content")
        old = parts_of_cell(cell, content) | (parts_of_pretraining(cell, before or {}) if cell.pretraining else {})
    except ODD:
        return (UNKNOWN,)
    ours = parts_of_cell(cell, cell.content)
    ours |= parts_of_pretraining(cell, cell.pretraining.content) if cell.pretraining else {}
    return compared(ours, old) or (UNKNOWN,)


def parts_of_cell(cell: Cell, content: Mapping[str, Any]) -> Parts:
    """The parts of a cell's content but its pretraining."""
    section = WAYS[cell.evaluation].section or cell.evaluation
    task = dict(content["task"])
    return {
        f"{cell.evaluation.upper().replace('-', '_')}_VERSION": content["version"],
        **flat(content["settings"], f"{section}."),
        "finetune.encoder_dropout": content.get("encoder_dropout"),
        "finetune: windows per pseudo-trial": task.pop("per_trial"),
        f"data fingerprint of {cell.dataset}": content["data"],
        "SPLIT_VERSION": task.pop("version"),
        "protocol": task.pop("protocol"),
        **flat(task, "data."),
        **content.get("mode", {}),
        "data.segmentation": content.get("segmentation"),
    }


def parts_of_pretraining(cell: Cell, content: Mapping[str, Any]) -> Parts:
    """The parts of a pretraining's content, whose number of threads is left out."""
    method = content.get("method", cell.variant.method_name)
    file, task = content.get("file", {}), dict(content.get("task", {}))
    return {
        f"version of {method}": content.get("method_version"),
        "PRETRAIN_VERSION": content.get("version"),
        **flat(content.get("encoder", {}), "encoder."),
        **flat(content.get("config", {}), f"methods.{method}."),
        "pretrain.epochs": content.get("epochs"),
        "pretrain: windows per pseudo-trial": task.pop("per_trial", None),
        "pretrain.seed": content.get("seed"),
        "data fingerprint of the pretraining corpus": content.get("data"),
        **flat(task, "pretraining task: "),
        "pretrain.budget": content.get("budget"),
        f"encoder passes of a pair of windows of pmq and {method}": content.get("pair_costs"),
        **flat(content.get("stable", {}), "schedule stable: "),
        **flat(content.get("text", {}), "text."),
        f"source of method {method}": file.get("source"),
        **{f"module {name} of method {method}": digest for name, digest in file.get("modules", {}).items()},
    }


def compared(ours: Parts, old: Parts) -> tuple[str, ...]:
    """The parts that differ: name, today's value and the stored one."""
    ours, old = (json.loads(json.dumps(parts)) for parts in (ours, old))
    return tuple(
        one_line(name if name.startswith(HIDDEN) else f"{name} {shown(ours.get(name))}, was {shown(old.get(name))}")
        for name in dict.fromkeys([*ours, *old])
        if ours.get(name) != old.get(name)
    )


def one_line(text: str) -> str:
    """A part and its values without line breaks, not longer than a line: stored texts may be of others."""
    whole = " ".join(text.splitlines())
    return whole if len(whole) <= LONGEST_PART else f"{whole[:LONGEST_PART]} ..."


def shown(value: object) -> str:
    """A part's value as text."""
    return "not set" if value is None else value if isinstance(value, str) else json.dumps(value)
