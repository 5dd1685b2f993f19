"""The pretraining that a row's name or a key means, with the run whose rows tell how it was cut and scored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.config.errors import ConfigError, unknown
from benchmark.config.sections.data import Data
from benchmark.config.sections.evaluate import Finetune
from benchmark.data.readers.base import LEADS
from benchmark.results.cards import BadCard
from benchmark.results.plan import PlannedCell, with_todays_keys
from benchmark.results.rows import Row
from benchmark.results.store import NoResults, Store
from benchmark.training.weights import checked_card
from reports.runs.run import Run, open_run

SIGNALS = (
    "segmentation", "window_seconds", "window_stride", "short", "rate", "standardise", "leads",
)  # fmt: skip
"""Keys of `data` that say how signals were taken."""
SHOWN = 12
"""Pretrainings that a message lists."""


@dataclass(frozen=True)
class Found:
    """A finished pretraining in a run."""

    run: Run
    variant: str
    """Row of the run's tables."""
    key: str
    card: dict[str, Any]

    @property
    def folder(self) -> Path:
        """Its folder in the store."""
        return self.run.store.pretrained / self.key

    @property
    def cells(self) -> list[PlannedCell]:
        """The row's finished cells on this encoder."""
        rows = self.run.rows
        return [cell for cell in of_row(self.run, self.variant) if rows[cell.key].pretrain_key == self.key]

    @property
    def row(self) -> Row:
        """One of its rows."""
        return self.run.rows[self.cells[0].key]

    @property
    def config(self) -> dict[str, Any]:
        """The config of its row."""
        return with_todays_keys(self.row.provenance["config"])

    def cut(self) -> dict[str, Any]:
        """How its test windows were cut (`benchmark.embedding.saved.Cut`)."""
        finetune, segmentation = self.config.get("finetune", {}), self.signals.cut()
        per_trial = "beats_per_trial" if segmentation.kind == "heartbeats" else "windows_per_trial"
        count = finetune.get(per_trial, getattr(Finetune(), per_trial))
        if segmentation.kind == "recordings":
            count = 1
        cut: dict[str, Any] = {"kind": segmentation.kind, "samples": segmentation.samples, "per_trial": count}
        further: dict[str, Any] = {"stride": segmentation.stride, "pad": segmentation.pad, "scale": self.scale}
        further["present"] = self.signals.leads if len(self.signals.leads) < len(LEADS) else None
        return cut | {name: value for name, value in further.items() if value}

    @property
    def signals(self) -> Data:
        """How its signals were taken."""
        data = self.config["data"]
        return Data(**{name: data[name] for name in SIGNALS if name in data})

    @property
    def scale(self) -> list[float] | None:
        """Mean and deviation of the corpus, where they standardise. Raises ConfigError for an encoder without one."""
        if self.signals.standardise != "dataset":
            return None
        if "scale" not in self.card:
            raise ConfigError(
                f"{self.variant} saw no corpus whose mean and deviation standardise (data.standardise: dataset); "
                "export a pretrained encoder"
            )
        return [float(value) for value in self.card["scale"]]


def find(results: Path, asked: str, seed: int | None) -> Found:
    """The pretraining of a row, by its name or title, or of a key, in the latest run that has it.

    Raises ConfigError, in one line, for an unknown name and where a row has several pretrainings and no seed tells
    which; NoResults if there is no run.
    """
    store = Store(results)
    named: dict[str, str] = {}
    for run in runs_of(store):
        titles = dict(run.plan.variants)
        named = {**titles, **named}
        for variant, keys in pretrainings_of(run).items():
            if asked in keys:
                if seed not in (None, keys[asked]):
                    raise ConfigError(f"{asked} is {variant} with seed {keys[asked]}, not --seed {seed}; leave it out")
                return _checked(run, variant, asked)
            if asked in (variant, titles[variant]) and keys:
                return _checked(run, variant, _one_of(variant, keys, seed))
    if asked in named or asked in named.values():
        raise ConfigError(f"{asked}: no cell of it with an encoder is finished in {results}; the run command goes on")
    if (store.pretrained / asked).is_dir():
        raise ConfigError(f"{asked}: no finished cell in {results} rests on it, so how it was cut is not known")
    raise ConfigError(unknown("row", asked, list(named)))


def runs_of(store: Store) -> Iterator[Run]:
    """The runs of a store, the latest first; what cannot be read is passed over. Raises NoResults if none can."""
    keys, read = store.plan_keys(), 0
    for key in keys:
        with suppress(NoResults):
            run = open_run(store.root, key)
            read += 1
            yield run
    if not read:
        raise NoResults(f"no results in {store.root}: none of its plans can be read")


def of_row(run: Run, variant: str) -> list[PlannedCell]:
    """The finished cells of a row."""
    return [cell for cell in run.plan.cells if cell.variant == variant and cell.key in run.rows]


def pretrainings_of(run: Run) -> dict[str, dict[str, int | None]]:
    """Row -> key -> seed of the pretrainings of its finished cells."""
    found: dict[str, dict[str, int | None]] = {variant: {} for variant in run.plan.variants}
    for variant, keys in found.items():
        rows = [run.rows[cell.key] for cell in of_row(run, variant)]
        keys |= {row.pretrain_key: row.pretrain_seed for row in rows if row.pretrain_key}
    return found


def _one_of(variant: str, keys: dict[str, int | None], seed: int | None) -> str:
    """The key at a seed, or the only one."""
    chosen = [key for key, own in keys.items() if seed is None or own == seed]
    if len(chosen) == 1:
        return chosen[0]
    there = [f"{own} ({key})" for key, own in sorted(keys.items(), key=lambda item: item[1] or 0)]
    more = f" and {len(there) - SHOWN} more" if len(there) > SHOWN else ""
    listed = f"{', '.join(there[:SHOWN])}{more}"
    if seed is None:
        raise ConfigError(
            f"{variant} has {len(keys)} pretrainings: choose one by --seed N or its key; there are {listed}"
        )
    raise ConfigError(f"{variant} has no pretraining with --seed {seed}; there are {listed}")


def _checked(run: Run, variant: str, key: str) -> Found:
    try:
        card = checked_card(run.store.pretrained / key)
    except BadCard as error:
        raise ConfigError(f"{error}; the run command makes it again") from None
    if card is not None and "elsewhere" in card.get("encoder", {}):
        raise ConfigError(f"{variant}: its weights come from elsewhere and are not in the store; use its own file")
    if card is None:
        raise ConfigError(f"{run.store.pretrained / key}: the encoder is gone; the run command makes it again")
    return Found(run, variant, key, card)
