"""The verbs `explain` and `reproduce`: all that made a number, and the same cell run again and compared.

The cell of a store that words mean: the names that tables use, in any order, or the start of its key.

    pmq finetune chapman 0.3 seed 41      as progress and failures name it
    PMQ Chapman 30 % 41                   titles; a part that all cells share may be left out
    3f2a                                  the start of its key, from four digits on

Names mean a cell of the latest run that has it.

The verb `reproduce`: a cell run again from its row, in a fresh place, and compared with what the store holds.

The data are found as a run finds them, and refused if they are not the row's (fingerprint). The encoder is a copy of
the stored one, or pretrained again. Nothing is written into the store.

What is run again of a store's cell: its row tells config, device and precision; keys of today find it in the grid.

Where the row, its encoder or this machine do not allow it, one line says why. No code that a store names is loaded.
"""

from __future__ import annotations

import difflib
import json
import re
import shutil
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from threadpoolctl import threadpool_limits

from benchmark.config.command_line import FAILED, OK
from benchmark.config.config import Config, validate
from benchmark.config.errors import ConfigError, is_code
from benchmark.config.flags import Folders, device_of
from benchmark.config.flags import place_of as place_from
from benchmark.data.prepare import Prepared
from benchmark.data.task import of_task
from benchmark.machine.ranks import call_on_other_ranks, read_ranks
from benchmark.results.names import CARD, EVALUATION_TITLES, SCRIPT, TRAINING_HEALTH, VALIDATION, command, takes_shots
from benchmark.results.schema import flat
from benchmark.results.store import (
    ARRAYS,
    BadCard,
    End,
    NoResults,
    Plan,
    PlannedCell,
    Predictions,
    Row,
    Store,
)
from benchmark.run.cell import CellJob, run_together
from benchmark.run.datasets import open_data, prepare_data
from benchmark.run.grid import MOST_RANKS, Cell, expand
from benchmark.run.plan import differences
from benchmark.run.pretraining import PretrainingJob, in_step, run_to_end
from benchmark.screen import Console, note, step
from benchmark.training.checkpoint import CHECKPOINT, WEIGHTS, checked_card
from benchmark.training.pretrain import require_compiler
from reports.runs import place_of as cell_place

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
    row = store.load_row(key, cell_place(planned, plan) if plan and planned else None)
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
    own = str(cell_place(cell, plan)["evaluation"])
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


LONGEST = 4
"""Values of a list that are shown whole; of a longer one the first, the last and their number."""
NOT_STATED = "not stated"
SUITE = "a class of the suite: its version is in the key, its code that of the commit"
NOT_SHOWN = ("key_content", "encoder", "key", "illustration_sha256")
"""Entries of a card that are shown elsewhere or say nothing of a number."""

Section = tuple[str, Mapping[str, Any]]
"""A heading, and values by name."""


def explained(found: Found, store: Store) -> Iterator[str]:
    """The lines, section after section."""
    yield found.name
    for heading, values in sections_of(found, store):
        if values:
            width = max(map(len, values))
            yield ""
            yield heading
            for name, value in values.items():
                yield " ".join(f"  {name:<{width}}  {text_of(value)}".splitlines())  # stored texts may be of others
    yield ""
    yield f"to run it again: {command()} reproduce {found.key} --results {store.root}"


def sections_of(found: Found, store: Store) -> Iterator[Section]:
    """The sections; those without values are left out when they are printed."""
    row, told = found.row, found.row.provenance
    yield "cell", cell_lines(found)
    yield "scores", {f"{unit} {name}": value for unit, own in row.scores.items() for name, value in own.items()}
    undefined = {f"{unit} {name}": why for unit, own in row.undefined.items() for name, why in own.items()}
    yield "scores that are not defined", undefined
    yield "remarks", {str(number): line for number, line in enumerate(row.notes, start=1)}
    yield "labelled, validation and test windows", row.counts | flat({"split": told.get("split", {})}, "")
    yield "training", row.training
    yield from encoder_of(row, store)
    yield f"key {row.key}: the digest of ratio, seed and", flat(told.get("key_content") or {"content": NOT_STATED}, "")
    yield "data", told.get("data", {})
    yield "pretraining corpus", told.get("corpus", {})
    yield "config", flat(told.get("config", {}), "")
    yield "code", flat(told.get("git") or {}, "") | {"results version of " + k: v for k, v in versions_of(row).items()}
    yield "libraries", told.get("versions", {})
    yield "machine", machine_of(row)
    yield "files", files_of(found, store)


