"""Merges comparable runs into one store, so that a report covers all of them.

Runs comparable with the first (`compatible`) are merged cell by cell; the others are reported with the reason. Two
computations of a cell are never averaged: under different keys, the first run's is used; under one key with different
outcomes, the cell is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmark.results.keys import digest
from benchmark.results.names import CARD
from benchmark.results.people.stored import PEOPLE
from benchmark.results.plan import Plan, PlannedCell
from benchmark.results.store import Store
from benchmark.results.tuned import TUNED
from reports.runs.compatible import comparable, same_outcome
from reports.runs.run import Run, fingerprints_of, open_run

NAMED = 3
"""Items that a line names; the rest are counted."""
Place = tuple[str, str, str, float, int]
"""Evaluation, variant, dataset, ratio and seed of a cell."""


@dataclass(frozen=True)
class _Found:
    """The run that holds the row of a key, or why none is used."""

    run: Run | None
    problem: str = ""
    """Printed under the tables: without paths."""
    conflict: str = ""
    """Which stores disagree."""


def merge(runs: Sequence[Run], folder: Path) -> tuple[Run, list[str]]:
    """The first run and those comparable with it as one run in a new store; and messages, one line each.

    folder: of the new store, which links to the runs' files. Unused where no other run is comparable.
    """
    pooled, apart = comparable(runs)
    said = [f"put together: {', '.join(run.name for run in pooled)}"] if len(pooled) > 1 else []
    said += [f"not put together: {run.name}: {some(reasons)}" for run, reasons in apart]
    if len(pooled) == 1:
        return pooled[0], said
    found: dict[str, _Found] = {}
    for run in pooled:
        for cell in run.plan.cells:
            if cell.key not in found:
                found[cell.key] = _find(cell.key, pooled)
    cells, twice = _chosen(pooled, found)
    plan = _plan_of(pooled, cells)
    store = Store(folder)
    _fill(store, plan, found, pooled)
    merged = replace(open_run(folder, plan.key), name=" + ".join(run.name for run in pooled))
    said += _computed_twice(plan, twice)
    damaged = [line for run in pooled for line in run.damaged.values()]
    conflicts = [found[cell.key].conflict for cell in cells if found[cell.key].conflict]
    said += [f"left out: {line}" for line in dict.fromkeys([*damaged, *conflicts])]
    return merged, said


def _find(key: str, runs: Sequence[Run]) -> _Found:
    """The first undamaged row of a key; none where all are damaged or two stores have different outcomes."""
    holders = [run for run in runs if key in run.rows]
    if not holders:
        damaged = any(key in run.damaged for run in runs)
        return _Found(None, "left out, the stored row is damaged" if damaged else "")
    first, *rest = holders
    for run in rest:
        if not same_outcome(first, key, run, key):
            conflict = (
                f"cell {key}: {first.name} and {run.name} hold different outcomes of it; name one of the two alone"
            )
            return _Found(None, "left out, two stores hold different outcomes", conflict)
    return _Found(first)


def place_of(cell: PlannedCell) -> Place:
    """The cell's coordinates, independent of its key."""
    return cell.evaluation, cell.variant, cell.dataset, cell.ratio, cell.seed


def _chosen(runs: Sequence[Run], found: dict[str, _Found]) -> tuple[list[PlannedCell], list[PlannedCell]]:
    """One cell per place, the first finished one; and finished duplicates under another key."""
    cells: dict[Place, PlannedCell] = {}
    twice = []
    for cell in (cell for run in runs for cell in run.plan.cells):
        chosen = cells.setdefault(place_of(cell), cell)
        if chosen.key == cell.key or found[cell.key].run is None:
            continue
        if found[chosen.key].run is None:
            cells[place_of(cell)] = cell
        else:
            twice.append(cell)
    return list(cells.values()), twice


