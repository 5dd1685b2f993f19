"""Loads the results of runs as two pandas frames, `scores` and `cells`, with their plan and predictions.

    from reports import load
    results = load("runs")              # DIR or FILE: the latest run of a results folder, or the run of an archive
    results = load(["runs@KEY", "a.zip"])   # DIR@KEY: that run; DIR@all: every run of the folder, the latest first
    results.scores.query("metric == 'f1'").groupby(["variant", "dataset"])["value"].mean()

Several runs become one where their settings and data are the same; of cells that two runs share, the first run's is
taken. Other runs are named in `messages` with what differs.
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmark.results.names import CLASSICAL_TITLES, name_on_any
from benchmark.results.schema import digest, flat
from benchmark.results.store import Plan, PlannedCell, Row, Store
from reports.archive import unpack
from reports.results import Results, coordinates, role_of, run_of

ALL = "all"
MAX_LISTED = 3
CHOICE = (
    "name", "caption", "methods", "ablate", "ablations", "sweeps", "gates", "evaluate", "ratios", "seeds", "printed",
    "data.datasets", "data.task", "data.cards", "data.simulation", "precision",
)  # fmt: skip
"""Config keys in which runs of one table may differ: they choose cells, or their effect is compared itself."""


def load(sources: str | Path | Sequence[str | Path]) -> Results:
    """Load the run that the sources name, several merged. Raises NoResults, in one line, where a source holds no run.

    sources: results folders and archives, each with @KEY of a plan or @all if not the latest run is meant.
    """
    named = [sources] if isinstance(sources, str | Path) else list(sources)
    runs = [run for source in named for run in _runs_of(str(source))]
    return merge(list({run.name: run for run in runs}.values()))


def _runs_of(source: str) -> Iterator[Results]:
    name, _, key = source.rpartition("@")
    if not name or Path(source).exists():  # a folder's name may hold an @
        name, key = source, ""
    path, store = Path(name), Store(Path(name))
    if path.is_file():
        scratch = Path(tempfile.mkdtemp(prefix="results-"))
        atexit.register(shutil.rmtree, scratch, ignore_errors=True)
        store = unpack(path, scratch / "archive")
    latest, *others = store.plan_keys()
    for chosen in (latest, *others) if key == ALL else [key or latest]:
        run = run_of(store, store.load_plan(chosen), path)
        if others and not key:
            more = f"{path} holds {counted(len(others), 'other run')}, not shown: {listed(others)}"
            run = replace(run, messages=(f"{more}; {path}@KEY shows one, {path}@{ALL} all that compare",))
        yield run


def merge(runs: Sequence[Results]) -> Results:
    """The first run and those of the same settings and data as one; the others are named in its messages."""
    merged: list[Results] = []
    messages = [line for run in runs for line in run.messages]
    for run in runs:
        differences = next(filter(None, (incompatible(run, other) for other in merged)), [])
        if differences:
            messages.append(f"not put together: {run.name}: {listed(differences)}")
        else:
            merged.append(run)
    first, *others = merged
    if not others:
        return replace(first, messages=tuple(messages))
    messages.insert(0, f"put together: {', '.join(run.name for run in merged)}")
    rows: dict[str, Row] = {}
    for run in merged:
        for key, row in run.rows.items():
            if rows.setdefault(key, row).scores != row.scores:
                messages.append(f"cell {key} has other scores in {run.name}: those of the run before are shown")
    cells: dict[tuple[Any, ...], PlannedCell] = {}
    for cell in (cell for run in merged for cell in run.plan.cells):
        chosen = cells.setdefault(coordinates(cell), cell)
        if chosen.key not in rows and cell.key in rows:
            cells[coordinates(cell)] = cell
    failures, damaged = (
        {key: value for run in reversed(merged) for key, value in getattr(run, name).items() if key not in rows}
        for name in ("failures", "damaged")
    )
    plan = _merged_plan([run.plan for run in merged], list(cells.values()), _warnings(merged, cells.values()))
    name, stores = " + ".join(run.name for run in merged), tuple(store for run in merged for store in run.stores)
    return Results(name, plan, rows, failures, damaged, stores, tuple(messages))


def _merged_plan(plans: Sequence[Plan], cells: list[PlannedCell], warnings: list[str]) -> Plan:
    """The first plan with the rows, columns and cells of all."""
    first, config = plans[0], dict(plans[0].config)
    for name in ("methods", "ablate", "gates", "evaluate", "ratios", "seeds", "printed"):
        if any(name in plan.config for plan in plans):
            config[name] = _union(plan.config.get(name, []) for plan in plans)
    variants, datasets, roles = (
        {name: value for plan in reversed(plans) for name, value in getattr(plan, field).items()}
        for field in ("variants", "datasets", "roles")
    )
    order = {field: _union(getattr(plan, field) for plan in plans) for field in ("variants", "datasets")}
    every = _union([*(plan.warnings for plan in plans), warnings])
    return replace(
        first,
        key=digest([config, variants, every, [cell.key for cell in cells]]),
        config=config,
        variants={name: variants[name] for name in order["variants"]},
        datasets={name: datasets[name] for name in order["datasets"]},
        roles=roles,
        cells=cells,
        warnings=every,
    )


def _union(lists: Iterable[Iterable[Any]]) -> list[Any]:
    return list(dict.fromkeys(value for values in lists for value in values))


def _warnings(runs: Sequence[Results], cells: Iterable[PlannedCell]) -> list[str]:
    """Warnings where cells were computed on several types of device, and where rows have other seeds."""
    devices = (row.provenance.get("device") or {} for run in runs for row in run.rows.values())
    types = sorted({str(device["type"]) for device in devices if device})
    warnings = [f"the cells were computed on several types of device: {', '.join(types)}"] if len(types) > 1 else []
    seeds: dict[str, set[int]] = {}
    for cell in cells:
        seeds.setdefault(cell.variant, set()).add(cell.seed)
    every = set().union(*seeds.values())
    fewer = [f"{name} has {', '.join(map(str, sorted(some)))}" for name, some in seeds.items() if some < every]
    return warnings + ([f"not every row has every seed: {listed(fewer)}"] if fewer else [])


def incompatible(run: Results, other: Results) -> list[str]:
    """Why two runs do not belong into one table, one phrase each: settings, data, versions; empty where they do."""
    one, two = run.plan, other.plan
    reasons = [
        f"{key} is {shown(value)}, not {shown(others)}"
        for key, value, others in config_differences(one, two)
        if not any(key == choice or key.startswith(f"{choice}.") for choice in CHOICE)
    ]
    for variant in one.variants:
        overrides = _overrides(one, variant), _overrides(two, variant)
        if variant in two.variants and overrides[0] != overrides[1]:
            reasons.append(f"{variant} is {shown(overrides[0])}, not {shown(overrides[1])}")
    shared = {name: facts for name, facts in one.datasets.items() if name in two.datasets}
    sources = [(facts, two.datasets[name]) for name, facts in shared.items()] + [(one.pretraining, two.pretraining)]
    for facts, others in sources:
        if facts.get("fingerprint") != others.get("fingerprint"):
            reasons.append(f"{facts.get('title', 'the pretraining corpus')} is other data")
    versions, other_versions = _versions(run), _versions(other)
    for name, values in versions.items():
        if name in other_versions and values != other_versions[name]:
            reasons.append(
                f"{name} is {' and '.join(sorted(values))}, not {' and '.join(sorted(other_versions[name]))}"
            )
    return reasons


def config_differences(one: Plan, two: Plan) -> list[tuple[str, Any, Any]]:
    """(dotted key, value of the first, of the second) where two configs differ; None where a key is not set."""
    first, second = ({key: portable(value) for key, value in flat(plan.config).items()} for plan in (one, two))
    keys = sorted(first.keys() | second.keys())
    return [(key, first.get(key), second.get(key)) for key in keys if first.get(key) != second.get(key)]


def portable(value: Any) -> Any:
    """Shorten absolute paths, alone or in a list, to their last part, since they differ between machines."""
    if isinstance(value, list):
        return [portable(item) for item in value]
    return Path(value).name if isinstance(value, str) and value.startswith(("/", "~")) else value


def shown(value: Any) -> str:
    """A config value as text; 'unset' for None."""
    if value is None:
        return "unset"
    return value if isinstance(value, str) else json.dumps(value)


def _overrides(plan: Plan, variant: str) -> Any:
    encoder = str(role_of(plan, variant).get("encoder", ""))
    method, _, name = name_on_any(variant, encoder).partition(":")
    return plan.config.get("ablations", {}).get(method, {}).get(name)


def _versions(run: Results) -> dict[str, set[str]]:
    """Precision and results version of each stage -> their values among the finished cells."""
    values: dict[str, set[str]] = {}
    for row in run.rows.values():
        stages = row.provenance.get("results_versions", {})
        facts = {f"results version of {stage}": number for stage, number in stages.items()}
        if row.evaluation not in CLASSICAL_TITLES:  # without an encoder nothing depends on precision
            facts["precision"] = row.provenance.get("precision")
        for name, fact in facts.items():
            values.setdefault(name, set()).add(shown(fact))
    return values


def counted(number: int, word: str) -> str:
    """'1 row', '2 rows'."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def listed(names: Sequence[str]) -> str:
    """The first `MAX_LISTED` names, and the number of the rest."""
    rest = len(names) - MAX_LISTED
    return "; ".join(names[:MAX_LISTED]) + (f"; and {rest} more" if rest > 0 else "")