def cell_lines(found: Found) -> dict[str, Any]:
    """The place of a cell in tables and store."""
    row, plan, cell = found.row, found.plan, found.planned
    title = f" ({plan.variants[cell.variant]})" if plan and cell else ""
    facts = plan.datasets[cell.dataset] if plan and cell else {}
    table = cell.evaluation if cell else row.evaluation
    dataset = f" ({facts['title']})" if "title" in facts else ""
    return {
        "key": row.key,
        "row": f"{cell.variant if cell else row.variant}{title}",
        "method": row.method,
        "dataset": f"{row.dataset}{dataset}",
        "task": f"{facts.get('task', 'default')}, {row.labels} label, protocol {row.protocol}",
        "evaluation": f"{row.evaluation} (table: {EVALUATION_TITLES.get(table, table)})",
        "ratio or shots": f"{row.ratio:g}",
        "seed": row.seed,
        "run": f"{plan.key} (config {plan.config.get('name', 'without name')})" if plan else "in no plan of the store",
    }


def versions_of(row: Row) -> Mapping[str, int]:
    """Results versions that a row depends on."""
    found: Mapping[str, int] = row.provenance.get("results_versions", {})
    return found


def machine_of(row: Row) -> dict[str, Any]:
    """Where a cell was computed, and in which mode."""
    told = row.provenance
    mode = (told.get("key_content") or {}).get("mode", {})
    threads = {"threads": NOT_STATED} | flat(told.get("device") or {}, "")
    return {"precision": told.get("precision", NOT_STATED), **threads, **{f"mode: {k}": v for k, v in mode.items()}}


def encoder_of(row: Row, store: Store) -> Iterator[Section]:
    """The encoder that a cell used: its card, its method's file, and what its key is the digest of."""
    if not row.pretrain_key:
        return
    heading = f"encoder {row.pretrain_key}"
    try:
        card = store.card(row.pretrain_key)
    except BadCard as error:
        yield heading, {"card": str(error)}
        return
    if card is None:
        yield heading, {"card": f"{store.pretrained / row.pretrain_key / CARD} is gone"}
        return
    content = card.get("key_content") or {}
    method_file = {"method file": content.get("file", {}).get("source") or card.get("method_sha256") or SUITE}
    facts = {name: value for name, value in card.items() if name not in NOT_SHOWN}
    health = facts.pop("health", [])
    facts.pop(TRAINING_HEALTH, None)
    shown = flat(facts, "") | flat({"health at the end": health[-1] if health else {}}, "")
    yield heading, method_file | flat({"encoder": card.get("encoder", {})}, "") | shown
    yield f"key of the encoder {row.pretrain_key}: the digest of", flat(content or {"content": NOT_STATED}, "")


def files_of(found: Found, store: Store) -> dict[str, str]:
    """Where the files are, and when they were written, in UTC."""
    paths = {"row": store.cells / f"{found.key}.json", "predictions": store.cells / f"{found.key}.npz"}
    if found.row.pretrain_key:
        paths["encoder"] = store.pretrained / found.row.pretrain_key
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


def explain(arguments: Namespace, console: Console) -> int:
    """Print the lines. Raises ConfigError in one line for a name of no cell or of several, NoResults, CorruptRow."""

    found = find_cell(arguments.results, " ".join(arguments.word))
    for line in explained(found, Store(arguments.results)):
        note(console, line)
    return OK


FINGERPRINT = "fingerprint"


@dataclass(frozen=True)
class ReproductionRequest:
    """A cell as today's code plans it, and how it is run."""

    cell: Cell
    config: Config
    row: Row
    device: torch.device
    card: Mapping[str, Any]
    """Of its stored encoder; {} for none."""
    pretraining: bool
    """Whether the encoder is pretrained again."""
    keep: Path | None
    """Where what is made stays; None: nowhere."""


