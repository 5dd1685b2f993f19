"""The commands `explain` and `status`: what made a number, and how far a grid is, both read from the results store.

A cell is named by row, evaluation, dataset, ratio, seed and subset in any order, as the store or as tables name them,
or by the start of its key; a number, the mean of several cells, without seed. Of several runs the latest counts.
"""

from __future__ import annotations

import difflib
import re
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from benchmark import screen as terminal
from benchmark.cli.main import OK
from benchmark.config.errors import ConfigError
from benchmark.results.files import Damaged, flat, holder_of
from benchmark.results.metrics import RECALLS, TITLES
from benchmark.results.names import EVALUATION_TITLES, RECORD_FILE, RECORDING, RETRIEVAL, UNIT_OF_PROTOCOL, command
from benchmark.results.store import NoResults, Plan, PlannedCell, Row, Store
from benchmark.run.progress import PROGRESS, read_progress
from benchmark.screen import Console, duration, note, print_table
from reports.computers import computer_text, computers_of, package_facts
from reports.results import mean_over_subsets, run_of
from reports.words import mean_text, ratio_text, row_title, seeds_named, subsets_text

if TYPE_CHECKING:
    import pandas as pd

PARTS = {"row": "variant"} | {name: name for name in ("evaluation", "dataset", "ratio", "seed", "subset")}
"""Part of a cell's name -> its field."""
OF_A_NUMBER = ("row", "evaluation", "ratio")
"""Parts that the cells of a number of a table share."""
MOST_CELLS, MOST_FAILURES = 6, 10
"""Listed cells for a name of several or of none; listed failures, and damaged files."""
STATES = DONE, FAILED, MISSING = "done", "failed", "to do"


def explain(arguments: Namespace, console: Console) -> int:
    """Print what made a cell's scores, or of which cells a number is the mean.

    Raises ConfigError for no cell, or cells of several numbers; NoResults for a cell without a row.
    """
    store = Store(arguments.results)
    for line in store.load_plans()[1]:
        terminal.error(f"left out: {line}")
    plan, cells = find_cells(store, " ".join(arguments.word))
    if len(cells) > 1:
        explain_mean(store, plan, cells, console)
        return OK
    (cell,) = cells
    row = store.load_row(cell.key)
    if row is None:
        failure = store.failures([cell.key]).get(cell.key)
        again = f"`{plan.command_line}` goes on"
        state = f"has failed: {failure.line}" if failure else f"is not finished; {again}"
        raise NoResults(f"{describe(cell)} ({cell.key}) {state}")
    sections = list(sections_of(row, store))
    note(console, describe(cell))
    for heading, values in sections:
        if values:
            width = max(map(len, values))
            note(console, f"\n{heading}")
            for name, value in values.items():
                note(console, f"  {name:<{width}}  {value}")
    note(console, "\nto make it again and compare it:")
    note(console, f"  {plan.command_line} --only {row.key} --results again")
    note(console, f"  {command()} report --compare {store.root} again")
    return OK


def explain_mean(store: Store, plan: Plan, cells: Sequence[PlannedCell], console: Console) -> None:
    """Print the columns of a row at a label ratio, each as the mean over its seeds, and the headline, their mean.

    cells: finished or not, of one row, evaluation and label ratio. Raises NoResults where none is finished.
    """
    results = run_of(store, replace(plan, cells=list(cells)), store.root)
    is_retrieval = cells[0].evaluation == RETRIEVAL
    headline = plan.headline
    metrics = RECALLS if is_retrieval else headline.metrics
    unit = RECORDING if is_retrieval else UNIT_OF_PROTOCOL[plan.config["protocol"]]
    scores = mean_over_subsets(results.scores).dropna(subset=["value"])
    scores = scores[scores["unit"] == unit]
    columns = dict(iter(scores.groupby(["dataset", "metric"])))
    if not columns:
        raise NoResults(f"none of these {len(cells)} cells is finished; `{plan.command_line}` goes on")
    name, _, _ = describe(cells[0]).partition(f" {cells[0].dataset}")
    each = f"means over seeds{subsets_text(cells)}"
    note(console, f"{name} {cells[0].ratio:g}, per {unit}, in percent; {each}")
    means = []
    for dataset, metric in product(plan.datasets, metrics):
        if (dataset, metric) in columns:
            lines = columns[dataset, metric]
            means.append(100 * lines["value"].mean())
            is_varied = bool(results.varies(lines).any())
            note(console, f"  {dataset} {TITLES[metric]} {number_of(lines, is_varied=is_varied)}")
    if not is_retrieval:
        note(console, f"  {headline.title} {mean_text(fmean(means))}: the mean of these {len(means)} columns")
    done = sum(cell.key in results.rows for cell in cells)
    note(console, f"{done} of {len(cells)} cells finished; `explain {cells[0].key[:8]}` shows the first")


