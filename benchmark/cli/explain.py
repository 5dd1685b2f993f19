"""The verb `explain`: what made a number, and the commands that make it again.

A cell is named by the words of the tables in any order, or by the start of its key; of several runs the latest counts.

    pmq finetune chapman 0.3 seed 41      as progress and failures name it
    PMQ Chapman 30 % 41                   titles; a part that all cells share may be left out
    3f2a                                  the start of its key, from four digits on
"""

from __future__ import annotations

import difflib
import json
import re
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmark.cli.main import OK
from benchmark.config.errors import ConfigError
from benchmark.config.load import config_names
from benchmark.results.metrics import METRICS
from benchmark.results.names import EVALUATION_TITLES, command, evaluation_of, name_on_any
from benchmark.results.schema import flat
from benchmark.results.store import BadCard, NoResults, Plan, PlannedCell, Row, Store
from benchmark.screen import Console, note

PARTS = {"row": "variant"} | {name: name for name in ("evaluation", "dataset", "ratio", "seed", "subset")}
"""Part of a cell's name -> its field."""
MAX_CELLS, MAX_NEAR = 6, 3
"""Cells listed for an ambiguous name, and for an unknown one."""
MAX_VALUES = 4
"""Of a list; of a longer one the first and the last are shown."""


def explain(arguments: Namespace, console: Console) -> int:
    """Print what made a cell's scores. Raises ConfigError for no cell or several, NoResults for one without a row."""
    store, words = Store(arguments.results), " ".join(arguments.word)
    cell = find_cell(store, words)
    row = store.load_row(cell.key)
    if row is None:
        failure = store.failures([cell.key]).get(cell.key)
        state = f"has failed: {failure.line}" if failure else f"is not finished; `{command()}` with its config goes on"
        raise NoResults(f"{describe(cell)} ({cell.key}) {state}")
    note(console, describe(cell))
    for heading, values in sections_of(row, store, everything=arguments.all):
        if values:
            width = max(map(len, values))
            note(console, f"\n{heading}")
            for name, value in values.items():
                note(console, f"  {name:<{width}}  {text_of(value)}")
    name = row.provenance.get("config", {}).get("name", "demo")
    config = name if name in config_names() else f"{name}.yaml"
    note(console, "\nto make it again and compare it, with the further flags of its run:")
    note(console, f"  {command()} run --config {config} --only {row.key} --results again")
    note(console, f"  {command()} report --compare {store.root} again")
    if not arguments.all:
        note(console, f"everything stored about it: {command()} explain {row.key} --results {store.root} --all")
    return OK


def find_cell(store: Store, words: str) -> PlannedCell | Row:
    """Find the cell that words name. Raises ConfigError, in one line with near cells, where they name none or several.

    Raises NoResults if the store has no run.
    """
    plans = store.readable_plans()
    chosen: dict[str, PlannedCell | Row] = {}
    for plan in plans:
        chosen = chosen or {cell.key: cell for cell in plan.cells if names(words, cell, plan)}
    if not chosen and re.fullmatch(r"[0-9a-f]{4,16}", words):
        keys = [key for key in store.row_keys() if key.startswith(words)]
        chosen = {key: row for key in keys if (row := store.load_row(key))}
        chosen |= {cell.key: cell for plan in reversed(plans) for cell in plan.cells if cell.key.startswith(words)}
    cells = list(chosen.values())
    if len(cells) == 1:
        return cells[0]
    if cells:
        differ = [part for part, name in PARTS.items() if len({getattr(cell, name) for cell in cells}) > 1]
        listed = ", ".join(f"{describe(cell)} ({cell.key[:8]})" for cell in cells[:MAX_CELLS])
        raise ConfigError(f"{words!r} is {len(cells)} cells: add {' and '.join(differ)}, or give a key; e.g. {listed}")
    known = list(dict.fromkeys(describe(cell) for plan in plans for cell in plan.cells))
    near = difflib.get_close_matches(words.lower(), known, n=MAX_NEAR, cutoff=0.4) or known[:MAX_NEAR]
    raise ConfigError(
        f"no cell {words!r} in {store.root}: a name is, in any order, row, evaluation, dataset, ratio and seed, or the "
        f"start of a key; near ones: {', '.join(near)}"
    )