def plan_reproduction(found: Found, store: Store, arguments: Namespace) -> ReproductionRequest:
    """What is run again. Raises ConfigError in one line where the row, its encoder or this machine do not allow it."""
    row = found.row
    if row.evaluation == VALIDATION:
        raise ConfigError(f"{found.name} is a trial of `tune`, which no table shows; `tune` runs its trials again")
    if arguments.keep is not None and arguments.keep.exists() and any(arguments.keep.iterdir()):
        raise ConfigError(f"--keep {arguments.keep} is not empty; name another folder")
    config = config_of(row, arguments.code)
    require_circumstances(row)
    cell = planned_cell(found, config, store)
    if arguments.pretraining:
        refuse_other_ranks(cell)
    device = device_for(row, arguments)
    if config.compile and arguments.pretraining:
        require_compiler(device)
    card = card_of(cell, store, again=arguments.pretraining)
    return ReproductionRequest(cell, config, row, device, card, arguments.pretraining, arguments.keep)


def config_of(row: Row, code: Path | None) -> Config:
    """The config of a row. Raises ConfigError where it names code that the user does not name."""
    stored = row.provenance.get("config", {})
    if not stored:
        raise ConfigError(f"the row {row.key} holds no config: it is of a version that cannot be run again")
    files = code_in(stored)
    if files and code is None:
        raise ConfigError(
            f"the row's config names {', '.join(files)}; code that a store names is not loaded: give the file, "
            f"--code {files[0]}"
        )
    if len(files) > 1:
        raise ConfigError(f"the row's config names several files of code ({', '.join(files)}), and --code gives one")
    return validate(renamed(stored, files[0], str(code)) if files else stored)


def require_circumstances(row: Row) -> None:
    """Raise ConfigError where a row does not tell its device, precision or data, as those of the first versions."""
    told = {
        "device": (row.provenance.get("device") or {}).get("type"),
        "precision": precision_of(row),
        "data": row.provenance.get("data", {}).get(FINGERPRINT),
    }
    if lacking := [name for name, value in told.items() if not value]:
        raise ConfigError(
            f"the row {row.key} does not tell its {' and '.join(lacking)}: it is of a version that cannot be run again"
        )


def code_in(stored: Any) -> list[str]:
    """The files of code, or cards of encoders, that a config names, as keys or values."""
    if isinstance(stored, Mapping):
        return list(dict.fromkeys(name for pair in stored.items() for part in pair for name in code_in(part)))
    if isinstance(stored, list):
        return list(dict.fromkeys(name for part in stored for name in code_in(part)))
    return [stored] if isinstance(stored, str) and is_code(stored) else []


def renamed(stored: Any, old: str, new: str) -> Any:
    """A config with another name of a file, wherever it stands."""
    if isinstance(stored, Mapping):
        return {renamed(key, old, new): renamed(value, old, new) for key, value in stored.items()}
    if isinstance(stored, list):
        return [renamed(part, old, new) for part in stored]
    return new if stored == old else stored


def planned_cell(found: Found, config: Config, store: Store) -> Cell:
    """The cell of the row's key in the grid of its config.

    Raises ConfigError with the parts of the key that differ, where today's code has another key for it.
    """
    row, told = found.row, found.row.provenance
    mode: dict[str, str | int] = {"device": told["device"]["type"], "precision": precision_of(row)}
    mode |= {"compiled": True} if config.compile else {}
    like: list[Cell] = []
    for ranks in possible_ranks(row, store):
        grid = expand(
            config,
            corpus=told.get("corpus", {}).get(FINGERPRINT, ""),
            fingerprints={row.dataset: told["data"][FINGERPRINT]},
            mode=mode | ({"ranks": ranks} if ranks > 1 else {}),
        )
        cells = [cell for cell in grid.cells if cell.key == row.key]
        if cells:
            return next((cell for cell in cells if cell.variant.name == row.variant), cells[0])
        place = (row.variant, row.evaluation, row.ratio, row.seed)
        like += [cell for cell in grid.cells if (cell.variant.name, cell.evaluation, cell.ratio, cell.seed) == place]
    parts = differences(like[0], row.key, store) if like else ()
    why = "; ".join(parts) or "its config has no such cell"
    raise ConfigError(f"{found.name} cannot be run again by this version, whose key for it is another: {why}")


def possible_ranks(row: Row, store: Store) -> Sequence[int]:
    """How many processes may have pretrained a row's encoder: the number that its card tells, any if it is gone."""
    try:
        content = (store.card(row.pretrain_key) or {}).get("key_content") if row.pretrain_key else {}
    except BadCard:
        content = None
    return (ranks_in(content),) if isinstance(content, dict) else range(1, MOST_RANKS + 1)