def _plan_of(runs: Sequence[Run], cells: list[PlannedCell]) -> Plan:
    """The first run's plan with the rows, columns and cells of all."""
    plans = [run.plan for run in runs]
    config = dict(plans[0].config)
    for name in ("methods", "ablate", "gates", "evaluate", "ratios", "seeds"):
        if name in config:
            config[name] = _union(plan.config.get(name, []) for plan in plans)
    datasets = _first_wins(plan.datasets for plan in plans)
    tasks = {name: facts for name, facts in datasets.items() if facts.get("task")}
    named = list(dict.fromkeys(tasks.get(name, {}).get("of", name) for name in datasets))
    config["data"] = config.get("data", {}) | {"datasets": named}
    if tasks:
        told = ["default"] if len(tasks) < len(datasets) else []
        config["data"]["task"] = _union([told, [str(facts["task"]) for facts in tasks.values()]])
    plan = replace(
        plans[0],
        config=config,
        tunings=_union(plan.tunings for plan in plans),
        variants=_first_wins(plan.variants for plan in plans),
        datasets=datasets,
        roles=_first_wins(plan.roles for plan in plans),
        cells=cells,
    )
    warnings = _union([*(own.warnings for own in plans), _devices(runs), _seeds(plan)])
    plan = replace(plan, warnings=warnings)
    return replace(plan, key=digest([config, plan.variants, warnings, [cell.key for cell in cells]]))


def _devices(runs: Sequence[Run]) -> list[str]:
    """A warning where cells were computed on several types of device."""
    rows = (row for run in runs for row in run.rows.values())
    types = sorted({str(row.provenance["device"]["type"]) for row in rows if row.provenance.get("device")})
    return [f"the cells were computed on several types of device: {', '.join(types)}"] if len(types) > 1 else []


def _seeds(plan: Plan) -> list[str]:
    """A warning where some rows have fewer planned seeds than others."""
    seeds: dict[str, set[int]] = {}
    for cell in plan.cells:
        seeds.setdefault(cell.variant, set()).add(cell.seed)
    every = set().union(*seeds.values())
    fewer = [
        f"{plan.variants[name]} has {', '.join(map(str, sorted(own)))}" for name, own in seeds.items() if own < every
    ]
    return [f"not every row has every seed: {some(fewer)}"] if fewer else []


def _union(lists: Iterable[list[Any]]) -> list[Any]:
    return list(dict.fromkeys(value for values in lists for value in values))


def _first_wins(tables: Iterable[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for table in tables:
        for name, value in table.items():
            found.setdefault(name, value)
    return found


def _fill(store: Store, plan: Plan, found: dict[str, _Found], runs: Sequence[Run]) -> None:
    """Add plan, failures and links to rows, predictions, cards and searches to a new store."""
    store.save_plan(plan)
    for run in runs:
        _link(store, run.store, [Path(TUNED) / f"{key}.json" for key in run.plan.tunings])
        _link(store, run.store, [Path(PEOPLE) / f"{own}.json" for own in fingerprints_of(run)])
    for key in dict.fromkeys(cell.key for cell in plan.cells):
        source = found[key]
        if source.run is not None:
            row = source.run.rows[key]
            card = [Path("pretrained") / row.pretrain_key / CARD] if row.pretrain_key else []
            _link(store, source.run.store, [*(Path("cells") / f"{key}.{kind}" for kind in ("json", "npz")), *card])
            continue
        failures = [run.failures[key] for run in runs if key in run.failures]
        if source.problem:
            store.save_failure(key, "merge", source.problem)
        elif failures:
            store.save_failure(key, "merge", failures[0].error, failures[0].traceback)


def _link(store: Store, source: Store, names: Sequence[Path]) -> None:
    """Links to files of another store, but for those that are there already or that it lacks."""
    for name in names:
        target, original = store.root / name, source.root / name
        if original.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(original.resolve())


def _computed_twice(plan: Plan, cells: Sequence[PlannedCell]) -> Iterator[str]:
    if cells:
        names = [f"{plan.variants[c.variant]}, {c.dataset}, ratio {c.ratio:g}, seed {c.seed}" for c in cells]
        yield f"{counted(len(cells), 'cell')} computed twice in different ways, the first run's shown: {some(names)}"


def counted(number: int, word: str) -> str:
    """'1 row', '2 rows'."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def some(names: Sequence[str]) -> str:
    """The first `NAMED` names, and the number of the rest."""
    rest = len(names) - NAMED
    return "; ".join(names[:NAMED]) + (f"; and {rest} more" if rest > 0 else "")
