"""What is said, after a run, of what its pretrainings have learned: their health, and what to change for a better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmark.results.health import measured_elsewhere
from benchmark.results.store import Store
from benchmark.run.grid.cells import Grid, Pretraining
from benchmark.training.health import COLUMNS, LEGEND, EpochHealth, health_rows, health_warnings, read_health
from benchmark.training.remedies import lower_rate
from benchmark.training.weights import read_card
from benchmark.verbs.report import HealthTold


def health_told(grid: Grid, store: Store) -> HealthTold:
    """The table of the health of the pretrainings, what its columns mean, and its warnings."""
    health = health_of(grid, store)
    kinds = ["label", *("left" for _ in COLUMNS[1:])]
    return {
        "columns": [("", heading, kind) for heading, kind in zip(COLUMNS, kinds, strict=True)],
        "rows": health_rows(health),
        "legend": list(LEGEND) if health else [],
        "warnings": [f"warning: {line}" for line in warnings_of(grid, health)],
    }


def health_of(grid: Grid, store: Store) -> dict[str, list[EpochHealth]]:
    """Name of each finished pretraining -> its health per epoch; without that of other windows than most."""
    read = {name: read_card(store.pretrained / p.key) for name, p in named(grid).items()}
    cards = {name: card for name, card in read.items() if card}
    elsewhere = measured_elsewhere(cards)
    health = {name: read_health(card) for name, card in cards.items() if name not in elsewhere}
    return {name: epochs for name, epochs in health.items() if epochs}


def warnings_of(grid: Grid, health: Mapping[str, Sequence[EpochHealth]]) -> list[str]:
    """Health warnings of the pretrainings, one line each, with the setting to change."""
    lines, pretrainings = [], named(grid)
    for name, epochs in health.items():
        task = pretrainings[name]
        lines += health_warnings(name, epochs, lower_rate(task.method.name, task.variant.config.recipe))
    return lines


def named(grid: Grid) -> dict[str, Pretraining]:
    """Display name ('pmq seed 42') -> pretraining of a grid."""
    return {f"{p.variant.name} seed {p.seed}": p for p in grid.pretrainings}
