"""`--dry-run`: what a grid will be able to tell apart, and with `--tell-apart` the cheapest grid that tells more.

The parts of the error come from a pilot: the report that lies in --out, else, for simulated data under protocol
`strict`, the shipped one: of the config `small` with seven seeds of the simulator (reports/statistics/pilot.csv). How
the parts make an interval of another grid says `reports.statistics.design`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd

from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.data.folds import tested_recordings
from benchmark.data.prepare import Prepared
from benchmark.results.names import METHOD, UNIT_OF_PROTOCOL, is_frozen
from benchmark.run.estimate import HELD_OUT_SHARE
from benchmark.run.grid import Cell, Grid, Pretraining, repeats_of, subsets_of
from benchmark.screen import duration
from reports.statistics.design import DESIGN, FEWEST_SEEDS, PairParts, Reach, median_reach, parts_in, shares_text

SUBSETS = (1, 2, 3, 5, 10, 20)
"""Labelled subsets per encoder that a proposal chooses among."""
MOST_SEEDS = 30
SHIPPED = "pilot.csv"

Place = tuple[str, float]
"""Evaluation and label ratio of a table."""
Seconds = Callable[[Pretraining | Cell], float]


@dataclass(frozen=True)
class Pilot:
    """The parts of the error by table, and where they were read."""

    source: str
    parts: Mapping[Place, Sequence[PairParts]]


def pilot_of(config: Config, out: Path) -> Pilot | None:
    """The report in `out` where it has one of the config's tables, else the shipped pilot; None where neither fits.

    Raises ConfigError for a file in `out` that is no such table.
    """
    unit = UNIT_OF_PROTOCOL[config.protocol]
    places = [(evaluation, float(ratio)) for evaluation in config.evaluate for ratio in config.ratios]
    file = out / f"{DESIGN}.csv"
    if file.is_file():
        try:
            parts = _read(pd.read_csv(file), unit, places)
        except (OSError, ValueError, KeyError) as error:
            raise ConfigError(f"{file} is damaged ({error}): write the report again, or name another --out") from None
        if parts:
            return Pilot(str(file), parts)
    if config.data.simulation is None or config.protocol != "strict":
        return None
    with files("reports.statistics").joinpath(SHIPPED).open() as shipped:
        parts = _read(pd.read_csv(shipped), unit, places)
    return Pilot("runs of the config `small`, five pretrainings of each row", parts) if parts else None


def _read(frame: pd.DataFrame, unit: str, places: Sequence[Place]) -> dict[Place, list[PairParts]]:
    tables = {
        (evaluation, ratio): frame[(frame["table"] == f"{evaluation}-{unit}") & np.isclose(frame["ratio"], ratio)]
        for evaluation, ratio in places
    }
    return {place: parts_in(own) for place, own in tables.items() if len(own)}


def patients_tested(config: Config, prepared: Mapping[str, Prepared]) -> int | None:
    """The fewest test patients of a dataset: counted once it is prepared, estimated if simulated, else not known."""
    simulation = config.data.simulation
    counts = []
    for name in config.data.datasets:
        if name in prepared:
            tested = tested_recordings(prepared[name], config.task_spec(config.finetune, name))
            counts.append(len({prepared[name].entries[r].patient for r in tested}))
        elif simulation is not None:
            counts.append(round(HELD_OUT_SHARE * simulation.sizes()[name]) + simulation.test_patients.get(name, 0))
        else:
            return None
    return min(counts)


def lines_of(config: Config, grid: Grid, prepared: Mapping[str, Prepared], out: Path) -> Iterator[str]:
    """What the grid will tell apart, a line per table; or in one line why that is not known."""
    pairs = pairs_of(grid)
    if not pairs or len(config.seeds) < FEWEST_SEEDS:
        return
    pilot = pilot_of(config, out)
    if pilot is None:
        yield (
            f"what it can tell apart is known once a report lies in {out}: run two methods on three seeds first, with "
            "--protocol strict for a comparison of methods"
        )
        return
    yield (
        f"what it can tell apart in Overall (power 80 %, after Holm's correction over {pairs} "
        f"pair{'s' if pairs > 1 else ''}; medians of the pairs, from {pilot.source}):"
    )
    reach = _reach_in(config, grid, prepared)
    for (evaluation, ratio), parts in pilot.parts.items():
        found = reach(parts, evaluation, seeds=len(config.seeds), subsets=subsets_of(config, evaluation, ratio))
        yield f"  {evaluation}, {100 * ratio:g} %: {words_of(found)}"


def pairs_of(grid: Grid) -> int:
    """Pairs of compared rows of the grid's main tables."""
    rows = sum(variant.role == METHOD for variant in grid.variants)
    return rows * (rows - 1) // 2


