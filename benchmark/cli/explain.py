"""The commands `explain` and `status`: what made a number, and how far a grid is, both read from the results store.

A cell is named by row, evaluation, dataset, ratio, seed and subset in any order, as far as they are needed to tell it
apart, or by the start of its key; of several runs the latest counts.
"""

from __future__ import annotations

import difflib
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmark import screen as terminal
from benchmark.cli.main import OK
from benchmark.config.errors import ConfigError
from benchmark.config.load import config_names
from benchmark.results.files import Damaged, flat, holder_of
from benchmark.results.metrics import TITLES
from benchmark.results.names import RECORD_FILE, command
from benchmark.results.store import NoResults, PlannedCell, Row, Store
from benchmark.run.progress import PROGRESS, read_progress
from benchmark.screen import Console, duration, note, print_table
from reports.computers import computer_text, computers_of, package_facts

PARTS = {"row": "variant"} | {name: name for name in ("evaluation", "dataset", "ratio", "seed", "subset")}
"""Part of a cell's name -> its field."""
MOST_CELLS, MOST_FAILURES = 6, 10
"""Listed cells for a name of several or of none; listed failures, and damaged files."""
STATES = DONE, FAILED, MISSING = "done", "failed", "to do"


def explain(arguments: Namespace, console: Console) -> int:
    """Print what made a cell's scores. Raises ConfigError for no cell or several, NoResults for one without a row."""
    store = Store(arguments.results)
    for line in store.load_plans()[1]:
        terminal.error(f"left out: {line}")
    cell = find_cell(store, " ".join(arguments.word))
    row = store.load_row(cell.key)
    if row is None:
        failure = store.failures([cell.key]).get(cell.key)
        state = f"has failed: {failure.line}" if failure else f"is not finished; `{command()}` with its config goes on"
        raise NoResults(f"{describe(cell)} ({cell.key}) {state}")
    sections = list(sections_of(row, store))
    note(console, describe(cell))
    for heading, values in sections:
        if values:
            width = max(map(len, values))
            note(console, f"\n{heading}")
            for name, value in values.items():
                note(console, f"  {name:<{width}}  {value}")
    name = row.provenance["config"]["name"]
    config = name if name in config_names() else f"{name}.yaml"
    note(console, "\nto make it again and compare it, with the further flags of its run:")
    note(console, f"  {command()} run --config {config} --only {row.key} --results again")
    note(console, f"  {command()} report --compare {store.root} again")
    return OK


def find_cell(store: Store, words: str) -> PlannedCell:
    """Find the cell that words name. Raises ConfigError, in one line with near cells, where they name none or several.

    Raises NoResults if the store has no run.
    """
    plans, _ = store.load_plans()
    chosen: dict[str, PlannedCell] = {}
    for plan in plans:
        chosen = chosen or {cell.key: cell for cell in plan.cells if is_named(words, cell)}
    cells = list(chosen.values())
    if len(cells) == 1:
        return cells[0]
    if cells:
        differ = [part for part, name in PARTS.items() if len({getattr(cell, name) for cell in cells}) > 1]
        listed = ", ".join(f"{describe(cell)} ({cell.key[:8]})" for cell in cells[:MOST_CELLS])
        raise ConfigError(f"{words!r} is {len(cells)} cells: add {' and '.join(differ)}, or give a key; e.g. {listed}")
    known = list(dict.fromkeys(describe(cell) for plan in plans for cell in plan.cells))
    near = difflib.get_close_matches(words.lower(), known, n=MOST_CELLS, cutoff=0.4) or known[:MOST_CELLS]
    raise ConfigError(f"no cell {words!r} in {store.root}; near ones: {', '.join(near)}")


def is_named(words: str, cell: PlannedCell) -> bool:
    """Tell whether words are parts of a cell's name or the start of its key."""
    return cell.key.startswith(words) or Counter(words.lower().split()) <= Counter(describe(cell).lower().split())


