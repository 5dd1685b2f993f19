"""Parts of the page: health and loss of each pretraining, data that are missing, and paired differences.

Loss and health of each pretraining, from the untrained encoder to the last epoch, as lines of a table.

A course is a sparkline of a measure over the epochs.

The paired differences of a table's rows as square matrices, one per column and label ratio.

Above the diagonal: row minus column, in points. Below it, at the mirrored place: the Holm-adjusted p value of the pair.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from benchmark.results.names import MEASURES, SKIPPED_COLUMNS, UNTRAINED_EPOCH, collapsed
from benchmark.results.store import Plan, PlannedCell
from reports.results import LOSS, Records, Results, cell_errors
from reports.statistics.estimates import LEVEL
from reports.tables.render import Column, Table
from reports.tables.words import machine_of, ratio_text, signed

HEADINGS = {name: f"{title[0].upper()}{title[1:]}" for name, title in MEASURES.items()}
"""Measures of the features -> heading of their column."""
WIDTH, HEIGHT = 72, 20
"""Of a course, in pixels."""


@dataclass(frozen=True)
class Course:
    """One measure of a pretraining."""

    text: str
    """First and last value, '6.70 → 2.30'; '–' where there is none."""
    points: str
    """Of an SVG polyline; '' for fewer than two values."""


@dataclass(frozen=True)
class Learned:
    """One pretraining."""

    title: str
    key: str
    seed: str
    cost: str
    """Epochs, updates and seconds."""
    machine: str
    loss: Course
    measures: tuple[Course, ...]
    """In the order of `MEASURES`."""
    chance: str
    """Retrieval by chance."""
    collapsed: str
    """Said of features that hardly differ between windows, else ''."""


def learned(cards: Records, titles: Mapping[str, str]) -> Iterator[Learned]:
    """One line per pretraining; shared ones are listed under their first row."""
    seen = set[str]()
    for variant, own in cards.items():
        for key, card in own.items():
            if key not in seen:
                seen.add(key)
                yield _learned(titles[variant], key, card)


def _learned(title: str, key: str, card: Mapping[str, Any]) -> Learned:
    epochs = card.get("health") or [{}]
    last = epochs[-1]
    loss = card.get(LOSS) or []
    courses = {name: course([epoch.get(name) for epoch in epochs]) for name in MEASURES}
    return Learned(
        title=title,
        key=key,
        seed=str(card.get("seed", "–")),
        cost=_cost(card, len(loss)),
        machine=machine_of(card),
        loss=course(loss),
        measures=tuple(courses.values()),
        chance=course([last.get("retrieval_chance")]).text,
        collapsed=_collapsed(last),
    )


def _collapsed(last: Mapping[str, Any]) -> str:
    if not collapsed(last.get("effective_rank"), last.get("mean_cosine")):
        return ""
    what = "untrained" if last.get("epoch") == UNTRAINED_EPOCH else "collapsed"
    return f"{what}: the features hardly differ between windows"


def _cost(card: Mapping[str, Any], epochs: int) -> str:
    if not epochs:
        return "not trained"
    updates = f", {card['updates']} updates" if card.get("updates") else ""
    seconds = f", {card['seconds']:z.0f} s" if card.get("seconds") else ""
    return f"{epochs} epoch{'s' if epochs > 1 else ''}{updates}{seconds}"


def course(values: Sequence[float | None]) -> Course:
    """The sparkline of a measure over the epochs, scaled from its lowest to its highest value."""
    known = [(place, value) for place, value in enumerate(values) if value is not None]
    if not known:
        return Course("–", "")
    ends = dict.fromkeys((known[0], known[-1]))
    text = " → ".join(f"{value:z.2f}" for _, value in ends).replace("-", "−")
    if len(known) < 2:
        return Course(text, "")
    low, high = min(value for _, value in known), max(value for _, value in known)
    across, up = WIDTH / (len(values) - 1), (HEIGHT - 2) / ((high - low) or 1)
    points = " ".join(f"{place * across:z.1f},{HEIGHT - 1 - (value - low) * up:z.1f}" for place, value in known)
    return Course(text, points)


TRACEBACK_LIMIT = 8000
"""Last characters of a traceback that are shown."""


class SkippedRecording(NamedTuple):
    """One line of skipped.csv."""

    dataset: str
    recording: str
    patient: str
    reason: str
    """Kind, a colon, and details of this recording."""


@dataclass(frozen=True)
class Source:
    """Size of one dataset, and its skipped recordings."""

    title: str
    kind: str
    """'simulated' or 'real'."""
    recordings: str
    patients: str
    skipped: int
    reasons: tuple[tuple[str, int], ...]
    """(kind of reason, recordings); the most frequent first."""
    listed: tuple[SkippedRecording, ...]
    """Lines of skipped.csv; empty where their counts are not this plan's."""


