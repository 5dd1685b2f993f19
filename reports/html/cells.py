"""The cells behind a page's numbers and their provenance, as text for the page's JSON block.

A number refers to its cells by index. Facts that cells share (commit, device, versions, data, differences from the
plan's config) are stored once, as an origin.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from benchmark.results.plan import PlannedCell, with_todays_keys
from benchmark.results.rows import Row
from reports.runs.cards import machine_of
from reports.runs.failures import unfinished
from reports.runs.run import Run
from reports.tables.captions import ratio_text
from reports.tables.values import Block, Column, Line, Table

Facts = list[list[str]]
"""(label, text) pairs, in reading order."""
CHOSEN = {"best_epoch": "epoch", "C": "C ="}
"""Quantity chosen on validation -> its label."""
CONFIG_LIMIT = 40
"""Most differences from the plan's config that are listed."""


class Behind:
    """Maps a number of a table to its cells."""

    def __init__(self, run: Run) -> None:
        """Index the cells of a plan in its order, each key once."""
        self.keys = list(dict.fromkeys(cell.key for cell in run.plan.cells))
        numbers = {key: number for number, key in enumerate(self.keys)}
        self._places: dict[tuple[str, str, float, str], list[int]] = {}
        for cell in run.plan.cells:
            place = (cell.evaluation, cell.variant, cell.ratio, cell.dataset)
            self._places.setdefault(place, []).append(numbers[cell.key])

    def __call__(self, table: Table, block: Block, line: Line, column: Column) -> str:
        """Indices of the planned cells of a score, '0 1 2'; '' for none. Overall: of all columns."""
        datasets = [column.dataset] if column.dataset else dict.fromkeys(each.dataset for each in table.columns)
        places = [(table.evaluation, line.variant, block.ratio, dataset) for dataset in datasets]
        found = dict.fromkeys(number for place in places for number in self._places.get(place, []))
        return " ".join(map(str, found))


def cell_data(run: Run) -> dict[str, Any]:
    """'cells', in the order of `Behind`, and 'origins', to which finished cells refer; all values are text."""
    planned = {cell.key: cell for cell in run.plan.cells}
    origins: dict[str, int] = {}
    configs: dict[int, str] = {}
    cells = []
    for key in Behind(run).keys:
        told = _planned(run, planned[key])
        row = run.rows.get(key)
        if row is not None:
            config = row.provenance.get("config")
            if id(config) not in configs:  # equal configs of rows are one object (reports.runs.run)
                configs[id(config)] = config_text(config, run.plan.config)
            origin = json.dumps(origin_of(row, configs[id(config)]))
            told |= _finished(row) | {"origin": origins.setdefault(origin, len(origins))}
        cells.append(told)
    return {"cells": cells, "origins": [json.loads(origin) for origin in origins]}


def _planned(run: Run, cell: PlannedCell) -> dict[str, Any]:
    """Place and state of a cell."""
    told = {
        "key": cell.key,
        "dataset": str(run.plan.datasets[cell.dataset]["title"]),
        "labels": ratio_text(cell.ratio, cell.evaluation),
        "seed": str(cell.seed),
    }
    for found in unfinished(run, [cell]):
        return told | {"state": found.state, "why": found.error}
    return told | {"state": "finished" if cell.key in run.rows else "not run"}


def _finished(row: Row) -> dict[str, Any]:
    chosen = [f"{word} {row.training[name]}" for name, word in CHOSEN.items() if row.training.get(name) is not None]
    seconds = row.training.get("seconds")
    return {
        "scores": {
            unit: {name: _score(row, unit, name, value) for name, value in metrics.items()}
            for unit, metrics in row.scores.items()
        },
        "chosen": ", ".join(chosen),
        "seconds": "" if seconds is None else f"{seconds:.1f}",
        "pretraining": row.pretrain_key,
        "encoder_seed": "" if row.pretrain_seed is None else str(row.pretrain_seed),
        "counts": ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in row.counts.items()),
        "notes": row.notes,
    }


def _score(row: Row, unit: str, metric: str, value: float | None) -> str:
    """Percent with two decimals, or a dash with the reason."""
    if value is not None:
        return f"{100 * value:.2f}"
    return f"– ({row.undefined.get(unit, {}).get(metric) or 'undefined'})"


def config_text(config: Mapping[str, Any] | None, plan: Mapping[str, Any]) -> str:
    """Differences of a row's config from the plan's, for a reader; '' for a row without a config."""
    return "" if config is None else "; ".join(config_differences(with_todays_keys(dict(config)), plan))


def origin_of(row: Row, config: str) -> Facts:
    """Provenance of a row: code, machine, versions, data, and the text of its config (`config_text`)."""
    told = row.provenance
    git, data = told.get("git") or {}, told.get("data") or {}
    commit = str(git.get("commit") or "not recorded")
    if git.get("dirty"):
        commit += f", with uncommitted changes {git.get('diff') or ''}".rstrip()
    facts = {
        "Code": commit,
        "Machine": machine_of(told) if "device" in told else "",
        "Versions": ", ".join(f"{name} {version}" for name, version in (told.get("versions") or {}).items()),
        "Data": ", ".join(f"{name} {value}" for name, value in data.items()),
        "Config": config,
    }
    return [[label, text or "not recorded"] for label, text in facts.items()]


def config_differences(own: Mapping[str, Any], plan: Mapping[str, Any]) -> list[str]:
    """'pretrain.epochs: 5 (plan: 3)' for each dotted key that differs; "as the plan's" for none."""
    cell, planned = dict(dotted(own)), dict(dotted(plan))
    names = [name for name in {**planned, **cell} if cell.get(name) != planned.get(name)]
    told = [f"{name}: {cell.get(name, 'not there')} (plan: {planned.get(name, 'not there')})" for name in names]
    rest = [f"and {len(told) - CONFIG_LIMIT} more"] if len(told) > CONFIG_LIMIT else []
    return [*told[:CONFIG_LIMIT], *rest] or ["as the plan's"]


def dotted(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """('pretrain.epochs', '3') for each value of a nested config."""
    for name, value in config.items():
        if isinstance(value, Mapping) and value:
            yield from dotted(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value if isinstance(value, str) else json.dumps(value)
