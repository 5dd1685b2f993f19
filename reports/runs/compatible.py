"""Decides whether two runs are comparable, so that their cells may share a table.

They are when their configs differ in the choice of cells only, shared datasets have the same fingerprint and test
windows, and their rows have the same precision and results version of each stage.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from benchmark.results.names import FEATURES, PRESET, name_on_any
from benchmark.results.plan import Plan
from benchmark.results.rows import ARRAYS, Row
from benchmark.results.store import Store
from reports.runs.planned_tables import role_of
from reports.runs.run import Run
from reports.runs.scrub_paths import portable

CHOICE = (
    "name", "caption", "methods", "ablate", "ablations", "sweeps", "gates", "evaluate", "ratios", "seeds",
    "data.datasets", "data.task", "data.cards", "data.simulation", "precision", "pretrain.snapshots",
    "pretrain.presets", "pretrain.tuned",
)  # fmt: skip
"""Config keys that may differ: they choose cells, or their effect (ablations, data, precision, tuned knobs) is compared
itself."""


def comparable(runs: Iterable[Run]) -> tuple[list[Run], list[tuple[Run, tuple[str, ...]]]]:
    """The first run and those comparable with all kept before them; the rest, each with its reasons."""
    pooled: list[Run] = []
    apart: list[tuple[Run, tuple[str, ...]]] = []
    for run in runs:
        reasons = next(filter(None, (why_not(run, other) for other in pooled)), ())
        if reasons:
            apart.append((run, reasons))
        else:
            pooled.append(run)
    return pooled, apart


def why_not(run: Run, other: Run) -> tuple[str, ...]:
    """Why a run is not comparable with another, one phrase each; empty where it is."""
    one, two = run.plan, other.plan
    settings = (
        f"{key} is {shown(own)}, not {shown(others)}"
        for key, own, others in config_differences(one, two)
        if not any(key == choice or key.startswith(f"{choice}.") for choice in CHOICE)
    )
    return (*settings, *_redefined(one, two), *_other_data(one, two), *_other_tests(run, other), *_made(run, other))


def config_differences(one: Plan, two: Plan) -> list[tuple[str, Any, Any]]:
    """(dotted key, value of the first, of the second) where two configs differ; None where a key is not set."""
    first, second = (flat(portable(plan.config)) for plan in (one, two))
    keys = sorted(first.keys() | second.keys())
    return [(key, first.get(key), second.get(key)) for key in keys if first.get(key) != second.get(key)]


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested sections as dotted keys."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return found


def shown(value: Any) -> str:
    """A config value as text; 'unset' for None."""
    if value is None:
        return "unset"
    return value if isinstance(value, str) else json.dumps(value)


def windows_digest(store: Store, row: Row) -> str:
    """SHA-256 of the test windows of a row: recording, patient and label of each, in order."""
    found = store.predictions(row.key)
    content = hashlib.sha256()
    for names in (found.recording, found.patient):
        content.update(json.dumps(names.tolist()).encode())
    content.update(json.dumps(found.truth.tolist()).encode())
    return content.hexdigest()


def tested_on(run: Run) -> dict[str, str]:
    """Dataset -> digest of the test windows of its first finished cell."""
    first: dict[str, Row] = {}
    for row in run.rows.values():
        first.setdefault(row.dataset, row)
    return {dataset: windows_digest(run.store, row) for dataset, row in first.items()}


def same_outcome(one: Run, key: str, other: Run, other_key: str) -> bool:
    """Whether two finished cells have bit-identical scores and predictions; times and machines may differ."""
    first, second = one.rows[key], other.rows[other_key]
    if (first.scores, first.undefined) != (second.scores, second.undefined):
        return False
    if one.store.root == other.store.root and key == other_key:
        return True
    found, again = one.store.predictions(key), other.store.predictions(other_key)
    return all(
        getattr(found, name).shape == getattr(again, name).shape
        and getattr(found, name).tobytes() == getattr(again, name).tobytes()
        for name in ARRAYS
    )


def made(run: Run) -> dict[str, set[str]]:
    """Precision and results version of each stage -> their values among the finished cells."""
    found: dict[str, set[str]] = {}
    for row in run.rows.values():
        stages = row.provenance.get("results_versions", {})
        facts = {f"results version of {stage}": number for stage, number in stages.items()}
        if row.evaluation != FEATURES:  # features do not depend on precision
            facts["precision"] = row.provenance.get("precision")
        for name, fact in facts.items():
            found.setdefault(name, set()).add(shown(fact))
    return found


def _redefined(one: Plan, two: Plan) -> Iterator[str]:
    """Ablations of the same name, or rows under the preset `tuned`, with different overrides."""
    for variant in one.variants:
        if variant in two.variants and _overrides(one, variant) != _overrides(two, variant):
            yield f"{variant} is {shown(_overrides(one, variant))}, not {shown(_overrides(two, variant))}"


def _overrides(plan: Plan, variant: str) -> Any:
    role = role_of(plan, variant)
    if role["role"] == PRESET:
        of = name_on_any(str(role["of"]), str(role.get("encoder", "")))
        return plan.config.get("pretrain", {}).get(role["value"], {}).get(of)
    method, _, name = name_on_any(variant, str(role.get("encoder", ""))).partition(":")
    return plan.config.get("ablations", {}).get(method, {}).get(name)


def _other_data(one: Plan, two: Plan) -> Iterator[str]:
    both = [name for name in one.datasets if name in two.datasets]
    sources = [(one.datasets[name], two.datasets[name], str(one.datasets[name].get("title") or name)) for name in both]
    sources.append((one.pretraining, two.pretraining, "the pretraining corpus"))
    for own, others, title in sources:
        if own.get("fingerprint") != others.get("fingerprint"):
            yield f"{title} is other data ({size_text(own)}, not {size_text(others)})"


def size_text(facts: Mapping[str, Any]) -> str:
    """How many recordings a dataset has, and its fingerprint."""
    count = f"{facts.get('recordings')} recordings"
    return f"{count}, fingerprint {facts['fingerprint']}" if facts.get("fingerprint") else count


def _other_tests(run: Run, other: Run) -> Iterator[str]:
    own, others = tested_on(run), tested_on(other)
    for dataset in own:
        if dataset in others and own[dataset] != others[dataset]:
            yield f"{dataset} was tested on other windows"


def _made(run: Run, other: Run) -> Iterator[str]:
    own, others = made(run), made(other)
    for name in own:
        if name in others and own[name] != others[name]:
            yield f"{name} is {' and '.join(sorted(own[name]))}, not {' and '.join(sorted(others[name]))}"