def words_of(found: Reach) -> str:
    """'differences from 3.1 points, interval ±2.0, whose variance is of encoders 80 %, labelled subsets 20 %'."""
    return (
        f"differences from {100 * found.detectable:.1f} points, interval ±{100 * found.half_width:.1f}, whose variance "
        f"is of {shares_text(found)}"
    )


def _reach_in(config: Config, grid: Grid, prepared: Mapping[str, Prepared]) -> Callable[..., Reach]:
    """What a table of the grid tells apart, as a function of a pilot's parts, evaluation, seeds and subsets."""
    patients, pairs = patients_tested(config, prepared), max(1, pairs_of(grid))

    def reach(parts: Sequence[PairParts], evaluation: str, *, seeds: int, subsets: int) -> Reach:
        tested, repeats = patients or parts[0].patients, repeats_of(config, evaluation)
        return median_reach(parts, seeds=seeds, subsets=subsets, repeats=repeats, patients=tested, pairs=pairs)

    return reach


def proposal(
    points: float, config: Config, grid: Grid, prepared: Mapping[str, Prepared], out: Path, seconds: Seconds, jobs: int
) -> Iterator[str]:
    """The cheapest numbers of seeds and labelled subsets that tell `points` apart in every table, with their time.

    seconds: of a task of the grid, of which `jobs` run at once. One line says where no such grid is found.
    """
    pilot = pilot_of(config, out)
    if pilot is None:
        return
    reach = _reach_in(config, grid, prepared)
    choices = SUBSETS if any(map(is_frozen, config.evaluate)) and config.protocol == "strict" else (1,)

    def worst(seeds: int, subsets: int) -> float:
        """The difference in points that every table tells apart."""
        drawn = {own: subsets if is_frozen(own) else config.finetuned_subsets for own in config.evaluate}
        each = (reach(parts, own, seeds=seeds, subsets=drawn[own]) for (own, _), parts in pilot.parts.items())
        return 100 * max(found.detectable for found in each)

    able = [subsets for subsets in choices if worst(MOST_SEEDS, subsets) <= points]
    if not able:
        yield (
            f"no grid of up to {MOST_SEEDS} seeds and {max(choices)} labelled subsets tells {points:g} points apart in "
            f"every table: the largest tells {worst(MOST_SEEDS, max(choices)):.1f}"
        )
        return
    every = range(FEWEST_SEEDS, MOST_SEEDS + 1)
    found = []
    for subsets in able:
        seeds = every[bisect_left(every, True, key=lambda count: worst(count, subsets) <= points)]
        found.append((cost_of(grid, seconds, seeds / len(config.seeds), subsets) / jobs, seeds, subsets))
    cost, seeds, subsets = min(found)
    first = config.seeds[0]
    flags = f"--seeds {' '.join(map(str, range(first, first + seeds)))}"
    flags += f" --subsets {subsets}" if len(choices) > 1 else ""
    yield f"the cheapest grid that tells {points:g} points apart in every table, {duration(cost)} from nothing: {flags}"


def cost_of(grid: Grid, seconds: Seconds, times: float, subsets: int) -> float:
    """Seconds of a grid with so many times the seeds, and `subsets` labelled subsets of frozen encoders."""
    drawn: dict[str, int] = {}
    for cell in grid.cells:
        drawn[cell.table] = max(drawn.get(cell.table, 1), cell.subset + 1)
    pretraining = sum(map(seconds, grid.pretrainings))
    cells = 0.0
    for cell in {own.key: own for own in grid.cells}.values():
        cells += seconds(cell) * (subsets / drawn[cell.table] if is_frozen(cell.table) else 1.0)
    return times * (pretraining + cells)
