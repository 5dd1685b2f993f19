"""The commands `runs` and `clean`: the runs of a results store, and what no run of it needs.

A run is a plan of the store; it names its cells, and the folders of its pretrainings and of its prepared data.
"""

from __future__ import annotations

import re
import shutil
import time
from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmark import screen as terminal
from benchmark.cli.main import OK
from benchmark.cli.run import sole_command
from benchmark.config.errors import ConfigError
from benchmark.results.files import KEY_PATTERN, Damaged
from benchmark.results.names import unknown
from benchmark.results.store import Store
from benchmark.screen import Console, note

MIB = 2**20


def runs(arguments: Namespace, console: Console) -> int:
    """Print a line for each run, the latest first. Raises NoResults for a store without one."""
    store = Store(arguments.results)
    plans, damage = store.load_plans()
    for line in damage:
        terminal.error(f"left out: {line}")
    for plan in plans:
        cells = {cell.key for cell in plan.cells}
        done = sum(store.row_file(key).is_file() for key in cells)
        files = [file for file in store.cells.glob("*") if key_of(file) in cells]
        files += [store.pretrained / name for name in plan.folders]
        date = time.strftime("%Y-%m-%d %H:%M", time.localtime((store.plans / f"{plan.key}.json").stat().st_mtime))
        note(
            console,
            f"{date}  {plan.key}  {len(plan.variants)} rows, {done} of {len(cells)} cells done, {size_text(files)}: "
            f"{plan.command_line}",
        )
    return OK


def clean(arguments: Namespace, console: Console) -> int:
    """Remove results and prepared data of no run, or print how much there is (--dry-run).

    Raises ConfigError for an unknown run and while a command works on the store, NoResults for a store without a run,
    Damaged for a plan.
    """
    store = Store(arguments.results)
    plans, damage = store.load_plans()
    if damage:
        raise Damaged(damage[0])
    for key in arguments.word:
        if key not in [plan.key for plan in plans[1:]]:
            raise ConfigError(unknown("earlier run", key, [plan.key for plan in plans[1:]]))
    remaining = [plan for plan in plans if plan.key not in arguments.word]
    groups = {
        "files of cells": unused(store.cells, {cell.key for plan in remaining for cell in plan.cells}),
        "plans": [store.plans / f"{key}.json" for key in arguments.word],
    }
    if all(plan.folders for plan in remaining):
        folders = {name for plan in remaining for name in plan.folders}
        groups["pretrainings"] = unused(store.pretrained, folders)
        groups["prepared datasets"] = unused(arguments.cache, folders)
    else:
        note(console, "a run of an earlier version does not name its folders: pretrainings and prepared data stay")
    would = "would remove" if arguments.dry_run else "removes"
    for group, paths in groups.items():
        if paths:
            note(console, f"{would} {len(paths)} {group} that no run of {store.root} needs, {size_text(paths)}")
    if not any(groups.values()):
        note(console, f"the runs of {store.root} need every file that is there")
    if not arguments.dry_run:
        with sole_command(store):
            remove(path for paths in groups.values() for path in paths)
    return OK


def key_of(path: Path) -> str:
    """Return the key that a file or a folder of the store or the cache is named by."""
    return path.name.partition(".")[0]


def unused(folder: Path, used: set[str]) -> list[Path]:
    """List what in a folder is named by a key that is not used."""
    by_key = {path: key_of(path) for path in sorted(folder.glob("*"))}
    return [path for path, key in by_key.items() if re.fullmatch(KEY_PATTERN, key) and key not in used]


def size_text(paths: Sequence[Path]) -> str:
    """Return '17 MiB': the size of files and folders."""
    files = [file for path in paths for file in (path, *path.rglob("*")) if file.is_file()]
    return f"{sum(file.stat().st_size for file in files) / MIB:.0f} MiB"


def remove(paths: Iterable[Path]) -> None:
    """Remove files and folders."""
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
