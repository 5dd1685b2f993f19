"""What is run again of a store's cell: its row tells config, device and precision; keys of today find it in the grid.

Where the row, its encoder or this machine do not allow it, one line says why. No code that a store names is loaded.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmark.config.command_line.values import device_of
from benchmark.config.config import Config
from benchmark.config.declared import is_code
from benchmark.config.errors import ConfigError
from benchmark.config.load import validate
from benchmark.machine.ranks import read_ranks
from benchmark.results.cards import BadCard
from benchmark.results.names import SCRIPT, VALIDATION
from benchmark.results.plan import with_todays_keys
from benchmark.results.rows import Row
from benchmark.results.store import Store
from benchmark.run.grid.cells import Cell
from benchmark.run.grid.earlier_keys import MOST_RANKS, as_stored, stored_pretrainings
from benchmark.run.grid.expand import expand
from benchmark.run.grid.unmatched import differences
from benchmark.training.compiled import require_compiler
from benchmark.training.weights import checked_card
from benchmark.verbs.explain.find import Found

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
    if arguments.pretraining:
        refuse_other_ranks(cell)
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
    mode |= {"compiled": True} if config.compile else {}
    like: list[Cell] = []
    for ranks in possible_ranks(row, store):
        grid = expand(
            config,
            corpus=told.get("corpus", {}).get(FINGERPRINT, ""),
            fingerprints={row.dataset: told["data"][FINGERPRINT]},
            mode=mode | ({"ranks": ranks} if ranks > 1 else {}),
            form=partial(as_stored, stored=stored_pretrainings(store)),
        )
        cells = [cell for cell in grid.cells if cell.key == row.key]
        if cells:
            return next((cell for cell in cells if cell.variant.name == row.variant), cells[0])
        place = (row.variant, row.evaluation, row.ratio, row.seed)
        like += [cell for cell in grid.cells if (cell.variant.name, cell.evaluation, cell.ratio, cell.seed) == place]
    parts = differences(like[0], row.key, found.plan, store) if like and found.plan else ()
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
