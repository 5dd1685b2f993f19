"""The searches that a run's knobs are from: what `tune` stored of each (benchmark.results.tuned)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from benchmark.results.store import NoResults
from benchmark.results.tuned import Tuning, load_tuning


def read_searches(root: Path, keys: Iterable[str]) -> tuple[list[Tuning], list[str]]:
    """The searches with these keys in a results store; and a line on each that is missing or damaged."""
    found, problems = [], []
    for key in keys:
        try:
            tuning = load_tuning(root, key)
        except NoResults as error:
            problems.append(str(error))
            continue
        if tuning is None:
            problems.append(f"the search {key}, which knobs are from, is not in {root}")
        else:
            found.append(tuning)
    return found, problems
