"""Encoders from elsewhere before a run, and the recordings of its columns cut to the signals that they read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from benchmark.config.command_line.values import Place
from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.prepare import cached
from benchmark.data.prepared.windows import Segmentation
from benchmark.data.readers.base import Dataset
from benchmark.elsewhere.seen import refuse_unknown, saw, words_of
from benchmark.elsewhere.tried import tried
from benchmark.elsewhere.windows import segmentation_of
from benchmark.results.names import EVALUATION_FACTS
from benchmark.run.data.datasets import prepare_data
from benchmark.run.grid.cells import Grid
from benchmark.run.grid.expand import unserved_by
from benchmark.run.grid.variants import Variant, methods_of
from benchmark.screen.console import Console
from methods.encoders.pretrained import PretrainedEncoder

Own = dict[tuple[str, str], Prepared]
"""(method, column) -> the column's dataset, cut to the signals of the method's encoder."""


def brought(config: Config) -> Iterator[tuple[Variant, type[PretrainedEncoder]]]:
    """The compared rows whose weights come from elsewhere, with their encoders."""
    for variant in methods_of(config):
        if variant.method is not None and variant.method.brings is not None:
            yield variant, variant.method.brings


def refuse_unusable(config: Config) -> None:
    """Try each encoder from elsewhere on windows of noise, before any data are read.

    Raises ConfigError, in one line, for a card or file that does not hold, and for a row that no evaluation serves.
    """
    for variant, kind in brought(config):
        try:
            tried(kind)
            refuse_unknown(kind, config.data.known())
        except ValueError as error:
            raise ConfigError(str(error)) from None
        unserved = unserved_by(variant, config.evaluate)
        if set(unserved) == set(config.evaluate):
            frozen = ", ".join(name for name, facts in EVALUATION_FACTS.items() if facts.frozen)
            raise ConfigError(f"{kind.word()}: {next(iter(unserved.values()))}; add --evaluate with one of {frozen}")


def prepare_own(config: Config, datasets: Iterable[Dataset], place: Place, console: Console) -> Own:
    """The datasets of the columns cut for each encoder from elsewhere, from the cache if possible."""
    found = each_cut(config, datasets, lambda dataset, cut: prepare_data(dataset, config, place, console, cut))
    return {name: prepared for name, prepared in found.items() if prepared is not None}


def cached_own(config: Config, datasets: Iterable[Dataset], cache: Path) -> Own | None:
    """The same from the cache alone; None where one is not there."""
    found = each_cut(config, datasets, lambda dataset, cut: cached(dataset, cache, dataset.listing(), cut))
    known = {name: prepared for name, prepared in found.items() if prepared is not None}
    return known if len(known) == len(found) else None


def each_cut(
    config: Config, datasets: Iterable[Dataset], make: Callable[[Dataset, Segmentation], Prepared | None]
) -> dict[tuple[str, str], Prepared | None]:
    """What `make` makes of each column's dataset for each encoder from elsewhere, once for equal signals."""
    by_name = {dataset.name: dataset for dataset in datasets}
    made: dict[tuple[str, Segmentation], Prepared | None] = {}
    found: dict[tuple[str, str], Prepared | None] = {}
    for variant, kind in brought(config):
        cut = segmentation_of(kind.signals)
        for column in config.data.columns():
            if (column.dataset, cut) not in made:
                made[column.dataset, cut] = make(by_name[column.dataset], cut)
            found[variant.method_name, column.name] = made[column.dataset, cut]
    return found


def elsewhere_facts(config: Config, prepared: Mapping[str, Prepared], grid: Grid) -> dict[str, dict[str, object]]:
    """Row -> what plans and reports know of its weights from elsewhere."""
    found: dict[str, dict[str, object]] = {}
    for variant in grid.variants:
        kind = variant.method.brings if variant.method is not None else None
        if kind is None:
            continue
        columns = [column.name for column in config.data.columns()]
        seen = {name: saw(kind, prepared[name], config.task_spec(config.finetune, name)) for name in columns}
        found[variant.name] = {
            "pretrained_on": words_of(kind),
            "saw": seen,
            "licence": kind.licence,
            "signals": kind.signals.words(),
            "features": kind.features,
            "unserved": unserved_by(variant, config.evaluate),
        }
    return found
