"""The cell of a store that words mean: the names that tables use, in any order, or the start of its key.

    pmq finetune chapman 0.3 seed 41      as progress and failures name it
    PMQ Chapman 30 % 41                   titles; a part that all cells share may be left out
    3f2a                                  the start of its key, from four digits on

Names mean a cell of the latest run that has it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmark.config.errors import ConfigError
from benchmark.results.failures import NoResults
from benchmark.results.names import EVALUATION_TITLES, command, takes_shots
from benchmark.results.plan import Plan, PlannedCell
from benchmark.results.rows import Row
from benchmark.results.store import Store
from reports.runs.run import place_of

PARTS = ("row", "evaluation", "dataset", "ratio", "seed")
KEY_START = re.compile(r"[0-9a-f]{4,16}")
LISTED, NEAR = 6, 3
"""Cells that a message lists: of an ambiguous name, and near an unknown one."""
NEARNESS = 0.4
SHORT_KEY = 8

Names = tuple[tuple[str, ...], ...]
"""The names of a part, each as its words in small letters."""


@dataclass(frozen=True)
class Found:
    """A finished cell."""

    key: str
    row: Row
    plan: Plan | None
    """The latest that has it; None for a cell of no plan."""
    planned: PlannedCell | None
    """The cell in that plan."""

    @property
    def name(self) -> str:
        """'pmq finetune chapman 0.3 seed 41'."""
        return describe(self.planned or self.row)


def find_cell(results: Path, asked: str) -> Found:
    """The finished cell that words mean.

    Raises ConfigError in one line where they mean none or several, with near ones; NoResults if there is no run, or if
    the cell is not finished; CorruptRow if its row is damaged.
    """
    store = Store(results)
    plans = list(plans_of(store))
    named = by_name(plans, asked) or by_key(store, plans, asked)
    if not named:
        raise ConfigError(unknown_cell(plans, asked, results))
    if len(named) > 1:
        raise ConfigError(several(named, asked))
    ((key, (plan, planned)),) = named.items()
    row = store.load_row(key, place_of(planned, plan) if plan and planned else None)
    if row is None:
        raise NoResults(unfinished(store, key, describe(planned) if planned else key))
    return Found(key, row, plan, planned)


Cells = dict[str, tuple[Plan | None, PlannedCell | None]]
"""Key -> plan and planned cell; None for a row of no plan."""


def plans_of(store: Store) -> Iterator[Plan]:
    """The readable plans of a store, the latest first. Raises NoResults if none can be read."""
    keys, read = store.plan_keys(), 0
    for key in keys:
        with suppress(NoResults):
            plan = store.load_plan(key)
            read += 1
            yield plan
    if not read:
        raise NoResults(f"no results in {store.root}: none of its plans can be read")


def by_name(plans: Sequence[Plan], asked: str) -> Cells:
    """The cells that the words name, of the first plan that has any."""
    words = tuple(asked.lower().split())
    for plan in plans:
        found: Cells = {}
        for cell in plan.cells:
            if cell.key not in found and fits(words, names_of(cell, plan)):
                found[cell.key] = plan, cell
        if found:
            return found
    return {}


def by_key(store: Store, plans: Sequence[Plan], asked: str) -> Cells:
    """The cells and rows whose key begins with a word."""
    if not KEY_START.fullmatch(asked):
        return {}
    found: Cells = {key: (None, None) for key in store.row_keys() if key.startswith(asked)}
    for plan in reversed(plans):
        found |= {cell.key: (plan, cell) for cell in plan.cells if cell.key.startswith(asked)}
    return found


def names_of(cell: PlannedCell, plan: Plan) -> tuple[Names, ...]:
    """The names of each part of a cell, in the order of `PARTS`."""
    own = str(place_of(cell, plan)["evaluation"])
    ratio = [f"{cell.ratio:g}"]
    if takes_shots(cell.evaluation):
        ratio += [f"{cell.ratio:g} patients per class", f"{cell.ratio:g} shots"]
    else:
        ratio += [f"{100 * cell.ratio:g}%", f"{100 * cell.ratio:g} %"]
    titled = [EVALUATION_TITLES[name] for name in (cell.evaluation, own) if name in EVALUATION_TITLES]
    parts = (
        (cell.variant, plan.variants[cell.variant]),
        (cell.evaluation, own, *titled),
        (cell.dataset, str(plan.datasets[cell.dataset].get("title", cell.dataset))),
        ratio,
        (f"{cell.seed}", f"seed {cell.seed}"),
    )
    return tuple(tuple(tuple(name.lower().split()) for name in dict.fromkeys(part)) for part in parts)


def fits(words: tuple[str, ...], parts: tuple[Names, ...]) -> bool:
    """Whether words are names of different parts, one after the other in any order."""
    if not words:
        return True
    return any(
        words[: len(name)] == name and fits(words[len(name) :], (*parts[:place], *parts[place + 1 :]))
        for place, names in enumerate(parts)
        for name in names
    )


def describe(cell: PlannedCell | Row) -> str:
    """Name of a cell, as it can be given."""
    return f"{cell.variant} {cell.evaluation} {cell.dataset} {cell.ratio:g} seed {cell.seed}"


def several(cells: Cells, asked: str) -> str:
    """Message for words that mean several cells: in which parts these differ, and the first of them."""
    planned = [cell for _, cell in cells.values() if cell is not None]
    if len(planned) < len(cells) or KEY_START.fullmatch(asked):
        listed = [f"{key} {describe(cell) if cell else ''}".strip() for key, (_, cell) in cells.items()]
        return f"{asked!r} begins {len(cells)} keys: {shown(listed)}"
    fields = zip(PARTS, ("variant", "evaluation", "dataset", "ratio", "seed"), strict=True)
    open_parts = [part for part, field in fields if len({getattr(cell, field) for cell in planned}) > 1]
    listed = [f"{describe(cell)} ({cell.key[:SHORT_KEY]})" for cell in planned]
    return (
        f"{asked!r} is {len(planned)} cells: add {' and '.join(open_parts)}, or give a key; there are {shown(listed)}"
    )


def shown(listed: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(listed) - LISTED} more" if len(listed) > LISTED else ""
    return ", ".join(listed[:LISTED]) + more


def unknown_cell(plans: Sequence[Plan], asked: str, results: Path) -> str:
    """Message for words that mean no cell, with the nearest names."""
    names = list(dict.fromkeys(describe(cell) for plan in plans for cell in plan.cells))
    near = difflib.get_close_matches(asked.lower(), names, n=NEAR, cutoff=NEARNESS) or names[:NEAR]
    what = "a name is, in any order, row, evaluation, dataset, ratio and seed; or give the start of a key"
    return f"no cell {asked!r} in {results}: {what}; near ones: {', '.join(near)}"


def unfinished(store: Store, key: str, name: str) -> str:
    """Message for a planned cell without a row."""
    failure = store.failures([key]).get(key)
    if failure is None:
        return f"{name} ({key}) is planned and not finished; `{command()}` with its config goes on"
    return f"{name} ({key}) has failed: {failure.line}; traceback in {store.failure_file(key)}"
