"""The plan of a run, stored for reports beside the rows: config, variants, datasets and cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmark.config.config import Config
from benchmark.data.corpus.source import pretrained_entries
from benchmark.data.corpus.text import has_text
from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.skipped import skip_summary
from benchmark.data.tasks.columns import Column
from benchmark.results.keys import digest
from benchmark.results.plan import Plan, PlannedCell
from benchmark.results.tuned import Tuning
from benchmark.run.data.own import elsewhere_facts
from benchmark.run.grid.cells import Grid


def make_plan(
    config: Config,
    prepared: Mapping[str, Prepared],
    grid: Grid,
    warnings: Sequence[str] = (),
    tunings: Sequence[Tuning] = (),
) -> Plan:
    """The plan of a run; `warnings` are printed under every table, `tunings` are the searches that knobs are from."""
    cells = [
        PlannedCell(cell.key, cell.variant.name, cell.table, cell.dataset, cell.ratio, cell.seed) for cell in grid.cells
    ]
    corpus = prepared[config.data.pretrain]
    elsewhere = {name: {"elsewhere": facts} for name, facts in elsewhere_facts(config, prepared, grid).items()}
    content: dict[str, Any] = {
        "config": config.model_dump(mode="json"),
        "variants": {variant.name: variant.title for variant in grid.variants},
        "roles": {variant.name: variant.facts() | elsewhere.get(variant.name, {}) for variant in grid.variants},
        "datasets": {column.name: column_facts(prepared[column.name], column) for column in config.data.columns()},
        "pretraining": facts_of(corpus) | pretrained_on(corpus, config),
    }
    if tunings:  # absent without, so that keys of earlier plans stay valid
        content["tunings"] = [tuning.key for tuning in tunings]
    key = digest([content, [cell.key for cell in cells]])
    return Plan(key=key, cells=cells, warnings=list(warnings), **content)


def column_facts(prepared: Prepared, column: Column) -> dict[str, Any]:
    """Facts of a column; of a named task also its dataset and name."""
    if column.named is None:  # absent for `default`, so that keys of earlier plans stay valid
        return facts_of(prepared)
    return facts_of(prepared) | {"of": column.dataset, "task": column.task}


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
