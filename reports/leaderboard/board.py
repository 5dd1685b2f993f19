"""The blocks of a board: each row's scores with intervals, and its rank where differences are beyond chance.

All numbers are computed from the stored predictions; a row whose stored scores are others is refused. Encoders of
different submissions share the test recordings, so differences are paired by test patient. Runs are paired by seed
where two rows share it, else in order: any pairing of independent runs is valid.

The ranks of a row are those that no significant difference rules out: from one more than the rows significantly above
it, up to the number of rows less those significantly below it. With Holm's correction over all pairs they hold for all
rows at once with 95 % confidence (Mogstad et al. 2024, "Inference for Ranks with Applications to Mobility across
Neighbourhoods and Academic Achievement across Countries", Section 3). A row that differs from no other has no rank.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmark.results.keys import digest
from benchmark.results.metrics import TITLES
from benchmark.results.names import EVALUATION_TITLES, GATE, OVERALL
from benchmark.results.plan import Plan, PlannedCell
from benchmark.results.rows import Row
from benchmark.results.store import Store
from reports.leaderboard.frame import Frame, most_common
from reports.leaderboard.places import Candidate
from reports.runs.run import Run
from reports.statistics.columns import RESAMPLES, ScoreColumn, columns_at
from reports.statistics.interval import LEVEL
from reports.statistics.pairwise import intervals, pairwise
from reports.tables.captions import labels_text, unit_text
from reports.tables.values import Column

ROUNDING = 1e-6
"""Most that a stored score may differ from the one computed from its predictions."""
Rank = tuple[int, int]
"""The best and the worst that is not ruled out."""


class Shown(NamedTuple):
    """One number in percent; NaN where there is none."""

    mean: float
    low: float
    """NaN, as `high`, where there is no interval."""
    high: float
    remark: str


@dataclass(frozen=True)
class BoardRow:
    """A row of one submission."""

    row: Candidate
    scores: tuple[Shown, ...]
    """One per column of its block."""
    rank: Rank | None = None
    """None for a gate, and for a row that differs from no other."""
    shared: tuple[str, ...] = ()
    """Of a gate: further submissions that have it."""

    @property
    def gate(self) -> bool:
        """A reference row: on top, not ranked."""
        return self.row.role == GATE

    @property
    def encoders(self) -> int:
        """Number of its encoders: pretrainings, or initialisations of an untrained row."""
        return len({own.pretrain_key for own in self.row.rows if own.pretrain_key})

    @property
    def seeds(self) -> tuple[int, ...]:
        """Its seeds."""
        return tuple(sorted({own.seed for own in self.row.rows}))


@dataclass(frozen=True)
class Block:
    """The rows at one label ratio of one evaluation, in one score unit."""

    evaluation: str
    unit: str
    ratio: float
    columns: tuple[Column, ...]
    """The last is Overall."""
    rows: tuple[BoardRow, ...]
    """Gates first; each part by Overall, the highest first."""
    pairs: int
    """Number of pairs that were tested."""
    told: int
    """Of these, the significant ones."""

    @property
    def title(self) -> str:
        """'Linear probe, 10 % of the labels, scored per recording'."""
        what = EVALUATION_TITLES.get(self.evaluation, self.evaluation)
        unit = unit_text(self.rows[0].row.submission.run.plan, self.unit)
        return f"{what}, {labels_text(self.ratio, self.evaluation)}, scored per {unit}"


Refused = list[tuple[Candidate, str]]
"""Rows that do not stand on the board, each with its reason."""


def blocks_of(rows: Sequence[Candidate], frame: Frame, units: Sequence[str]) -> tuple[list[Block], Refused]:
    """The blocks of a board by evaluation, label ratio and unit, and the rows that their scores rule out."""
    blocks, refused = [], []
    for evaluation, ratios in frame.ratios.items():
        for ratio in ratios:
            own = [row for row in rows if (row.evaluation, row.ratio) == (evaluation, ratio)]
            for unit in units if own else ():
                block, left_out = _block(own, frame, unit)
                blocks += [block] if block and block.rows else []
                refused += left_out
    return blocks, refused


def _block(rows: Sequence[Candidate], frame: Frame, unit: str) -> tuple[Block | None, Refused]:
    there = {str(number): row for number, row in enumerate(rows)}
    with TemporaryDirectory(prefix="board-") as scratch:
        run = together(there, frame, Path(scratch))
        columns = columns_at(run, run.plan.cells, rows[0].ratio, unit, resamples=RESAMPLES)
    if columns[-1].metric != OVERALL:
        return None, [(row, "incomplete: no score of any row is defined") for row in rows]
    columns, refused = scored_alike(columns, there, unit)
    columns, shared = gates_once(columns, there)
    known = intervals(columns)
    own = {name: _shown(known[known["variant"] == name]) for name in columns[0].variants}
    ranks, pairs, told = ranks_of([replace_rows(columns[-1], [n for n in own if there[n].role != GATE])])
    found = [BoardRow(there[name], scores, ranks.get(name), shared.get(name, ())) for name, scores in own.items()]
    found.sort(key=lambda row: (not row.gate, -row.scores[-1].mean))
    named = (Column(c.dataset, c.metric, frame.titles.get(c.dataset, ""), TITLES[c.metric]) for c in columns)
    block = Block(rows[0].evaluation, unit, rows[0].ratio, tuple(named), tuple(found), pairs, told)
    return block, refused


def gates_once(
    columns: Sequence[ScoreColumn], rows: Mapping[str, Candidate]
) -> tuple[list[ScoreColumn], dict[str, tuple[str, ...]]]:
    """The columns with gates of equal settings, data and seeds once; and the further submissions that have them.

    Equal settings have equal cell keys; the first gate of each stands for all.
    """
    alike: dict[tuple[str, ...], list[str]] = {}
    for name in columns[0].variants:
        row = rows[name]
        own = (row.variant, *sorted(cell.key for cell in row.cells)) if row.role == GATE else (name,)
        alike.setdefault(own, []).append(name)
    shared = {first: tuple(rows[name].submission.name for name in more) for first, *more in alike.values()}
    return [replace_rows(column, list(shared)) for column in columns], shared


def together(rows: Mapping[str, Candidate], frame: Frame, folder: Path) -> Run:
    """Rows of several submissions as one run, whose store links to their predictions; variants are the given names.

    A seed is the place of a run in its row. Cells with equal predictions share a key.
    """
    store = Store(folder)
    store.cells.mkdir(parents=True)
    usual = most_common(tuple(sorted({cell.seed for cell in row.cells})) for row in rows.values())
    cells: list[PlannedCell] = []
    stored: dict[str, Row] = {}
    for name, row in rows.items():
        place = slots({cell.seed for cell in row.cells}, usual)
        for cell in row.cells:
            if cell.dataset not in frame.datasets:
                continue
            own = row.submission
            key = digest([own.tested[cell.key].content, cell.dataset])
            if key not in stored:
                (store.cells / f"{key}.npz").symlink_to((own.run.store.cells / f"{cell.key}.npz").resolve())
            stored.setdefault(key, own.run.rows[cell.key])
            cells.append(replace(cell, key=key, variant=name, seed=place[cell.seed]))
    plan = Plan(
        key="board",
        config={"protocol": frame.protocol, "data": {"labels": frame.labels}},
        variants={name: row.title for name, row in rows.items()},
        datasets={name: {"title": title} for name, title in frame.titles.items()},
        pretraining={},
        cells=cells,
    )
    return Run("board", folder, store, plan, stored, {}, {})


def slots(seeds: set[int], usual: Sequence[int]) -> dict[int, int]:
    """Seed -> its place among the runs of a row: that of the usual seeds, and for others the first that is free."""
    found = {seed: usual.index(seed) for seed in sorted(seeds) if seed in usual}
    taken = set(found.values())
    free = (place for place in count() if place not in taken)
    return found | {seed: next(free) for seed in sorted(seeds) if seed not in usual}


def scored_alike(
    columns: Sequence[ScoreColumn], rows: Mapping[str, Candidate], unit: str
) -> tuple[list[ScoreColumn], Refused]:
    """The columns without the rows whose stored scores are not those of their predictions, or lack one; and these.

    A column that no row has a score in asks for none.
    """
    refused = {name: reason for name, row in rows.items() if (reason := wrong_score(columns[:-1], name, row, unit))}
    kept = [name for name in columns[0].variants if name not in refused]
    return [replace_rows(column, kept) for column in columns], [(rows[name], refused[name]) for name in refused]


def wrong_score(columns: Sequence[ScoreColumn], name: str, row: Candidate, unit: str) -> str:
    """Why the scores of a row rule it out; '' if they do not."""
    for column in columns:
        computed = column.scores[column.variants.index(name), :, 0]  # (S,)
        own = [found for found in row.rows if found.dataset == column.dataset]
        stored = [found.scores.get(unit, {}).get(column.metric) for found in own]
        known = np.sort([score for score in stored if score is not None])
        again = np.sort(computed[np.isfinite(computed)])
        if len(known) != len(again) or (len(known) and np.abs(known - again).max() > ROUNDING):
            return "its stored scores are not those of its predictions"
        if len(known) < len(own) and np.isfinite(column.scores[..., 0]).any():
            reasons = dict.fromkeys(found.undefined.get(unit, {}).get(column.metric, "") for found in own)
            why = ", ".join(filter(None, reasons)) or "undefined"
            return f"incomplete: no {TITLES[column.metric]} on {column.dataset} in some cells ({why})"
    return ""


def replace_rows(column: ScoreColumn, kept: Sequence[str]) -> ScoreColumn:
    """A column with some of its rows."""
    places = [column.variants.index(name) for name in kept]
    return replace(column, variants=tuple(kept), encoders=column.encoders[places], scores=column.scores[places])


def _shown(lines: pd.DataFrame) -> tuple[Shown, ...]:
    """The numbers of a row, in the order of the columns."""
    return tuple(
        Shown(100 * mean, 100 * low, 100 * high, str(remark))
        for mean, low, high, remark in lines[["mean", "low", "high", "remark"]].itertuples(index=False, name=None)
    )


def ranks_of(overall: Sequence[ScoreColumn]) -> tuple[dict[str, Rank], int, int]:
    """Row -> its ranks, for the rows that differ from another one; numbers of tested and of significant pairs."""
    tested = pairwise(overall)
    told = tested[tested["p_holm"] < LEVEL]
    above: Counter[str] = Counter()
    below: Counter[str] = Counter()
    for higher, lower in _ordered(told):
        above[lower] += 1
        below[higher] += 1
    names = overall[0].variants
    ranks = {name: (1 + above[name], len(names) - below[name]) for name in names if above[name] or below[name]}
    return ranks, len(tested), len(told)


def _ordered(told: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """(row above, row below) of each significant pair."""
    for first, second, difference in told[["first", "second", "difference"]].itertuples(index=False, name=None):
        yield (first, second) if difference > 0 else (second, first)


def rank_text(row: BoardRow) -> str:
    """'1', '2–4', or a dash."""
    if row.rank is None:
        return "–"
    best, worst = row.rank
    return str(best) if best == worst else f"{best}–{worst}"


def interval_text(shown: Shown) -> str:
    """'58.0–64.1', or '' where there is no interval."""
    return "" if math.isnan(shown.low) else f"{shown.low:.1f}–{shown.high:.1f}"
