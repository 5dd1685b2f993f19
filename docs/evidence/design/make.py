"""Predicted and measured half-widths of docs/COMPARISON.md: python docs/evidence/design/make.py RUNS RUNS ...

RUNS: results stores of the config `small`, each with another seed of the simulator; `DIR@PLAN` names a run of one. Each
report predicts the half-widths of its parts (fewer pretrainings or labelled subsets) and of the other runs, and all
other reports together predict it. Prints the table of the page and writes `widths.csv`, one line per label ratio and
grid; with `--pilot reports/statistics/pilot.csv` it also makes the pilot of `--dry-run`, the parts of all pairs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from reports.open import runs_of
from reports.statistics.bootstrap import ScoreColumn, mean_of, score_columns
from reports.statistics.design import PairParts, median_reach, parts_in, parts_of
from reports.statistics.table import pairwise

Columns = Sequence[ScoreColumn]
"""Of one run and label ratio; Overall is the last."""
TABLE, UNIT = "linear", "recording"
FOUR, THREE, ONE_SUBSET, THREE_SUBSETS = "four pretrainings", "three pretrainings", "one subset", "three subsets"
OTHER, ALL_OTHERS = "another simulation, by one report", "another simulation, by all others"
FOLDER = Path(__file__).parent
RESAMPLES = 1000
NEAR = 0.2
"""Share of the half-width that came, within which a prediction counts as near."""


def columns_of(source: str) -> dict[float, list[ScoreColumn]]:
    """Label ratio -> the columns of a run's linear probe."""
    with TemporaryDirectory() as scratch:
        (run,) = runs_of(source, Path(scratch))
        cells = [cell for cell in run.plan.cells if cell.evaluation == TABLE]
        found: dict[float, list[ScoreColumn]] = {}
        for column in score_columns(run, cells, UNIT, resamples=RESAMPLES):
            found.setdefault(column.ratio, []).append(column)
    return found


def part(columns: Columns, seeds: Sequence[int], subsets: Sequence[int]) -> ScoreColumn:
    """Overall of the chosen places of seeds and labelled subsets."""
    chosen = [own.runs[:, seeds][:, :, subsets] for own in columns if own.runs is not None]  # each (V, s, l, 1+R)
    overall = columns[-1]
    scores = np.mean([mean_of(own, axis=2) for own in chosen], axis=0)  # (V, s, 1+R)
    numbers = tuple(overall.seeds[place] for place in seeds)
    return replace(overall, seeds=numbers, encoders=overall.encoders[:, list(seeds)], scores=scores)


def half_width(overall: ScoreColumn) -> float:
    """The median over the pairs of rows, in points of Overall."""
    found = pairwise([overall])
    return 100 * float((found["high"] - found["low"]).median()) / 2


def predicted(pilot: Sequence[PairParts], overall: ScoreColumn, seeds: int, subsets: int) -> float:
    """The half-width that a pilot predicts of so many seeds and subsets on the test patients of a column."""
    rows = len(overall.variants)
    design = {"seeds": seeds, "subsets": subsets, "patients": overall.patients, "pairs": rows * (rows - 1) // 2}
    return 100 * median_reach(pilot, **design).half_width


def widths(runs: Mapping[int, Columns]) -> Iterator[dict[str, object]]:
    """One line per predicted grid of the runs at one label ratio: what it is, and both half-widths."""
    pilots = {number: parts_in(parts_of(columns)) for number, columns in runs.items()}
    for number, columns in runs.items():
        overall = columns[-1]
        known = next(own.runs for own in columns if own.runs is not None)  # (V, S, L, 1+R)
        seeds, subsets = list(range(known.shape[1])), list(range(known.shape[2]))
        grids = [
            (what, chosen, subsets) for what, count in ((FOUR, 4), (THREE, 3)) for chosen in combinations(seeds, count)
        ]
        grids += [(ONE_SUBSET, seeds, [place]) for place in subsets]
        grids += [(THREE_SUBSETS, seeds, subsets[start : start + 3]) for start in range(0, len(subsets) - 2, 3)]
        for what, some_seeds, some_subsets in grids:
            told = predicted(pilots[number], overall, len(some_seeds), len(some_subsets))
            yield {
                "run": number,
                "grid": what,
                "predicted": told,
                "came": half_width(part(columns, list(some_seeds), some_subsets)),
            }
        came = half_width(overall)
        others = [other for other in runs if other != number]
        for other in others:
            told = predicted(pilots[other], overall, len(seeds), len(subsets))
            yield {"run": number, "grid": OTHER, "predicted": told, "came": came}
        together = [pair for other in others for pair in pilots[other]]
        told = predicted(together, overall, len(seeds), len(subsets))
        yield {"run": number, "grid": ALL_OTHERS, "predicted": told, "came": came}


def table(found: pd.DataFrame) -> Iterator[str]:
    """The rows of the page's table, from the lines of `widths`."""
    for grid in found["grid"].unique():
        own = found[found["grid"] == grid]
        cells = [grid, str(len(own) // found["ratio"].nunique())]
        for ratio in sorted(found["ratio"].unique(), reverse=True):
            there = own[own["ratio"] == ratio]
            near = (there["predicted"] / there["came"] - 1).abs() <= NEAR
            cells += [span(there["predicted"]), span(there["came"]), f"{100 * near.mean():.0f} %"]
        yield f"| {' | '.join(cells)} |"


def span(values: pd.Series) -> str:
    """'1.9 (1.7 to 2.1)': the median, and the ends."""
    return f"{values.median():.1f} ({values.min():.1f} to {values.max():.1f})"


def study() -> None:
    """Read, write."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("runs", nargs="+", metavar="RUNS")
    asked.add_argument("--pilot", type=Path, help="table of parts, whose lines of other tables stay")
    given = asked.parse_args()
    found = {number: columns_of(source) for number, source in enumerate(given.runs, 1)}
    ratios = list(found[1])
    lines = [
        {"ratio": ratio} | line
        for ratio in ratios
        for line in widths({number: columns[ratio] for number, columns in found.items()})
    ]
    measured = pd.DataFrame(lines).round(3)
    measured.to_csv(FOLDER / "widths.csv", index=False)
    print(*table(measured), sep="\n")
    if given.pilot:
        parts = [parts_of(columns[ratio]) for ratio in ratios for columns in found.values()]
        pilot = pd.concat(parts).assign(table=f"{TABLE}-{UNIT}").round(6)
        before = pd.read_csv(given.pilot)
        others = before[before["table"] != f"{TABLE}-{UNIT}"]
        pd.concat([others, pilot[before.columns]]).to_csv(given.pilot, index=False)


if __name__ == "__main__":
    study()
