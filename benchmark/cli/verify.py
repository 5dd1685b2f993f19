"""`report --verify N`: random cells of each row that an archive brings are computed again here, in another store.

That is what `run --only KEY --results again` does, by the archive's config with the data and the machine of the run
here. No code and no path of an archive is used: of methods in files those are computed that the run here names.
"""

from __future__ import annotations

import random
import shlex
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from benchmark.cli.dry_run import dry_run
from benchmark.cli.main import OK, Request, config_of, folders_of, machine_of, parse
from benchmark.cli.run import run_missing, sole_command
from benchmark.config.errors import ConfigError
from benchmark.results.names import WEIGHTS
from benchmark.results.store import NoResults, Store
from benchmark.screen import Console, note, open_console
from methods import METHODS, get_method
from reports.results import Run, run_of
from reports.second_party import brought_by, mark_of_rerun

AnyRun = TypeVar("AnyRun", bound=Run)


def verify(results: AnyRun, count: int, folder: Path) -> AnyRun:
    """Compute random cells of each row of archives again, after stating the hours; return the results with new marks.

    count: cells of a row. folder: the store for them; what an interrupted call drew is taken first. Raises ConfigError
    where no archive stands beside a run that was computed here, and where no cell has its key here.
    """
    console = open_console()
    store = Store(folder)
    marks = dict(results.marks)
    here, *others = results.parts or (results,)
    if here.is_archive or not any(run.is_archive for run in others):
        raise ConfigError("--verify takes a store of yours and an archive: --results runs theirs.zip --verify")
    for theirs in others:
        rows = drawn(here, theirs, count, store)
        keys = [key for of_row in rows.values() for key in of_row]
        with_weights = set(bring_weights(theirs, keys, store))
        again = compute_again(here, theirs, keys, store, console) if keys else theirs
        for row, of_row in rows.items():
            if all(key in again.rows for key in of_row):
                marks[row] = mark_of_rerun(theirs, again, of_row, with_weights)
            note(console, f"{theirs.plan.variants[row[1]]}: {marks[row]}")
    return replace(results, marks=marks)


def methods_of(here: Run, theirs: Run) -> list[str]:
    """List the methods of an archive that are part of the suite, and the files of methods that the run here names."""
    files = [word for word in here.plan.config["methods"] if word.endswith(".py")]
    return [*(word for word in theirs.plan.config["methods"] if word in METHODS), *files]


def drawn(here: Run, theirs: Run, count: int, store: Store) -> dict[tuple[str, str], list[str]]:
    """Draw cells of each row that an archive brings and whose method is there: evaluation and row -> keys."""
    known = {*METHODS, *(get_method(word).name for word in methods_of(here, theirs))}
    before = set[str]()
    with suppress(NoResults):
        before = {cell.key for plan in store.load_plans()[0] for cell in plan.cells}
    rows: dict[tuple[str, str], list[str]] = {}
    for cell in brought_by(theirs, here):
        row = theirs.rows[cell.key]
        if not row.encoders or row.method in known:
            rows.setdefault((cell.evaluation, cell.variant), []).append(cell.key)
    for keys in rows.values():
        random.SystemRandom().shuffle(keys)  # nobody knows before which cells are drawn
        keys.sort(key=lambda key: key not in before)
        del keys[count:]
    return rows


def bring_weights(theirs: Run, keys: Iterable[str], store: Store) -> Iterator[str]:
    """Copy the encoders of cells from an archive that has them into a store; yield the keys of these cells."""
    for key in keys:
        folders = [theirs.stores[0].pretrained / encoder for encoder in theirs.rows[key].encoders]
        if folders and all((folder / WEIGHTS).is_file() for folder in folders):
            for folder in folders:
                shutil.copytree(folder, store.pretrained / folder.name, dirs_exist_ok=True)
            yield key


def compute_again(here: Run, theirs: Run, keys: Iterable[str], store: Store, console: Console) -> Run:
    """State the hours of cells of an archive, compute them into a store, and return their run.

    Raises ConfigError and DatasetError as `run`.
    """
    encoders = {name: here.plan.config[name] for name in ("encoder", "encoders")}
    changes = ["--only", *keys, "--results", str(store.root), "--out", str(store.root / "out")]
    _, arguments = parse([*shlex.split(here.plan.command), *changes])
    config = config_of(arguments, theirs.plan.config | encoders | {"methods": methods_of(here, theirs)})
    request = Request(config, folders_of(arguments), machine_of(arguments, config), arguments)
    if dry_run(request, console) != OK:
        raise ConfigError(f"the cells of {theirs.name} cannot be computed here")
    with sole_command(store):
        plan, _ = run_missing(request, console)
    return run_of(store, plan, store.root)
