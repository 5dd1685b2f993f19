"""The verb `explain`: all that made a number.

A cell is named by the words of the tables, in any order, or by the start of its key; of several runs the latest counts.

    pmq finetune chapman 0.3 seed 41      as progress and failures name it
    PMQ Chapman 30 % 41                   titles; a part that all cells share may be left out
    3f2a                                  the start of its key, from four digits on
"""

from __future__ import annotations

import difflib
import json
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from benchmark.config.command_line import OK
from benchmark.config.errors import KEY_START, ConfigError, config_names
from benchmark.results.names import CARD, EVALUATION_TITLES, command, evaluation_of, name_on_any
from benchmark.results.schema import flat
from benchmark.results.store import BadCard, NoResults, Plan, PlannedCell, Row, Store
from benchmark.screen import Console, note

PARTS = {"row": "variant"} | {name: name for name in ("evaluation", "dataset", "ratio", "seed", "subset")}
"""Part of a cell's name -> its field."""
LISTED, NEAR = 6, 3
"""Cells that a message lists: of an ambiguous name, and near an unknown one."""
NEARNESS = 0.4
SHORT_KEY = 8

T = TypeVar("T")
Names = tuple[tuple[str, ...], ...]
"""The names of a part, each as its words in small letters."""
Cells = dict[str, tuple[Plan | None, PlannedCell | None]]
"""Key -> plan and planned cell; None for a row of no plan."""


@dataclass(frozen=True)
class Found:
    """A finished cell."""

    row: Row
    plan: Plan | None
    """The latest that has it; None for a cell of no plan."""
    planned: PlannedCell | None
    """The cell in that plan."""

    @property
    def name(self) -> str:
        """'pmq finetune chapman 0.3 seed 41'."""
        return describe(self.planned or self.row)


def find_cell(results: Path, words: str) -> Found:
    """The finished cell that words mean.

    Raises ConfigError in one line where they mean none or several, with near ones; NoResults if there is no run, or if
    the cell is not finished; CorruptRow if its row is damaged.
    """
    store = Store(results)
    plans = list(readable(store, store.load_plan))
    cells = by_name(plans, words) or by_key(store, plans, words)
    if not cells:
        raise ConfigError(unknown_cell(plans, words, results))
    if len(cells) > 1:
        raise ConfigError(several(cells, words))
    ((key, (plan, planned)),) = cells.items()
    row = store.load_row(key)
    if row is None:
        raise NoResults(unfinished(store, key, describe(planned) if planned else key))
    return Found(row, plan, planned)


def readable(store: Store, read: Callable[[str], T]) -> Iterator[T]:
    """What `read` makes of the key of each plan of a store, the latest first; what cannot be read is passed over.

    Raises NoResults if none can be read.
    """
    keys, count = store.plan_keys(), 0
    for key in keys:
        with suppress(NoResults):
            plan = read(key)
            count += 1
            yield plan
    if not count:
        raise NoResults(f"no results in {store.root}: none of its plans can be read")


def by_name(plans: Sequence[Plan], words: str) -> Cells:
    """The cells that the words name, of the first plan that has any."""
    parts = tuple(words.lower().split())
    for plan in plans:
        cells: Cells = {}
        for cell in plan.cells:
            if fits(parts, names_of(cell, plan)):
                cells.setdefault(cell.key, (plan, cell))
        if cells:
            return cells
    return {}


def by_key(store: Store, plans: Sequence[Plan], start: str) -> Cells:
    """The cells and rows whose key begins with a word."""
    if not KEY_START.fullmatch(start):
        return {}
    cells: Cells = {key: (None, None) for key in store.row_keys() if key.startswith(start)}
    for plan in reversed(plans):
        cells |= {cell.key: (plan, cell) for cell in plan.cells if cell.key.startswith(start)}
    return cells


def names_of(cell: PlannedCell, plan: Plan) -> tuple[Names, ...]:
    """The names of each part of a cell, in the order of `PARTS`."""
    encoder = str(plan.roles.get(cell.variant, {}).get("encoder", ""))
    table = evaluation_of(name_on_any(cell.variant, encoder), cell.evaluation)
    ratio = [f"{100 * cell.ratio:g}%", f"{100 * cell.ratio:g} %"]
    titles = [EVALUATION_TITLES[name] for name in (cell.evaluation, table) if name in EVALUATION_TITLES]
    parts = (
        (cell.variant, plan.variants[cell.variant]),
        (cell.evaluation, table, *titles),
        (cell.dataset, str(plan.datasets[cell.dataset].get("title", cell.dataset))),
        (f"{cell.ratio:g}", *ratio),
        (f"{cell.seed}", f"seed {cell.seed}"),
        (f"subset {cell.subset}",),
    )
    return tuple(tuple(tuple(name.lower().split()) for name in part) for part in parts)