def number_of(lines: pd.DataFrame, *, is_varied: bool) -> str:
    """Return '51.2±0.4: 50.9 (seed 41), 51.5 (seed 42)' for the scores of a number, a line per seed."""
    percent = 100 * lines["value"]
    seeds = list(lines["seed"])
    if len(seeds) > 1 and not is_varied:
        return f"{mean_text(percent.mean())}: the same for seeds {seeds_named(seeds)}"
    parts = [f"{value:.1f} (seed {seed})" for value, seed in zip(percent, seeds, strict=True)]
    return f"{mean_text(percent.mean(), percent.std())}: {', '.join(parts)}"


def differing(cells: Sequence[PlannedCell], parts: Sequence[str]) -> list[str]:
    """List those parts of a cell's name in which cells differ."""
    different = []
    for part in parts:
        values = {getattr(cell, PARTS[part]) for cell in cells}
        if len(values) > 1:
            different.append(part)
    return different


def find_cells(store: Store, words: str) -> tuple[Plan, list[PlannedCell]]:
    """Find the cells that words name in the latest run that has some: one, or all of a row at a label ratio.

    Raises ConfigError, in one line with near cells, where they name none or those of several rows; NoResults if the
    store has no run.
    """
    plans, _ = store.load_plans()
    for plan in plans:
        chosen = {cell.key: cell for cell in plan.cells if is_named(words, cell, plan)}
        cells = list(chosen.values())
        differ = differing(cells, OF_A_NUMBER)
        if differ:
            listed = ", ".join(f"{describe(cell)} ({cell.key[:8]})" for cell in cells[:MOST_CELLS])
            remedy = f"add {' and '.join(differ)}, or give a key"
            raise ConfigError(f"{words!r} is {len(cells)} cells: {remedy}; e.g. {listed}")
        if cells:
            return plan, cells
    known = list(dict.fromkeys(describe(cell) for plan in plans for cell in plan.cells))
    near = difflib.get_close_matches(words.lower(), known, n=MOST_CELLS, cutoff=0.4)
    near = near or known[:MOST_CELLS]
    raise ConfigError(f"no cell {words!r} in {store.root}; near ones: {', '.join(near)}")


def is_named(words: str, cell: PlannedCell, plan: Plan) -> bool:
    """Tell whether words, as cells are named or as tables print them, are parts of a cell's name or begin its key."""
    parts = Counter(as_stored(words, plan).lower().split())
    return cell.key.startswith(words) or parts <= Counter(describe(cell).lower().split())


def as_stored(words: str, plan: Plan) -> str:
    """Return words with the names that tables print as those of cells: 'ETP (TF-IDF of reports) 10 %' as 'etp 0.1'."""
    names = {row_title(plan, name): name for name in plan.variants}
    names |= {title: name for name, title in plan.variants.items()}
    names |= {title: name for name, title in plan.titles.items()}
    names |= {title: name for name, title in EVALUATION_TITLES.items()}
    names |= {ratio_text(cell.ratio): f"{cell.ratio:g}" for cell in plan.cells}
    for title in sorted(names, key=len, reverse=True):
        words = re.sub(rf"(?<!\S){re.escape(title)}(?!\S)", names[title], words, flags=re.IGNORECASE)
    return words