@dataclass(frozen=True)
class Unscored:
    """Number of patients of one class, and of those without a scored recording."""

    dataset: str
    label: str
    patients: int
    unscored: int
    reasons: str


@dataclass(frozen=True)
class FailedCells:
    """One error and all cells that ended in it."""

    state: str
    """'failed' or 'damaged'."""
    error: str
    """One line."""
    traceback: str
    """Of the first cell, or its end; '' where none was kept."""
    cells: tuple[str, ...]


def read_skipped(file: Path) -> list[SkippedRecording]:
    """The lines of a skipped.csv; empty where the file is missing or has other columns."""
    try:
        lines = csv.DictReader(StringIO(file.read_text(encoding="utf-8", errors="replace"), newline=""))
        if lines.fieldnames != list(SKIPPED_COLUMNS):
            return []
        return [SkippedRecording(*(line[name] or "" for name in SKIPPED_COLUMNS)) for line in lines]
    except (OSError, csv.Error):
        return []


def sources(plan: Plan, skipped: Sequence[SkippedRecording]) -> Iterator[Source]:
    """The datasets of a plan and its pretraining corpus, each once."""
    corpus = str(plan.pretraining["name"])
    for name, facts in ({corpus: plan.pretraining} | plan.datasets).items():
        reasons = _reasons(facts)
        own = [line for line in skipped if line.dataset == name]
        counted = Counter(line.reason.partition(":")[0] for line in own)
        yield Source(
            title=str(facts.get("title") or name),
            kind="simulated" if facts.get("simulated") else "real",
            recordings=str(facts["recordings"]),
            patients=str(facts["patients"]),
            skipped=sum(reasons.values()),
            reasons=tuple(sorted(reasons.items(), key=lambda found: (-found[1], found[0]))),
            listed=tuple(own) if counted == reasons else (),
        )


def _reasons(facts: Mapping[str, Any]) -> dict[str, int]:
    """Kind of reason -> recordings; a plain count gets 'reason not recorded'."""
    skipped = facts.get("skipped") or {}
    return dict(skipped) if isinstance(skipped, Mapping) else {"reason not recorded": int(skipped)}


def coverage(run: Results) -> Iterator[Unscored]:
    """One line per class of each dataset, from its first finished cell: all have the same recordings."""
    told = set[str]()
    for cell in run.plan.cells:
        row = run.rows.get(cell.key)
        if row is None or not row.coverage or cell.dataset in told:
            continue
        told.add(cell.dataset)
        title = str(run.plan.datasets[cell.dataset]["title"])
        for label, found in row.coverage.items():
            reasons = Counter(found["unscored"].values()).most_common()
            text = ", ".join(f"{reason}: {count}" for reason, count in reasons)
            yield Unscored(title, label, found["patients"], len(found["unscored"]), text)


