"""The verb `reproduce`: a cell run again and compared with what is stored.

It runs in a fresh place, by the config, device and precision of its row, and writes nothing into the store. The data
are found as a run finds them, and refused if their fingerprint is not the row's. The encoder is a copy of the stored
one, or pretrained again. Where the row, its encoder or this machine do not allow it, one line says why. No code that a
store names is loaded.
"""

from __future__ import annotations

import shutil
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from threadpoolctl import threadpool_limits

from benchmark.cli.explain import Found, by_unit, find_cell, stated_card
from benchmark.config import flags
from benchmark.config.command_line import FAILED, OK
from benchmark.config.config import Config, validate
from benchmark.config.errors import ConfigError, is_code
from benchmark.data.prepare import Prepared
from benchmark.data.task import of_task
from benchmark.results.names import VALIDATION
from benchmark.results.schema import flat
from benchmark.results.store import ARRAYS, BadCard, End, Predictions, Row, Store
from benchmark.run.cell import CellJob, run_together
from benchmark.run.datasets import made_of_several, names_of, open_data, prepare_data
from benchmark.run.grid import Cell, expand
from benchmark.run.plan import differences
from benchmark.run.pretraining import PretrainingJob, run_to_end
from benchmark.screen import Console, note, step
from benchmark.training.checkpoint import CHECKPOINT, WEIGHTS, checked_card
from benchmark.training.pretrain import OnStep, require_compiler

T = TypeVar("T")
FINGERPRINT = "fingerprint"
MOST_THREADS = 4096


@dataclass(frozen=True)
class Again:
    """A cell as today's code plans it, and how it is run."""

    cell: Cell
    config: Config
    row: Row
    device: torch.device
    card: Mapping[str, Any]
    """Of its stored encoder; {} for none."""
    pretrained: bool
    """Whether the encoder is pretrained again; else a copy of the stored one is used."""


def reproduce(arguments: Namespace, console: Console) -> int:
    """Run the cell again and say what is equal; OK if all is, to the bit.

    Raises ConfigError in one line for a name of no cell or several, and for a row that cannot be run again here;
    DatasetError for data that are not there, NoResults, CorruptRow.
    """
    flags.device_of(arguments)  # what cannot be is refused before the store is read
    folders, store = flags.place_of(arguments), Store(arguments.results)
    found = find_cell(arguments.results, " ".join(arguments.word))
    if arguments.keep is not None and arguments.keep.exists() and any(arguments.keep.iterdir()):
        raise ConfigError(f"--keep {arguments.keep} is not empty; name another folder")
    again = plan_again(found, store, arguments)
    with TemporaryDirectory(prefix="reproduce-") as temporary:
        fresh = Store(arguments.keep or Path(temporary))
        run_again(again, store, fresh, folders, console)
        verdict = compared(found.row, store, fresh, pretrained=again.pretrained)
    for line in verdict.lines:
        note(console, line)
    return OK if verdict.equal else FAILED


def plan_again(found: Found, store: Store, arguments: Namespace) -> Again:
    """What is run again. Raises ConfigError in one line where the row, its encoder or this machine do not allow it."""
    row = found.row
    if row.evaluation == VALIDATION:
        raise ConfigError(f"{found.name} is a trial of `tune`, which no table shows; `tune` runs its trials again")
    config = config_of(row, arguments.code)
    require_circumstances(row)
    cell = planned_cell(found, config, store)
    device = device_for(row, arguments)
    if config.compile and arguments.pretraining:
        require_compiler(device)
    card = card_of(cell, store, again=arguments.pretraining)
    return Again(cell, config, row, device, card, arguments.pretraining)


def config_of(row: Row, code: Path | None) -> Config:
    """The config of a row. Raises ConfigError where it names code that the user does not name."""
    stored = row.provenance.get("config", {})
    if not stored:
        raise ConfigError(f"the row {row.key} holds no config: it is of a version that cannot be run again")
    files = code_in(stored)
    if not files:
        return validate(stored)
    if code is None:
        raise ConfigError(
            f"the row's config names {', '.join(files)}; code that a store names is not loaded: give the file, "
            f"--code {files[0]}"
        )
    if len(files) > 1:
        raise ConfigError(f"the row's config names several files of code ({', '.join(files)}), and --code gives one")
    return validate(renamed(stored, files[0], str(code)))