def ranks_in(content: Mapping[str, Any]) -> int:
    """How many processes pretrain together, as the content of a pretraining's key says."""
    mode = content.get("mode")
    return mode.get("ranks", 1) if isinstance(mode, dict) else 1


def refuse_other_ranks(cell: Cell) -> None:
    """Raise ConfigError if a cell's encoder is pretrained by another number of processes than this command has."""
    needed, size = ranks_in(cell.pretraining.content if cell.pretraining else {}), read_ranks().size
    if needed > 1 and size != needed:
        raise ConfigError(
            f"{needed} processes have pretrained the encoder of {cell.describe()} together, and this command has "
            f"{size}: torchrun --standalone --nproc-per-node {needed} {SCRIPT} reproduce ... --pretraining; without "
            "--pretraining the stored encoder is taken"
        )


def precision_of(row: Row) -> str:
    """The precision that a row was computed in; '' if it does not tell."""
    mode = (row.provenance.get("key_content") or {}).get("mode", {})
    return str(row.provenance.get("precision") or mode.get("precision", ""))


def device_for(row: Row, arguments: Namespace) -> torch.device:
    """The device of `--device`; by default one of the row's type. Raises ConfigError if there is none."""
    kind = str(row.provenance["device"]["type"])
    if arguments.device != "auto":
        return device_of(arguments)
    if kind not in ("cpu", "cuda"):
        raise ConfigError(f"the row {row.key} was made on a device of the unknown type {kind!r}; --device cpu runs it")
    if kind == "cuda" and not torch.cuda.is_available():
        raise ConfigError(
            f"the row {row.key} was made on a GPU ({row.provenance['device'].get('name')}), and torch sees none here; "
            "--device cpu runs it there, and the numbers will differ"
        )
    return torch.device(kind)


def card_of(cell: Cell, store: Store, *, again: bool) -> Mapping[str, Any]:
    """The card of a cell's stored encoder. Raises ConfigError if the encoder is gone and is not pretrained again."""
    if cell.pretraining is None:
        return {}
    folder = store.pretrained / cell.pretrain_key
    try:
        card = checked_card(folder)
    except BadCard as error:
        if not again:
            raise ConfigError(f"{error}; --pretraining makes the encoder again") from None
        card = None
    if card is None and not again:
        raise ConfigError(f"{folder}: the encoder is gone; --pretraining makes it again")
    return card or {}


MOST_THREADS = 4096


@contextmanager
def run_again(asked: ReproductionRequest, store: Store, place: Folders, console: Console) -> Iterator[Store]:
    """Run the cell; yields the fresh store with its row, and with its encoder if it has one.

    Raises ConfigError with the error of a cell or pretraining that fails, DatasetError for data that are not there.
    """
    with TemporaryDirectory(prefix="reproduce-") as temporary:
        fresh = Store(asked.keep or Path(temporary))
        prepared = data_of(asked, place, console)
        folders = {name: data.folder for name, data in prepared.items()}
        if asked.cell.pretraining:
            encoder_for(asked, store, fresh, folders, console)
        job = CellJob(
            asked.cell,
            asked.config,
            folders[asked.config.data.column(asked.cell.dataset).dataset],
            fresh.root,
            str(asked.device),
            precision_of(asked.row),
            dict(asked.row.provenance.get("corpus", {})),
        )
        with computing_on(threads_of(asked.row.provenance.get("device"))):
            (end,) = run_together([job])
        refuse_failed(end, asked.cell.describe())
        yield fresh


def data_of(asked: ReproductionRequest, place: Folders, console: Console) -> dict[str, Prepared]:
    """The prepared datasets that are needed, by name; raises ConfigError where they are not those of the row."""
    config, told = asked.config, asked.row.provenance
    column = config.data.column(asked.cell.dataset)
    trains = asked.pretraining and asked.cell.pretraining is not None and asked.cell.pretraining.method.trains
    names = dict.fromkeys([column.dataset, *([config.data.pretrain] if trains else [])])
    prepared = {name: prepare_data(open_data(config, name, place, console), config, place, console) for name in names}
    wanted = [(of_task(prepared[column.dataset], column), told["data"][FINGERPRINT], column.dataset)]
    if trains:
        corpus = told.get("corpus", {}).get(FINGERPRINT, "not told")
        wanted.append((prepared[config.data.pretrain], corpus, config.data.pretrain))
    for data, fingerprint, name in wanted:
        if data.fingerprint != fingerprint:
            raise ConfigError(
                f"{data.title}: the data here have the fingerprint {data.fingerprint}, those of the row {fingerprint}; "
                f"name the folder of the same recordings, --data {name}=DIR"
            )
    return prepared