def failures(run: Results) -> Iterator[FailedCells]:
    """One per error, in plan order."""
    for (state, error), cells in cell_errors(run, run.plan.cells).items():
        failure = run.failures.get(cells[0].key)
        traceback = failure.traceback.strip()[-TRACEBACK_LIMIT:] if failure else ""
        yield FailedCells(state, error, traceback, tuple(dict.fromkeys(_place(run.plan, cell) for cell in cells)))


def _place(plan: Plan, cell: PlannedCell) -> str:
    dataset = plan.datasets[cell.dataset]["title"]
    where = f"{plan.variants[cell.variant]}, {dataset}, {ratio_text(cell.ratio)}, seed {cell.seed}"
    return f"{where}, {cell.evaluation} ({cell.key})"


LEAST_P = 0.001
"""Smaller p values are printed as '<0.001'."""


@dataclass(frozen=True)
class Square:
    """One place of a matrix."""

    text: str = ""
    kind: str = ""
    """'ahead' or 'behind' for a significant difference, 'told' for its p, 'alike' for equivalent rows, 'same' on the
    diagonal, else ''."""
    hint: str = ""
    """Interval of the difference."""


@dataclass(frozen=True)
class Matrix:
    """All pairs of one column at one label ratio."""

    title: str
    overall: bool
    rows: tuple[str, ...]
    """Titles; the columns are the same rows by number."""
    squares: tuple[tuple[Square, ...], ...]


def matrices(table: Table, pairs: pd.DataFrame) -> Iterator[Matrix]:
    """The matrices of a table, by ratio, Overall first; `pairs` is the table's frame of `pairwise`.

    A ratio's matrices have only the rows planned at it.
    """
    for block in table.blocks:
        titles = {line.variant: line.title for line in block.lines}
        for column in (table.columns[-1], *table.columns[:-1]):
            own = pairs[
                (pairs["ratio"] == block.ratio)
                & (pairs["dataset"] == column.dataset)
                & (pairs["metric"] == column.metric)
                & pairs["first"].isin(list(titles))
                & pairs["second"].isin(list(titles))
            ]
            if len(own):
                yield _matrix(f"{_name(column)}, {block.title}", not column.dataset, own, titles)


def _name(column: Column) -> str:
    return f"{column.group} {column.title}".strip()


def _matrix(title: str, overall: bool, pairs: pd.DataFrame, titles: dict[str, str]) -> Matrix:
    variants = list(dict.fromkeys([*pairs["first"], *pairs["second"]]))
    places = {name: place for place, name in enumerate(variants)}
    squares = [[Square(kind="same") if row == column else Square() for column in variants] for row in variants]
    for pair in pairs.to_dict("records"):
        first, second = places[pair["first"]], places[pair["second"]]
        squares[first][second], squares[second][first] = _squares(
            pair["difference"], pair["low"], pair["high"], pair["p_holm"], pair["p_equivalent"] < LEVEL
        )
    return Matrix(title, overall, tuple(titles[name] for name in variants), tuple(map(tuple, squares)))


def _squares(difference: float, low: float, high: float, p: float, equivalent: bool) -> tuple[Square, Square]:
    """The squares of a difference and of its p value; a dash where undefined."""
    if pd.isna(difference):
        return Square("–", hint="the two have no seed in common"), Square("–")
    told = bool(p < LEVEL)
    kind = ("ahead" if difference > 0 else "behind") if told else "alike" if equivalent else ""
    interval = (
        "interval not estimable" if pd.isna(low) else f"{_points(low)} to {_points(high)} at {100 * (1 - LEVEL):g} %"
    )
    return Square(_points(difference), kind, interval), Square(_p_text(p), "told" if told else "")


def _points(value: float) -> str:
    """Points with sign, zero without: '+1.2', '−0.3', '0.0'."""
    text = signed(100 * value)
    return "0.0" if text == "+0.0" else text


def _p_text(p: float) -> str:
    if pd.isna(p):
        return "–"
    return f"<{LEAST_P}" if p < LEAST_P else f"{p:z.3f}" if p < 2 * LEVEL else f"{p:z.2f}"