def describe(cell: PlannedCell) -> str:
    """Return the name of a cell, as it can be given."""
    return f"{cell.variant} {cell.evaluation} {cell.dataset} {cell.ratio:g} seed {cell.seed} subset {cell.subset}"


def sections_of(row: Row, store: Store) -> Iterator[tuple[str, Mapping[str, str | Path]]]:
    """Yield headings with values by name: scores, remarks, what the scores depend on, and the files with all facts."""
    yield (
        "scores (percent)",
        {
            f"{unit} {TITLES[name]}": f"{100 * value:.1f}"
            for unit, metrics in row.scores.items()
            for name, value in metrics.items()
            if value is not None
        },
    )
    yield "undefined scores", flat(row.undefined)
    yield "notes", {str(number): line for number, line in enumerate(row.notes, start=1)}
    record = (store.record(row.pretrain_key) if row.pretrain_key else None) or {}
    updates = f", {record['updates']} updates of {record['batch_size']} pairs" if record.get("updates") else ""
    labels = " of ".join(f"{row.counts[f'train_{name}']} {name}" for name in ("windows", "recordings", "patients"))
    computers = computers_of(record) if record.get("updates") else []
    yield (
        "made by",
        {
            "encoder": f"{row.method}{updates}" + (f", seed {row.pretrain_seed}" if row.pretrain_key else ""),
            "labels": f"{100 * row.ratio:g} %: {labels}; seed {row.seed}",
            "evaluation": row.evaluation,
            "machine": computer_text(row.provenance),
            **({"trained on": "; ".join(map(computer_text, computers))} if computers else {}),
            "packages": ", ".join(f"{name} {version}" for name, version in package_facts(row.provenance).items()),
            "code": f"commit {row.provenance['git']['commit']}",
        },
    )
    files = {"row": store.cells / f"{row.key}.json", "predictions": store.cells / f"{row.key}.npz"}
    yield (
        "files",
        files | ({"pretraining": store.pretrained / row.pretrain_key / RECORD_FILE} if row.pretrain_key else {}),
    )


def status(arguments: Namespace, console: Console) -> int:
    """Print what of the latest plan is done, failed, to do, and what runs. Raises NoResults without a plan."""
    store = Store(arguments.results)
    plan = store.load_plan()
    cells = {cell.key: cell for cell in plan.cells}  # a cell may be in several tables
    done, damage = set[str](), list[str]()
    for key in cells:
        try:
            if store.load_row(key):
                done.add(key)
        except Damaged as problem:
            damage.append(str(problem))
    failures = store.failures(key for key in cells if key not in done)
    rows: dict[str, Counter[str]] = {}
    for key, cell in cells.items():
        state = DONE if key in done else FAILED if key in failures else MISSING
        rows.setdefault(plan.variants[cell.variant], Counter())[state] += 1
    total = sum(rows.values(), Counter[str]())
    others = [f"{total[name]} {name}" for name in (FAILED, MISSING) if total[name]]
    note(console, ", ".join([f"{total[DONE]} of {len(cells)} cells done", *others]))
    table = [[title, *(str(row[name] or "") for name in STATES)] for title, row in rows.items()]
    print_table(console, ["", *STATES], table)
    for folder in sorted(store.pretrained.glob("*")):
        if running := read_progress(folder):
            ago = duration(max(0.0, time.time() - (folder / PROGRESS).stat().st_mtime))
            note(console, f"{running.name}: {running.done} of {running.total} updates, {running.text}, {ago} ago")
    for line in damage[:MOST_FAILURES]:
        note(console, f"damaged: {line}")
    for key, failure in list(failures.items())[:MOST_FAILURES]:
        note(console, f"failed: {describe(cells[key])}: {failure.line}")
    if driver := holder_of(store.lock):
        note(console, f"{driver} works on it")
    elif total[DONE] < len(cells):
        note(console, f"nothing works on the rest: give the command that began this grid ({command()} ...) again")
    return OK
