"""The command `explain`: what made a number, and the commands that make it again.

A cell is named by row, evaluation, dataset, ratio and seed in any order, as far as they are needed to tell it apart, or
by the start of its key; of several runs the latest counts.
"""

from __future__ import annotations

import difflib
import json
import re
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmark.cli.main import OK
from benchmark.config.errors import ConfigError
from benchmark.config.load import config_names
from benchmark.results.metrics import METRICS
from benchmark.results.names import command
from benchmark.results.schema import flat
from benchmark.results.store import BadCard, NoResults, PlannedCell, Row, Store
from benchmark.screen import Console, note

PARTS = {"row": "variant"} | {name: name for name in ("evaluation", "dataset", "ratio", "seed", "subset")}
"""Part of a cell's name -> its field."""
MOST_CELLS = 6
"""Cells that are listed for a name of several or of none."""
MOST_VALUES = 4
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
    return OK


def find_cell(store: Store, words: str) -> PlannedCell:
    """Find the cell that words name. Raises ConfigError, in one line with near cells, where they name none or several.

    Raises NoResults if the store has no run.
    """
    plans = store.readable_plans()
    chosen: dict[str, PlannedCell] = {}
    for plan in plans:
        chosen = chosen or {cell.key: cell for cell in plan.cells if is_named(words, cell)}
    if len(chosen) == 1:
        return next(iter(chosen.values()))
    if chosen:
        cells = list(chosen.values())
        differ = [part for part, name in PARTS.items() if len({getattr(cell, name) for cell in cells}) > 1]
        listed = ", ".join(f"{describe(cell)} ({cell.key[:8]})" for cell in cells[:MOST_CELLS])
        raise ConfigError(f"{words!r} is {len(cells)} cells: add {' and '.join(differ)}, or give a key; e.g. {listed}")
    known = list(dict.fromkeys(describe(cell) for plan in plans for cell in plan.cells))
    near = difflib.get_close_matches(words.lower(), known, n=MOST_CELLS, cutoff=0.4) or known[:MOST_CELLS]
    raise ConfigError(f"no cell {words!r} in {store.root}; near ones: {', '.join(near)}")


def is_named(words: str, cell: PlannedCell) -> bool:
    """Tell whether words are parts of a cell's name or the start of its key."""
    as_share = re.sub(r"([\d.]+) ?%", lambda percent: f"{float(percent[1]) / 100:g}", words.lower())
    return cell.key.startswith(words) or Counter(as_share.split()) <= Counter(describe(cell).lower().split())


def describe(cell: PlannedCell) -> str:
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
    updates = f", {record['updates']} updates of {record['batch_size']} pairs" if record.get("updates") else ""
    encoder = f"{row.method}{updates}, seed {row.pretrain_seed}" if row.pretrain_key else row.method
    parts = {name: row.counts.get(f"train_{name}", 0) for name in ("windows", "recordings", "patients")}
    labels = " of ".join(f"{count} {name}" for name, count in parts.items())
    labels = f"{100 * row.ratio:g} %: {labels}; seed {row.seed}"
    yield "made by", {"encoder": encoder, "labels": labels, "evaluation": row.evaluation}
    if everything:
        shown = ("scores", "undefined", "notes", "provenance")
        yield "row", flat({name: value for name, value in vars(row).items() if name not in shown})
        for name, value in row.provenance.items():
            yield name.replace("_", " "), flat(value) if isinstance(value, Mapping) else {name: value}
        yield f"pretraining {row.pretrain_key}", flat(record)
        yield "files", {"row": store.cells / f"{row.key}.json", "predictions": store.cells / f"{row.key}.npz"}


def text_of(value: Any) -> str:
    """Return a value as text in one line; of a long list the first and the last."""
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) > MOST_VALUES:
        return f"{json.dumps(value[0])} ... {json.dumps(value[-1])} ({len(value)} values)"
    return "none" if value is None else " ".join(str(value).splitlines())