def describe(cell: PlannedCell) -> str:
    """Return the name of a cell, as it can be given."""
    return f"{cell.variant} {cell.evaluation} {cell.dataset} {cell.ratio:g} seed {cell.seed} subset {cell.subset}"


def sections_of(row: Row, store: Store) -> Iterator[tuple[str, Mapping[str, str | Path]]]:
    """Yield headings with values by name: scores, remarks, what the scores depend on, and the files with all facts."""
    scores = {}
    for unit, metrics in row.scores.items():
        for name, value in metrics.items():
            if value is not None:
                scores[f"{unit} {TITLES[name]}"] = f"{100 * value:.1f}"
    yield "scores (percent)", scores
    yield "undefined scores", flat(row.undefined)
    yield "notes", {str(number): line for number, line in enumerate(row.notes, start=1)}
    yield "made by", makers_of(row, store)
    files = {"row": store.cells / f"{row.key}.json", "predictions": store.cells / f"{row.key}.npz"}
    for part, key in enumerate(row.encoders, start=1):
        name = f"pretraining {part}" if row.part_keys else "pretraining"
        files[name] = store.pretrained / key / RECORD_FILE
    yield "files", files


def makers_of(row: Row, store: Store) -> dict[str, str]:
    """Collect what made a row's scores: encoder, labels, evaluation, computers, packages and code."""
    encoder, computers = row.method, []
    record = (store.record(row.pretrain_key) if row.pretrain_key else None) or {}
    if record.get("updates"):
        encoder += f", {record['updates']} updates of {record['batch_size']} pairs"
        computers = [computer_text(computer) for computer in computers_of(record)]
    if row.pretrain_key:
        encoder += f", seed {row.pretrain_seed}"
    if row.part_keys:
        encoder += f"; one of {len(row.part_keys)}, each for a part of the patients"
    units = ("windows", "recordings", "patients")
    labels = " of ".join(f"{row.counts[f'train_{unit}']} {unit}" for unit in units)
    makers = {
        "encoder": encoder,
        "labels": f"{100 * row.ratio:g} %: {labels}; seed {row.seed}",
        "evaluation": row.evaluation,
        "machine": computer_text(row.provenance),
    }
    if computers:
        makers["trained on"] = "; ".join(computers)
    packages = package_facts(row.provenance)
    makers["packages"] = ", ".join(f"{name} {version}" for name, version in packages.items())
    makers["code"] = f"commit {row.provenance['git']['commit']}"
    return makers


def status(arguments: Namespace, console: Console) -> int:
    """Print what of the latest plan is done, failed, to do, and what runs. Raises NoResults without a plan."""
    store = Store(arguments.results)
    plan = store.load_plan()
    cells = {cell.key: cell for cell in plan.cells}  # a cell may be in several tables
    done = set[str]()
    damage = list[str]()
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
    counts = [f"{total[DONE]} of {len(cells)} cells done"]
    counts += [f"{total[state]} {state}" for state in (FAILED, MISSING) if total[state]]
    note(console, f"run by {plan.command_line}")
    note(console, ", ".join(counts))
    table = []
    for title, row in rows.items():
        table.append([title, *(str(row[name] or "") for name in STATES)])
    print_table(console, ["", *STATES], table)
    for folder in sorted(store.pretrained.glob("*")):
        if running := read_progress(folder):
            written = (folder / PROGRESS).stat().st_mtime
            ago = duration(max(0.0, time.time() - written))
            updates = f"{running.done} of {running.total} updates"
            note(console, f"{running.name}: {updates}, {running.text}, {ago} ago")
    for line in damage[:MOST_FAILURES]:
        note(console, f"damaged: {line}")
    for key, failure in list(failures.items())[:MOST_FAILURES]:
        note(console, f"failed: {describe(cells[key])}: {failure.line}")
    if driver := holder_of(store.lock):
        note(console, f"{driver} works on it")
    elif total[DONE] < len(cells):
        note(console, "nothing works on the rest: the command above goes on")
    return OK
