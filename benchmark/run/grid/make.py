"""Make the grid of a config on prepared data, with the keys that a store has."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from benchmark.config.config import Config
from benchmark.data.prepared.load import Prepared
from benchmark.results.store import Store
from benchmark.run.grid.cells import Grid
from benchmark.run.grid.earlier_keys import as_stored, stored_pretrainings
from benchmark.run.grid.expand import NONE, expand
from benchmark.run.grid.variants import Variant
from benchmark.run.machine import Machine


def make_grid(
    config: Config,
    prepared: Mapping[str, Prepared],
    machine: Machine,
    store: Store | None = None,
    variants: tuple[Variant, ...] | None = None,
    forms: Mapping[tuple[str, str], Prepared] = NONE,
) -> Grid:
    """The grid of a config on prepared data; pretrainings that `store` holds under an earlier form keep their key.

    variants: rows in place of those of the config; forms: as in `expand`.
    """
    fingerprints = {column.name: prepared[column.name].fingerprint for column in config.data.columns()}
    form = partial(as_stored, stored=stored_pretrainings(store) if store else {})
    corpus = prepared[config.data.pretrain].fingerprint
    simulated = {name for name, data in prepared.items() if data.simulated}
    return expand(
        config,
        corpus=corpus,
        fingerprints=fingerprints,
        mode=machine.mode(),
        form=form,
        simulated=simulated,
        variants=variants,
        forms=forms,
    )