def encoder_for(
    asked: ReproductionRequest, store: Store, fresh: Store, folders: Mapping[str, Path], console: Console
) -> None:
    """Put the cell's encoder into the fresh store: a copy of the stored one, or pretrained again."""
    task = asked.cell.pretraining
    assert task is not None
    folder = fresh.pretrained / task.key
    if not asked.pretraining:
        shutil.copytree(store.pretrained / task.key, folder, ignore=shutil.ignore_patterns(CHECKPOINT))
        return
    config, column = asked.config, asked.config.data.column(asked.cell.dataset)
    data = config.data.model_copy(update={"datasets": [column.dataset], "task": [column.task]})
    own = config.model_copy(update={"data": data})  # health is measured on this column's windows alone
    precision = str(asked.card.get("precision") or precision_of(asked.row))
    ranks, threads = ranks_in(task.content), threads_of(asked.card.get("device"))
    job = PretrainingJob(task, own, folders, folder, str(asked.device), precision, config.compile, ranks)
    if ranks > 1:
        call_on_other_ranks(in_step_on, threads, job)
    with step(console, f"pretraining {task.variant.name} seed {task.seed}") as progress, computing_on(threads):
        end = run_to_end(job, lambda done, total, text: progress(done, total))
    refuse_failed(end, f"the pretraining of {task.variant.name}")


def in_step_on(threads: int, job: PretrainingJob) -> None:
    """What the other processes do of a pretraining of several."""
    with computing_on(threads):
        in_step(job)


def threads_of(device: Mapping[str, Any] | None) -> int:
    """Threads of a stored device; of one that does not state them, those of this process.

    Raises ConfigError for a number that no machine has.
    """
    threads = int((device or {}).get("threads") or torch.get_num_threads())
    if threads > MOST_THREADS:
        raise ConfigError(f"its row or card tells of {threads} threads, more than any machine has")
    return threads


@contextmanager
def computing_on(threads: int) -> Iterator[None]:
    """Within, all libraries compute on so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with threadpool_limits(threads):
            yield
    finally:
        torch.set_num_threads(before)


def refuse_failed(end: End, what: str) -> None:
    """Raise ConfigError with the error of a task that failed."""
    if end.failure is not None:
        raise ConfigError(f"{what} failed when it was run again: {end.failure.line}")


CHOICES = ("best_epoch", "C", "neighbours")
"""What a training chooses by the validation score, where it does."""
CIRCUMSTANCES = ("versions", "git", "device", "precision")
"""Entries of a row's provenance that may differ between then and now."""


def told(then: Row, store: Store, fresh: Store, *, pretrained: bool) -> tuple[list[str], bool]:
    """What to say of a cell that was run again, and whether scores, predictions and encoder are equal to the bit.

    pretrained: whether the encoder was pretrained again, else it is a copy.
    """
    now = fresh.load_row(then.key)
    assert now is not None, "the cell has ended without an error, so its row is there"
    before, after = store.predictions(then.key), fresh.predictions(then.key)
    apart = [*encoder_lines(then.pretrain_key, store, fresh), *score_lines(then, now)]
    apart += prediction_lines(before, after)
    about, counted = list(circumstances(then, now)), sum(map(len, now.scores.values()))
    encoder = ""
    if pretrained and then.pretrain_key:
        encoder = "the encoder, " if encoder_card(then.pretrain_key, store) else "(the stored encoder is gone) "
    if not apart:
        said = f"equal: {encoder}{counted} scores and the predictions of {len(after.truth)} windows, to the bit"
        return [*about, said], True
    pairs = [(old, new) for _, _, old, new in scores_of(then, now) if old != new]
    largest = max((abs(new - old) for old, new in pairs if old is not None and new is not None), default=0.0)
    said = f"different: {len(pairs)} of {counted} scores, by up to {largest:.2g}"
    return [*about, *apart, *choice_lines(then, now), said], False


def choice_lines(then: Row, now: Row) -> Iterator[str]:
    """A line for each choice of the training that is another."""
    for name in CHOICES:
        if then.training.get(name) != now.training.get(name):
            yield f"{name}: {then.training.get(name)} then, {now.training.get(name)} now"


