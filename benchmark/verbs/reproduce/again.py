"""Run one cell of a store again from its row: config, data, device, threads and precision are those that it tells.

The data are found as a run finds them, and refused if they are not the row's (fingerprint). The encoder is a copy of
the stored one, or pretrained again. Nothing is written into the store.
"""

from __future__ import annotations

import shutil
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from benchmark.config.command_line.values import Place, device_of
from benchmark.config.config import Config
from benchmark.config.declared import is_code
from benchmark.config.errors import ConfigError
from benchmark.config.load import validate
from benchmark.data.prepared.load import Prepared
from benchmark.data.tasks.relabelled import of_task
from benchmark.results.cards import BadCard
from benchmark.results.failures import End
from benchmark.results.names import VALIDATION
from benchmark.results.plan import with_todays_keys
from benchmark.results.rows import Row
from benchmark.results.store import Store
from benchmark.run.cell import CellJob, run_together
from benchmark.run.data.datasets import open_data, prepare_data
from benchmark.run.grid.cells import Cell
from benchmark.run.grid.earlier_keys import as_stored, stored_pretrainings
from benchmark.run.grid.expand import expand
from benchmark.run.grid.unmatched import differences
from benchmark.run.pretraining import PretrainingJob, run_to_end
from benchmark.screen.console import Console
from benchmark.screen.progress import step
from benchmark.training.compiled import require_compiler
from benchmark.training.weights import CHECKPOINT, checked_card
from benchmark.verbs.explain.find import Found

MOST_THREADS = 4096
FINGERPRINT = "fingerprint"


@dataclass(frozen=True)
class Asked:
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


def asked_of(found: Found, store: Store, arguments: Namespace) -> Asked:
    """What is run again. Raises ConfigError in one line where the row, its encoder or this machine do not allow it."""
    row = found.row
    if row.evaluation == VALIDATION:
        raise ConfigError(f"{found.name} is a trial of `tune`, which no table shows; `tune` runs its trials again")
    if arguments.keep is not None and arguments.keep.exists() and any(arguments.keep.iterdir()):
        raise ConfigError(f"--keep {arguments.keep} is not empty; name another folder")
    config = config_of(row, arguments.code)
    require_circumstances(row)
    cell = cell_of(found, config, store)
    device = device_for(row, arguments)
    if config.compile and arguments.pretraining:
        require_compiler(device)
    card = card_of(cell, store, again=arguments.pretraining)
    return Asked(cell, config, row, device, card, arguments.pretraining, arguments.keep)


def config_of(row: Row, code: Path | None) -> Config:
    """The config of a row. Raises ConfigError where it names code that the user does not name."""
    stored = with_todays_keys(row.provenance.get("config", {}))
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


def cell_of(found: Found, config: Config, store: Store) -> Cell:
    """The cell of the row's key in the grid of its config.

    Raises ConfigError with the parts of the key that differ, where today's code has another key for it.
    """
    row, told = found.row, found.row.provenance
    mode: dict[str, str | int] = {"device": told["device"]["type"], "precision": precision_of(row)}
    grid = expand(
        config,
        corpus=told.get("corpus", {}).get(FINGERPRINT, ""),
        fingerprints={row.dataset: told["data"][FINGERPRINT]},
        mode=mode | ({"compiled": True} if config.compile else {}),
        form=partial(as_stored, stored=stored_pretrainings(store)),
    )
    cells = [cell for cell in grid.cells if cell.key == row.key]
    if cells:
        return next((cell for cell in cells if cell.variant.name == row.variant), cells[0])
    place = (row.variant, row.evaluation, row.ratio, row.seed)
    like = [cell for cell in grid.cells if (cell.variant.name, cell.evaluation, cell.ratio, cell.seed) == place]
    parts = differences(like[0], row.key, found.plan, store) if like and found.plan else ()
    why = "; ".join(parts) or "its config has no such cell"
    raise ConfigError(f"{found.name} cannot be run again by this version, whose key for it is another: {why}")


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


@contextmanager
def run_again(asked: Asked, store: Store, place: Place, console: Console) -> Iterator[Store]:
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


def data_of(asked: Asked, place: Place, console: Console) -> dict[str, Prepared]:
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


def encoder_for(asked: Asked, store: Store, fresh: Store, folders: Mapping[str, Path], console: Console) -> None:
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
    job = PretrainingJob(task, own, folders, folder, str(asked.device), precision, config.compile)
    with (
        step(console, f"pretraining {task.variant.name} seed {task.seed}") as progress,
        computing_on(threads_of(asked.card.get("device"))),
    ):
        end = run_to_end(job, lambda done, total, text: progress(done, total))
    refuse_failed(end, f"the pretraining of {task.variant.name}")


def threads_of(device: Mapping[str, Any] | None) -> int:
    """Threads of a stored device; of an older one that does not tell, those of this process.

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