def names(words: str, cell: PlannedCell, plan: Plan) -> bool:
    """Whether words are names of different parts of a cell and of nothing else."""
    encoder = str(plan.roles.get(cell.variant, {}).get("encoder", ""))
    table = evaluation_of(name_on_any(cell.variant, encoder), cell.evaluation)
    titles = [EVALUATION_TITLES.get(name, name) for name in (cell.evaluation, table)]
    parts = (
        (cell.variant, plan.variants[cell.variant]),
        (cell.evaluation, table, *titles),
        (cell.dataset, str(plan.datasets[cell.dataset].get("title", cell.dataset))),
        (f"{cell.ratio:g}", f"{100 * cell.ratio:g}%", f"{100 * cell.ratio:g} %"),
        (f"subset {cell.subset}",),
        (f"{cell.seed}", f"seed {cell.seed}"),
    )
    rest = words.lower()
    for part in parts:
        for name in sorted(part, key=len, reverse=True):
            rest, count = re.subn(rf"(?<!\S){re.escape(name.lower())}(?!\S)", "", rest, count=1)
            if count:
                break
    return not rest.strip()


def describe(cell: PlannedCell | Row) -> str:
    """Return the name of a cell, as it can be given."""
    name = f"{cell.variant} {cell.evaluation} {cell.dataset} {cell.ratio:g} seed {cell.seed}"
    return f"{name} subset {cell.subset}" if cell.subset else name


def sections_of(row: Row, store: Store, *, everything: bool) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield headings with values by name: scores and what they depend on most, or everything stored about the cell."""
    units = row.scores.items()
    scores = {
        f"{unit} {METRICS[name].title}": f"{100 * v:.1f}" for unit, s in units for name, v in s.items() if v is not None
    }
    yield "scores (percent)", scores
    yield "undefined scores", flat(row.undefined)
    yield "notes", {str(number): line for number, line in enumerate(row.notes, start=1)}
    try:
        record = (store.card(row.pretrain_key) if row.pretrain_key else None) or {}
    except BadCard as error:
        record = {"damaged": str(error)}
    updates = [f"{record['updates']} updates of {record['batch_size']} pairs"] if record.get("updates") else []
    seed = [f"seed {row.pretrain_seed}"] if row.pretrain_key else []
    counts = [
        f"{row.counts[f'train_{what}']} {what}"
        for what in ("windows", "recordings", "patients")
        if f"train_{what}" in row.counts
    ]
    yield (
        "made by",
        {
            "encoder": ", ".join([row.method, *updates, *seed]),
            "labels": f"{100 * row.ratio:g} %: {' of '.join(counts)}; seed {row.seed}",
            "evaluation": row.evaluation,
        },
    )
    if everything:
        stored = {
            name: value
            for name, value in vars(row).items()
            if name not in ("scores", "undefined", "notes", "provenance")
        }
        yield "row", flat(stored)
        for name, value in row.provenance.items():
            yield name.replace("_", " "), flat(value) if isinstance(value, Mapping) else {name: value}
        yield f"pretraining {row.pretrain_key}", flat(record)
        yield "files", {"row": store.cells / f"{row.key}.json", "predictions": store.cells / f"{row.key}.npz"}


def text_of(value: Any) -> str:
    """Return a value as text in one line; of a long list the first and the last."""
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) > MAX_VALUES:
        return f"{json.dumps(value[0])} ... {json.dumps(value[-1])} ({len(value)} values)"
    return "none" if value is None else " ".join(str(value).splitlines())