def fits(words: tuple[str, ...], parts: tuple[Names, ...]) -> bool:
    """Whether words are names of different parts, one after the other in any order."""
    return not words or any(
        words[: len(name)] == name and fits(words[len(name) :], (*parts[:place], *parts[place + 1 :]))
        for place, names in enumerate(parts)
        for name in names
    )


def describe(cell: PlannedCell | Row) -> str:
    """Name of a cell, as it can be given."""
    name = f"{cell.variant} {cell.evaluation} {cell.dataset} {cell.ratio:g} seed {cell.seed}"
    return f"{name} subset {cell.subset}" if cell.subset else name


def several(cells: Cells, words: str) -> str:
    """Message for words that mean several cells: in which parts these differ, and the first of them."""
    planned = [cell for _, cell in cells.values() if cell is not None]
    if len(planned) < len(cells) or KEY_START.fullmatch(words):
        listed = [f"{key} {describe(cell) if cell else ''}".strip() for key, (_, cell) in cells.items()]
        begin = f"{words!r} begins {len(cells)} keys: "
    else:
        open_parts = [part for part, field in PARTS.items() if len({getattr(cell, field) for cell in planned}) > 1]
        listed = [f"{describe(cell)} ({cell.key[:SHORT_KEY]})" for cell in planned]
        begin = f"{words!r} is {len(planned)} cells: add {' and '.join(open_parts)}, or give a key; there are "
    more = f" and {len(listed) - LISTED} more" if len(listed) > LISTED else ""
    return begin + ", ".join(listed[:LISTED]) + more


def unknown_cell(plans: Sequence[Plan], words: str, results: Path) -> str:
    """Message for words that mean no cell, with the nearest names."""
    names = list(dict.fromkeys(describe(cell) for plan in plans for cell in plan.cells))
    near = difflib.get_close_matches(words.lower(), names, n=NEAR, cutoff=NEARNESS) or names[:NEAR]
    what = "a name is, in any order, row, evaluation, dataset, ratio and seed; or give the start of a key"
    return f"no cell {words!r} in {results}: {what}; near ones: {', '.join(near)}"


def unfinished(store: Store, key: str, name: str) -> str:
    """Message for a planned cell without a row."""
    failure = store.failures([key]).get(key)
    if failure is None:
        return f"{name} ({key}) is planned and not finished; `{command()}` with its config goes on"
    return f"{name} ({key}) has failed: {failure.line}; traceback in {store.failure_file(key)}"


LONGEST = 4
"""Values of a list that are shown whole; of a longer one the first, the last and their number."""
NOT_STATED = "not stated"
SUITE = "a class of the suite: its version is in the key, its code that of the commit"
NOT_SHOWN = ("key_content", "encoder", "key", "health")
"""Entries of a card that are shown elsewhere or say nothing of a number."""


def explain(arguments: Namespace, console: Console) -> int:
    """Print the lines. Raises ConfigError in one line for a name of no cell or of several, NoResults, CorruptRow."""
    name = " ".join(arguments.word)
    for line in explained(find_cell(arguments.results, name), Store(arguments.results), whole=arguments.all):
        note(console, line)
    if not arguments.all:
        note(console, f"all else that made it: {command()} explain {name} --results {arguments.results} --all")
    return OK


def explained(found: Found, store: Store, *, whole: bool) -> Iterator[str]:
    """The lines, section after section, those without values left out. whole: all sections, not the first alone."""
    yield found.name
    for heading, values in (*first_sections(found, store), *(sections_of(found, store) if whole else ())):
        if values:
            width = max(map(len, values))
            yield from ("", heading)
            for name, value in values.items():
                yield " ".join(f"  {name:<{width}}  {text_of(value)}".splitlines())  # stored texts may be of others
    name = found.row.provenance.get("config", {}).get("name", "demo")
    config = name if name in config_names() else f"{name}.yaml"
    yield from ("", "to make it again and compare it, with the further flags of its run:")
    yield f"  {command()} run --config {config} --only {found.row.key} --results again"
    yield f"  {command()} report --compare {store.root} again"


Sections = Iterator[tuple[str, Mapping[str, Any]]]
"""The heading of each section and its values by name."""


def first_sections(found: Found, store: Store) -> Sections:
    """The scores, what qualifies them, and the three settings that they depend on most."""
    row = found.row
    yield "scores", by_unit(row.scores)
    yield "scores that are not defined", by_unit(row.undefined)
    yield "remarks", {str(number): line for number, line in enumerate(row.notes, start=1)}
    yield "made by", {"encoder": encoder_text(row, store), "labels": labelled_text(row), "evaluation": row.evaluation}


def encoder_text(row: Row, store: Store) -> str:
    """'pmq, 467 updates of 64 pairs, seed 42'; what is not stored is left out."""
    card = stated_card(store, row.pretrain_key)
    updates = [f"{card['updates']} updates of {card['batch_size']} pairs"] if card.get("updates") else []
    return ", ".join([row.method, *updates, *([f"seed {row.pretrain_seed}"] if row.pretrain_key else [])])