def code_in(stored: Any) -> list[str]:
    """The files of code, or cards of encoders, that a config names, as keys or values."""
    if isinstance(stored, str):
        return [stored] if is_code(stored) else []
    parts = [*stored, *stored.values()] if isinstance(stored, Mapping) else stored if isinstance(stored, list) else []
    return list(dict.fromkeys(name for part in parts for name in code_in(part)))


def renamed(stored: Any, old: str, new: str) -> Any:
    """A config with another name of a file, wherever it stands."""
    if isinstance(stored, Mapping):
        return {renamed(key, old, new): renamed(value, old, new) for key, value in stored.items()}
    if isinstance(stored, list):
        return [renamed(part, old, new) for part in stored]
    return new if stored == old else stored


def require_circumstances(row: Row) -> None:
    """Raise ConfigError where a row does not state its device, precision or data, as those of the first versions."""
    stated = {
        "device": (row.provenance.get("device") or {}).get("type"),
        "precision": precision_of(row),
        "data": row.provenance.get("data", {}).get(FINGERPRINT),
    }
    if lacking := [name for name, value in stated.items() if not value]:
        raise ConfigError(
            f"the row {row.key} does not tell its {' and '.join(lacking)}: it is of a version that cannot be run again"
        )


def precision_of(row: Row) -> str:
    """The precision that a row was computed in; '' if it does not state it."""
    mode = (row.provenance.get("key_content") or {}).get("mode", {})
    return str(row.provenance.get("precision") or mode.get("precision", ""))


def planned_cell(found: Found, config: Config, store: Store) -> Cell:
    """The cell of the row's key in the grid of its config.

    Raises ConfigError with the parts of the key that differ, where today's code has another key for it.
    """
    row, facts = found.row, found.row.provenance
    mode: dict[str, str | bool] = {"device": facts["device"]["type"], "precision": precision_of(row)}
    mode |= {"compiled": True} if config.compile else {}
    grid = expand(
        config,
        corpus=facts.get("corpus", {}).get(FINGERPRINT, ""),
        fingerprints={row.dataset: facts["data"][FINGERPRINT]},
        mode=mode,
    )
    if cells := [cell for cell in grid.cells if cell.key == row.key]:
        return next((cell for cell in cells if cell.variant.name == row.variant), cells[0])
    place = (row.variant, row.evaluation, row.ratio, row.seed, row.subset)
    like = [
        cell for cell in grid.cells if (cell.variant.name, cell.evaluation, cell.ratio, cell.seed, cell.subset) == place
    ]
    parts = differences(like[0], row.key, store) if like else ()
    why = "; ".join(parts) or "its config has no such cell"
    raise ConfigError(f"{found.name} cannot be run again by this version, whose key for it is another: {why}")


def device_for(row: Row, arguments: Namespace) -> torch.device:
    """The device of `--device`; by default one of the row's type. Raises ConfigError if there is none."""
    kind = str(row.provenance["device"]["type"])
    if arguments.device != "auto":
        return flags.device_of(arguments)
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
    if again:
        return stated_card(store, cell.pretrain_key)
    folder = store.pretrained / cell.pretrain_key
    try:
        card = checked_card(folder)
    except BadCard as error:
        raise ConfigError(f"{error}; --pretraining makes the encoder again") from None
    if card is None:
        raise ConfigError(f"{folder}: the encoder is gone; --pretraining makes it again")
    return card


def run_again(again: Again, store: Store, fresh: Store, place: flags.Folders, console: Console) -> None:
    """Run the cell, and its pretraining where that is asked for, into a fresh store.

    Raises ConfigError with the error of a cell or pretraining that fails, DatasetError for data that are not there.
    """
    folders, task = data_of(again, place, console, {}), again.cell.pretraining
    if task and again.pretrained:
        with step(console, f"pretraining {task.variant.name} seed {task.seed}") as progress:
            pretrain_again(again, fresh, folders, lambda done, total, text: progress(done, total))
    elif task:
        own = fresh.pretrained / task.key
        shutil.copytree(store.pretrained / task.key, own, ignore=shutil.ignore_patterns(CHECKPOINT))
    cell_again(again, fresh, folders)


