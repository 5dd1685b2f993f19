"""Whether a run's data are simulated, and which data they are, as its rows say: a plan can be edited, a row cannot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from benchmark.results.plan import Plan
from benchmark.results.rows import Row

Facts = Mapping[str, Any]


def as_rows_say(plan: Plan, rows: Iterable[Row]) -> Plan:
    """The plan with the rows' fingerprints, and a source marked as simulated where the plan or a row says so.

    A warning names every source on which they disagree. Rows of earlier versions say nothing.
    """
    told: dict[str, list[Facts]] = {name: [] for name in plan.datasets}
    corpus: list[Facts] = []
    for row in rows:
        if row.dataset in told:
            told[row.dataset].append(row.provenance.get("data", {}))
        corpus.append(row.provenance.get("corpus", {}))
    warnings = list(plan.warnings)
    datasets = {name: _told(facts, told[name], warnings) for name, facts in plan.datasets.items()}
    pretraining = _told(plan.pretraining, corpus, warnings)
    return replace(plan, datasets=datasets, pretraining=pretraining, warnings=list(dict.fromkeys(warnings)))


def _told(planned: Facts, rows: list[Facts], warnings: list[str]) -> dict[str, Any]:
    """The facts of a source as its rows say; adds the warnings."""
    title, facts = planned.get("title", "the data"), dict(planned)
    if simulated := set(_values(rows, "simulated")):
        facts["simulated"] = bool(planned.get("simulated")) or True in simulated
        if simulated != {bool(planned.get("simulated"))}:
            warnings.append(f"the plan and the rows disagree on whether {title} is simulated; it counts as simulated")
    fingerprints = set(_values(rows, "fingerprint"))
    if planned.get("fingerprint") and fingerprints - {planned["fingerprint"]}:
        facts["fingerprint"] = " and ".join(sorted(fingerprints))
        warnings.append(f"the rows were computed on other data of {title} than the plan names")
    return facts


def _values(rows: list[Facts], name: str) -> Iterator[Any]:
    return (row[name] for row in rows if row.get(name) is not None)
