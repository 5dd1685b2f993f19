"""The plan of a run, stored for reports beside its rows: what is compared, on which data, in which cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmark.config.config import Config
from benchmark.data.corpus import pretrained_entries
from benchmark.data.prepare import Prepared, skip_summary
from benchmark.data.report_text import has_text
from benchmark.data.splits import is_cross_validated
from benchmark.data.tasks import DatasetTask
from benchmark.results.schema import digest
from benchmark.results.store import Plan, PlannedCell
from benchmark.run.datasets import facts_of_external
from benchmark.run.grid import Grid


def make_plan(
    config: Config,
    prepared: Mapping[str, Prepared],
    grid: Grid,
    warnings: Sequence[str] = (),
    health_windows: str = "",
) -> Plan:
    """Make the plan of a run; warnings stand under every table, health is of windows with this digest."""
    cells = [
        PlannedCell(cell.key, cell.variant.name, cell.table, cell.dataset, cell.ratio, cell.seed, cell.subset)
        for cell in grid.cells
    ]
    corpus, columns = prepared[config.data.pretrain], config.data.columns()
    used = pretrained_entries(corpus, config.task_spec(config.pretrain))
    external = facts_of_external(config, prepared, grid.variants)
    content: dict[str, Any] = {
        "config": config.model_dump(mode="json"),
        "variants": {variant.name: variant.title for variant in grid.variants},
        "roles": {variant.name: variant.facts() | external.get(variant.name, {}) for variant in grid.variants},
        "datasets": {column.name: column_facts(prepared[column.name], column, config) for column in columns},
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
    """Collect facts of a column; of a cross-validated one its parts, of a named task its dataset and name."""
    spec = config.task_spec(config.finetune, column.name)
    parts = {"parts": spec.folds} if is_cross_validated(prepared, spec) else {}
    named = {} if column.named is None else {"of": column.dataset, "task": column.task}
    return facts_of(prepared) | parts | named


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