def cell_again(again: Again, fresh: Store, folders: Mapping[str, Path]) -> None:
    """Run the cell on as many threads as before, with the encoder of the fresh store."""
    cell, config, row = again.cell, again.config, again.row
    job = CellJob(
        cell,
        config,
        folders[config.data.column(cell.dataset).dataset],
        fresh.root,
        str(again.device),
        precision_of(row),
        dict(row.provenance.get("corpus", {})),
    )
    with computing_on(threads_of(row.provenance.get("device"))):
        (end,) = run_together([job])
    refuse_failed(end, cell.describe())


def data_of(again: Again, place: flags.Folders, console: Console, known: dict[str, Prepared]) -> dict[str, Path]:
    """The folders of the prepared datasets that are needed, by name; those not `known` are prepared, and known then.

    Raises ConfigError where they are not those of the row.
    """
    config, facts = again.config, again.row.provenance
    column, task = config.data.column(again.cell.dataset), again.cell.pretraining
    trains = again.pretrained and task is not None and task.method.trains
    names = dict.fromkeys([column.dataset, *([config.data.pretrain] if trains else [])])
    of_several = any(name not in names_of(config) for name in names)
    for name in names_of(config) if of_several else names:
        if name not in known:
            known[name] = prepare_data(open_data(config, name, place, console), config, place, console)
    if of_several:
        datasets = [open_data(config, name, place, console) for name in names_of(config)]
        for own in made_of_several(config, datasets, known):
            known[own.name] = known.get(own.name) or prepare_data(own, config, place, console)
    prepared = {name: known[name] for name in names}
    wanted = [(of_task(prepared[column.dataset], column), facts["data"][FINGERPRINT], column.dataset)]
    if trains:
        corpus = facts.get("corpus", {}).get(FINGERPRINT, "not told")
        wanted.append((prepared[config.data.pretrain], corpus, config.data.pretrain))
    for data, fingerprint, name in wanted:
        if data.fingerprint != fingerprint:
            raise ConfigError(
                f"{data.title}: the data here have the fingerprint {data.fingerprint}, those of the row {fingerprint}; "
                f"name the folder of the same recordings, --data {name}=DIR"
            )
    return {name: data.folder for name, data in prepared.items()}


def pretrain_again(again: Again, fresh: Store, folders: Mapping[str, Path], on_step: OnStep) -> None:
    """Pretrain the cell's encoder into the fresh store, by as many threads as before."""
    task, config = again.cell.pretraining, again.config
    assert task is not None
    column = config.data.column(again.cell.dataset)
    data = config.data.model_copy(update={"datasets": [column.dataset], "task": [column.task]})
    config = config.model_copy(update={"data": data})  # health is measured on this column's windows alone
    precision = str(again.card.get("precision") or precision_of(again.row))
    threads = threads_of(again.card.get("device"))
    folder = fresh.pretrained / task.key
    job = PretrainingJob(task, config, folders, folder, str(again.device), precision, config.compile)
    with computing_on(threads):
        end = run_to_end(job, on_step)
    refuse_failed(end, f"the pretraining of {task.variant.name}")


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


class Verdict(NamedTuple):
    """What is to be said of a cell that was run again."""

    equal: bool
    """Whether scores, predictions and encoder are equal to the bit."""
    lines: list[str]
    """All that is other than then, and at the end how much of it."""
    short: str
    """In one line: how many scores are others and by how much, and what else is."""