def circumstances(then: Row, now: Row) -> Iterator[str]:
    """What differs between the circumstances of the two, a line each."""
    old, new = ({name: row.provenance.get(name) for name in CIRCUMSTANCES} for row in (then, now))
    before, after = flat(old, ""), flat(new, "")
    for name in dict.fromkeys([*before, *after]):
        if before.get(name) != after.get(name):
            yield f"{name}: {before.get(name)} then, {after.get(name)} now"


def score_lines(then: Row, now: Row) -> Iterator[str]:
    """A line for each score that differs."""
    for unit, metric, old, new in scores_of(then, now):
        if old != new:
            change = f" ({new - old:+.2g})" if old is not None and new is not None else ""
            yield f"{unit} {metric}: {old} then, {new} now{change}"


def scores_of(then: Row, now: Row) -> Iterator[tuple[str, str, float | None, float | None]]:
    """Unit, metric, old and new value of every score that either row has."""
    for unit in dict.fromkeys([*then.scores, *now.scores]):
        old, new = then.scores.get(unit, {}), now.scores.get(unit, {})
        yield from ((unit, name, old.get(name), new.get(name)) for name in dict.fromkeys([*old, *new]))


def prediction_lines(then: Predictions, now: Predictions) -> Iterator[str]:
    """A line for each kind of difference of two sets of predictions."""
    for name in ARRAYS:
        old, new = getattr(then, name), getattr(now, name)
        if old.shape != new.shape:
            yield f"predictions: {name} has the shape {old.shape} then, {new.shape} now"
        elif name != "probability" and not np.array_equal(old, new):
            yield f"predictions: {name} differs in {int((old != new).sum())} of {old.size} places"
    if then.probability.shape != now.probability.shape or np.array_equal(then.probability, now.probability):
        return
    apart = np.abs(then.probability.astype(np.float64) - now.probability)  # (n, C)
    moved = int((apart > 0).any(axis=1).sum())
    other = int((then.probability.argmax(axis=1) != now.probability.argmax(axis=1)).sum())
    yield (
        f"predictions: {moved} of {len(apart)} windows differ, by up to {apart.max():.2g}; the most probable class of "
        f"{other} is another"
    )


def encoder_lines(key: str, store: Store, fresh: Store) -> Iterator[str]:
    """How the encoder that was used differs from the stored one; nothing for a copy, or if the stored one is gone."""
    then, now = (encoder_card(key, own) for own in (store, fresh))
    if then is None or now is None or then["sha256"] == now["sha256"]:
        return
    try:
        yield f"encoder: its weights differ by up to {weights_apart(key, store, fresh):.2g}"
    except (SafetensorError, KeyError, RuntimeError, ValueError):  # of a foreign store, under a valid digest
        yield "encoder: the stored weights have other tensors"
    yield f"loss of its last epoch: {last(then)} then, {last(now)} now"


def encoder_card(key: str, store: Store) -> dict[str, Any] | None:
    """The card of an encoder whose files are whole; None for none."""
    try:
        return checked_card(store.pretrained / key) if key else None
    except BadCard:
        return None


def weights_apart(key: str, store: Store, fresh: Store) -> float:
    """The largest difference of a weight between the stored and the new encoder."""
    old, new = (load_tensors((own.pretrained / key / WEIGHTS).read_bytes()) for own in (store, fresh))
    return max(float(torch.max(torch.abs(old[name].double() - new[name].double()))) for name in old)


def last(card: Mapping[str, Any]) -> Any:
    """The loss of a pretraining's last epoch; None where it was not trained."""
    return (card.get("loss") or [None])[-1]


def reproduce(arguments: Namespace, console: Console) -> int:
    """Run the cell again and say what is equal; OK if all is, to the bit.

    Raises ConfigError in one line for a name of no cell or several, and for a row that cannot be run again here;
    DatasetError for data that are not there, NoResults, CorruptRow.
    """

    device_of(arguments)  # what cannot be is refused before the store is read
    place = place_from(arguments)
    store = Store(arguments.results)
    found = find_cell(arguments.results, " ".join(arguments.word))
    asked = plan_reproduction(found, store, arguments)
    with run_again(asked, store, place, console) as fresh:
        lines, equal = told(found.row, store, fresh, pretrained=asked.pretraining)
        for line in lines:
            note(console, line)
    return OK if equal else FAILED