def stated_card(store: Store, key: str) -> Mapping[str, Any]:
    """The card of a pretraining, whose weights need not be there; {} where it is gone or damaged, or the key ''."""
    try:
        return (store.card(key) if key else None) or {}
    except BadCard:
        return {}


def labelled_text(row: Row) -> str:
    """'0.1: 993 windows of 158 recordings of 153 patients; seed 41'."""
    counted = [
        f"{row.counts[f'train_{what}']} {what}"
        for what in ("windows", "recordings", "patients")
        if f"train_{what}" in row.counts
    ]
    return f"{row.ratio:g}: {' of '.join(counted) or NOT_STATED}; seed {row.seed}"


def sections_of(found: Found, store: Store) -> Sections:
    """All else that made a cell's number."""
    row, facts = found.row, found.row.provenance
    key_content = facts.get("key_content") or {}
    yield "cell", cell_lines(found)
    yield "labelled, validation and test windows", row.counts | flat({"split": facts.get("split", {})})
    yield "training", row.training
    if row.pretrain_key:
        yield from encoder_sections(row.pretrain_key, store)
    yield f"key {row.key}: the digest of ratio, seed and", flat(key_content or {"content": NOT_STATED})
    yield "data", facts.get("data", {})
    yield "pretraining corpus", facts.get("corpus", {})
    yield "config", flat(facts.get("config", {}))
    yield "code", flat(facts.get("git") or {}) | flat(facts.get("results_versions", {}), "results version of ")
    yield "libraries", facts.get("versions", {})
    device = {"threads": NOT_STATED} | flat(facts.get("device") or {})
    mode = flat(key_content.get("mode", {}), "mode: ")
    yield "machine", {"precision": facts.get("precision", NOT_STATED)} | device | mode
    yield "files", files_of(found, store)


def by_unit(values: Mapping[str, Mapping[str, T]]) -> dict[str, T]:
    """'recording f1' -> the value of a metric in a unit."""
    return {f"{unit} {metric}": value for unit, of_unit in values.items() for metric, value in of_unit.items()}


def cell_lines(found: Found) -> dict[str, Any]:
    """The place of a cell in tables and store."""
    row, plan, cell = found.row, found.plan, found.planned
    variant, table, title, facts, run = row.variant, row.evaluation, "", {}, "in no plan of the store"
    if plan and cell:
        variant, table, title = cell.variant, cell.evaluation, f" ({plan.variants[cell.variant]})"
        facts = dict(plan.datasets[cell.dataset])
        run = f"{plan.key} (config {plan.config.get('name', 'without name')})"
    return {
        "key": row.key,
        "row": variant + title,
        "method": row.method,
        "dataset": row.dataset + (f" ({facts['title']})" if "title" in facts else ""),
        "task": f"{facts.get('task', 'default')}, {row.labels} label, protocol {row.protocol}",
        "evaluation": f"{row.evaluation} (table: {EVALUATION_TITLES.get(table, table)})",
        "ratio": f"{row.ratio:g}",
        "seed": row.seed,
        "labelled subset": row.subset,
        "run": run,
    }


def encoder_sections(key: str, store: Store) -> Sections:
    """The encoder that a cell used: its card, its method's file, and what its key is the digest of."""
    heading = f"encoder {key}"
    try:
        card = store.card(key)
    except BadCard as error:
        yield heading, {"card": str(error)}
        return
    if card is None:
        yield heading, {"card": f"{store.pretrained / key / CARD} is gone"}
        return
    content = card.get("key_content") or {}
    facts = {"method file": content.get("file", {}).get("source") or card.get("method_sha256") or SUITE}
    facts |= flat({"encoder": card.get("encoder", {})})
    facts |= flat({name: value for name, value in card.items() if name not in NOT_SHOWN})
    facts |= flat({"health at the end": (card.get("health") or [{}])[-1]})
    yield heading, facts
    yield f"key of the encoder {key}: the digest of", flat(content or {"content": NOT_STATED})


def files_of(found: Found, store: Store) -> dict[str, str]:
    """Where the files are, and when they were written, in UTC."""
    row = found.row
    paths = {"row": store.cells / f"{row.key}.json", "predictions": store.cells / f"{row.key}.npz"}
    if row.pretrain_key:
        paths["encoder"] = store.pretrained / row.pretrain_key
    if found.plan:
        paths["plan"] = store.plans / f"{found.plan.key}.json"
    return {name: f"{path} ({written(path)})" for name, path in paths.items()}


def written(path: Path) -> str:
    """'written 2026-01-31 12:00:00 UTC', or that it is gone."""
    try:
        moment = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError:
        return "gone"
    return f"written {moment:%Y-%m-%d %H:%M:%S} UTC"


def text_of(value: Any) -> str:
    """A value as text; of a long list the first and the last."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and len(value) > LONGEST and not isinstance(value[0], str):
        return f"{json.dumps(value[0])} ... {json.dumps(value[-1])} ({len(value)} values)"
    return "none" if value is None else json.dumps(value)
