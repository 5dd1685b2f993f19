"""Opens the results folders and capsules that a user names as one store with one run.

    DIR or FILE        the latest run of a results folder, or the run of a capsule
    DIR@KEY            that run
    DIR@all            every run of the folder, the latest first

Other runs and unused rows of a store are reported, so that a part is not mistaken for the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmark.results.store import NoResults, Store
from reports.runs.capsule import unpack
from reports.runs.merge import counted, merge, some
from reports.runs.run import Run, open_run

ALL = "all"


@dataclass(frozen=True)
class Opened:
    """The run to report."""

    run: Run
    said: tuple[str, ...]
    """Messages on merging, left-out rows and other runs, one line each."""


@contextmanager
def open_results(sources: Sequence[str]) -> Iterator[Opened]:
    """The run that the sources name, several merged; unpacked capsules are deleted on exit.

    Raises NoResults, in one line, where a source holds no run or a capsule is damaged.
    """
    with TemporaryDirectory(prefix="results-") as scratch:
        runs = [run for number, source in enumerate(sources) for run in runs_of(source, Path(scratch) / str(number))]
        by_store: dict[Path, dict[str, Run]] = {}
        for run in runs:
            by_store.setdefault(run.store.root.resolve(), {}).setdefault(run.plan.key, run)
        runs = [run for opened in by_store.values() for run in opened.values()]
        besides = [line for opened in by_store.values() for line in _besides(list(opened.values()))]
        run, said = (runs[0], []) if len(runs) == 1 else merge(runs, Path(scratch) / "merged")
        yield Opened(run, (*said, *besides))


def runs_of(source: str, scratch: Path) -> list[Run]:
    """The runs that a source names, the latest first; a capsule is unpacked to `scratch`. Raises NoResults."""
    path, key = _parse(source)
    store = unpack(path, scratch) if path.is_file() else Store(path)
    if key == ALL:
        return every_run(path, store)
    return [open_run(store.root, key or None, source=path)]


def every_run(path: Path, store: Store) -> list[Run]:
    """All runs of a store with a readable plan, the latest first. Raises NoResults where there is none."""
    runs = []
    keys = store.plan_keys()
    for key in keys:
        with suppress(NoResults):  # a damaged plan is named by `_besides`
            runs.append(open_run(store.root, key, source=path))
    if not runs:
        raise NoResults(f"no results in {path}: none of its {counted(len(keys), 'plan')} can be read")
    return runs


def _parse(source: str) -> tuple[Path, str]:
    """Folder or file, and the key after the last @; an existing path is not split."""
    path, separator, key = source.rpartition("@")
    return (Path(path), key) if separator and path and not Path(source).exists() else (Path(source), "")


def _besides(runs: Sequence[Run]) -> Iterator[str]:
    """Messages on a store's other runs, unreadable plans and rows that belong to no run."""
    path, store = runs[0].source, runs[0].store
    opened = {run.plan.key: run.plan for run in runs}
    others, known = [], {cell.key for plan in opened.values() for cell in plan.cells}
    for key in store.plan_keys():
        if key in opened:
            continue
        try:
            known |= {cell.key for cell in store.load_plan(key).cells}
            others.append(key)
        except NoResults as error:
            yield f"left out: {error}"
    if others:
        yield (
            f"{path} holds {counted(len(others), 'other run')}, not shown: {some(others)}; --results {path}@KEY shows "
            f"one, --results {path}@{ALL} all that compare"
        )
    stale = [key for key in store.row_keys() if key not in known]
    if stale:
        yield f"{path} holds {counted(len(stale), 'row')} that no run's plan names, not shown: {some(stale)}"