def compared(then: Row, store: Store, fresh: Store, *, pretrained: bool) -> Verdict:
    """The cell then, in one store, against the cell now, in the fresh one.

    pretrained: whether the encoder was pretrained again, else it is a copy.
    """
    now = fresh.load_row(then.key)
    assert now is not None, "the cell has ended without an error, so its row is there"
    scores, before, after = by_unit(now.scores), store.predictions(then.key), fresh.predictions(then.key)
    moved = changes(by_unit(then.scores), scores)
    sizes = {name: new - old for name, (old, new) in moved.items() if old is not None and new is not None}
    encoder = encoder_lines(then.pretrain_key, store, fresh) if pretrained and then.pretrain_key else []
    predictions = list(prediction_lines(before, after))
    apart = list(encoder)
    for name, line in zip(moved, lines_of(moved), strict=True):
        apart.append(line + (f" ({sizes[name]:+.2g})" if name in sizes else ""))
    apart += predictions
    about = lines_of(
        changes(*(flat({name: row.provenance.get(name) for name in CIRCUMSTANCES}) for row in (then, now)))
    )
    if apart:
        about += apart + lines_of(changes(*({name: row.training.get(name) for name in CHOICES} for row in (then, now))))
        largest = max(map(abs, sizes.values()), default=0.0)
        said = f"different: {len(moved)} of {len(scores)} scores, by up to {largest:.2g}"
        return Verdict(False, [*about, said], "; ".join([said, *encoder, *predictions]))
    too = ""
    if pretrained and then.pretrain_key:
        there = stated_card(store, then.pretrain_key)
        too = "the encoder, " if there else "(the stored encoder is gone) "
    said = f"equal: {too}{len(scores)} scores and the predictions of {len(after.truth)} windows, to the bit"
    return Verdict(True, [*about, said], said)


def changes(then: Mapping[str, T], now: Mapping[str, T]) -> dict[str, tuple[T | None, T | None]]:
    """Name -> value then and now, where these differ; None for none."""
    names = dict.fromkeys([*then, *now])
    return {name: (then.get(name), now.get(name)) for name in names if then.get(name) != now.get(name)}


def lines_of(values: Mapping[str, tuple[Any, Any]]) -> list[str]:
    """A line for each value that differs."""
    return [f"{name}: {old} then, {new} now" for name, (old, new) in values.items()]


def prediction_lines(then: Predictions, now: Predictions) -> Iterator[str]:
    """A line for each kind of difference of two sets of predictions."""
    for name in ARRAYS:
        old, new = getattr(then, name), getattr(now, name)
        if old.shape != new.shape:
            yield f"predictions: {name} has the shape {old.shape} then, {new.shape} now"
        elif np.array_equal(old, new):
            continue
        elif name == "probability":
            apart = np.abs(old.astype(np.float64) - new)  # (n, C)
            moved, other = (apart > 0).any(axis=1).sum(), (old.argmax(axis=1) != new.argmax(axis=1)).sum()
            yield (
                f"predictions: {moved} of {len(apart)} windows differ, by up to {apart.max():.2g}; the most probable "
                f"class of {other} is another"
            )
        else:
            yield f"predictions: {name} differs in {(old != new).sum()} of {old.size} places"


def encoder_lines(key: str, store: Store, fresh: Store) -> list[str]:
    """How an encoder that was pretrained again differs from the stored one; nothing if the stored one is gone."""
    then, now = (stated_card(own, key) for own in (store, fresh))
    if not then or then.get("sha256") == now["sha256"]:
        return []
    losses = [(card.get("loss") or [None])[-1] for card in (then, now)]
    return [weights_line(key, store, fresh), "loss of its last epoch: {} then, {} now".format(*losses)]


def weights_line(key: str, store: Store, fresh: Store) -> str:
    """By how much the weights of the new encoder differ from the stored ones, where these are there."""
    try:
        old, new = (load_tensors((own.pretrained / key / WEIGHTS).read_bytes()) for own in (store, fresh))
        apart = max(float(torch.max(torch.abs(old[name].double() - new[name].double()))) for name in old)
    except FileNotFoundError:
        return "encoder: its weights are others, as the digest in its card says"
    except (SafetensorError, KeyError, RuntimeError, ValueError):  # of a foreign store, under a valid digest
        return "encoder: the stored weights have other tensors"
    return f"encoder: its weights differ by up to {apart:.2g}"
