"""A leaderboard: the rows of several submissions that compare, with intervals and ranks.

A submission is a results capsule, a results folder, or one run of it (FOLDER@KEY). Unlike a merge (reports.open), which
puts the cells of comparable configs into one table, every submission keeps its own rows, and methods, encoders, budgets
and machines may differ. What a submission was tested on is read from the predictions of every cell, not from its plan.

The submissions decide what the rows of a board have in common: what most of them share, the first on a tie. Protocol,
kind of labels and signals come first; then, among the submissions of these, the datasets with their test windows, the
label ratios of each evaluation, and the versions of split and evaluation.

A row is a method, a method under a further preset, or a gate, at one label ratio of one evaluation. It is there whole
or not at all: every planned seed on every dataset of the board finished, on the board's test windows.

All numbers are computed from the stored predictions; a row whose stored scores are others is refused. Submissions share
the test recordings, so differences are paired by test patient. Runs are paired by seed where two rows share it, else in
order: any pairing of independent runs is valid.

The ranks of a row are those that no significant difference rules out: from one more than the rows significantly above
it, up to the number of rows less those significantly below it. With Holm's correction over all pairs they hold for all
rows at once with 95 % confidence (Mogstad et al. 2024, "Inference for Ranks with Applications to Mobility across
Neighbourhoods and Academic Achievement across Countries", Section 3). A row that differs from no other has no rank.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from benchmark.results.files import harmless
from benchmark.results.metrics import TITLES
from benchmark.results.names import (
    CLASSICAL_TITLES,
    EVALUATION_TITLES,
    FROZEN,
    GATE,
    METHOD,
    OVERALL,
    PRESET,
    SUPERVISED,
    UNTRAINED,
    takes_shots,
)
from benchmark.results.schema import digest
from benchmark.results.store import CorruptRow, NoResults, Plan, PlannedCell, Row, Store, labels_of
from reports.open import ALL, portable, runs_of
from reports.runs import Run, evaluations_of, role_of
from reports.statistics.bootstrap import RESAMPLES, ScoreColumn, columns_at
from reports.statistics.estimates import LEVEL
from reports.statistics.table import intervals, pairwise
from reports.tables.render import Column
from reports.tables.words import labels_text, ratio_text, unit_text

LONGEST_NAME = 60
"""Characters of a submission's name."""


class Tested(NamedTuple):
    """Digests of one cell's predictions."""

    windows: str
    """Recording and patient of each test window, in order."""
    labels: str
    """Their labels, in order."""
    content: str
    """Of the whole file: cells with equal predictions share it."""


@dataclass(frozen=True)
class Submission:
    """One opened run with a name of its own."""

    name: str
    run: Run
    tested: dict[str, Tested]
    """Cell key -> digests, for the finished cells."""


class Unread(NamedTuple):
    """A source that is no submission, and why."""

    name: str
    reason: str


@contextmanager
def open_submissions(sources: Sequence[str]) -> Iterator[tuple[list[Submission], list[Unread]]]:
    """The submissions that the sources name, in their order, and what cannot be read; capsules are deleted on exit."""
    opened: list[tuple[str, Run]] = []
    unread: list[Unread] = []
    with TemporaryDirectory(prefix="results-") as scratch:
        for number, source in enumerate(dict.fromkeys(sources)):
            try:
                runs = runs_of(source, Path(scratch) / str(number))
            except (NoResults, OSError) as error:
                there = Path(source).exists() or Path(source.rpartition("@")[0] or source).exists()
                unread.append(Unread(name_of(source), shown(str(error)) if there else "no such file or folder"))
                continue
            several = source.endswith(f"@{ALL}")
            opened += [(f"{name_of(source)}@{run.plan.key}" if several else name_of(source), run) for run in runs]
        named = zip(unique([name for name, _ in opened]), (run for _, run in opened), strict=True)
        found, again = once([submission(name, run) for name, run in named])
        yield found, [*unread, *again]


def once(submissions: Sequence[Submission]) -> tuple[list[Submission], list[Unread]]:
    """The submissions without those that hold the same results as an earlier one."""
    first: dict[str, Submission] = {}
    again = []
    for own in submissions:
        content = digest([own.run.plan.key, sorted(own.tested.items())])
        if content in first:
            again.append(Unread(own.name, f"the same results as {first[content].name}"))
        first.setdefault(content, own)
    return list(first.values()), again


def submission(name: str, run: Run) -> Submission:
    """A submission of a run; rows whose predictions cannot be read count as damaged."""
    tested, damaged = {}, dict(run.damaged)
    for key in run.rows:
        try:
            tested[key] = digests_of(run.store, key)
        except CorruptRow as error:
            damaged[key] = str(error)
    damaged = {key: shown(problem) for key, problem in damaged.items()}
    rows = {key: row for key, row in run.rows.items() if key in tested}
    return Submission(name, Run(run.name, run.source, run.store, run.plan, rows, run.failures, damaged), tested)


def digests_of(store: Store, key: str) -> Tested:
    """The digests of a cell's predictions. Raises CorruptRow."""
    found = store.predictions(key)
    names = [*found.recording.tolist(), "", *found.patient.tolist()]
    return Tested(
        windows=_sha256("\n".join(harmless(name).replace("\n", "?") for name in names).encode()),
        labels=_sha256(repr(found.truth.shape).encode() + found.truth.tobytes()),
        content=_sha256((store.cells / f"{key}.npz").read_bytes()),
    )


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def name_of(source: str) -> str:
    """'alice' of capsules/alice.zip, 'runs@KEY' of home/runs@KEY: no folder of this machine is shown."""
    path, separator, key = source.rpartition("@")
    if separator and path and not Path(source).exists():
        name = Path(path).name + ("" if key == ALL else f"@{key}")
    else:
        name = Path(source).resolve().name
    return one_line(name.removesuffix(".zip"))[:LONGEST_NAME] or "submission"


def unique(names: Sequence[str]) -> list[str]:
    """The names, equal ones numbered: 'alice', 'alice (2)'."""
    seen: Counter[str] = Counter()
    found: list[str] = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def shown(problem: str) -> str:
    """A problem in one line, without the folders of this machine."""
    return one_line(str(portable(problem)))


def one_line(text: str) -> str:
    """Text of others on one line, without harmful characters."""
    return " ".join(harmless(text).split())


T = TypeVar("T", bound=Hashable)
SPLIT = "split"
"""The results version that rows of every evaluation have."""


class TestSet(NamedTuple):
    """What the cells of a board were tested on, of one dataset."""

    windows: str
    """Digest of recordings and patients (`Tested`)."""
    labels: str
    """Digest of the labels."""
    classes: tuple[str, ...]
    fingerprint: str
    """Of the data; '' where a row does not say."""


@dataclass(frozen=True)
class Frame:
    """What a row must have to stand on the board."""

    protocol: str
    labels: str
    """'single' or 'multi'."""
    datasets: dict[str, TestSet]
    """In the order of the columns."""
    ratios: dict[str, tuple[float, ...]]
    """Evaluation -> label ratios, the largest first."""
    versions: dict[tuple[str, str], int]
    """(evaluation of the cells, stage) -> results version."""
    titles: dict[str, str]
    """Dataset -> title."""
    simulated: frozenset[str]
    """The datasets that any submission says are simulated."""
    signals: str = ""
    """How signals were taken (`signals_of`)."""


def frame_of(submissions: Sequence[Submission]) -> Frame:
    """The frame of some submissions, at least one."""
    protocol, labels, signals = most_common(map(rules_of, submissions))
    alike = [own for own in submissions if rules_of(own) == (protocol, labels, signals)]
    datasets = dict(most_common(tuple(test_sets(own).items()) for own in alike))
    evaluations = dict.fromkeys(name for own in alike for name in evaluations_of(own.run.plan))
    ratios = {name: most_common(found for own in alike if (found := ratios_of(own, name))) for name in evaluations}
    plans = [own.run.plan for own in alike]
    return Frame(
        protocol=protocol,
        labels=labels,
        datasets=datasets,
        ratios=ratios,
        versions=versions_of(alike),
        titles={
            name: most_common(str(own.datasets[name].get("title") or name) for own in plans if name in own.datasets)
            for name in datasets
        },
        simulated=frozenset(name for plan in plans for name, facts in plan.datasets.items() if facts.get("simulated")),
        signals=signals,
    )


def most_common(values: Iterable[T]) -> T:
    """The value that occurs most often; the first of those on a tie."""
    return Counter(values).most_common(1)[0][0]


def rules_of(own: Submission) -> tuple[str, str, str]:
    """Protocol, kind of labels and signals of a submission."""
    plan = own.run.plan
    return str(plan.config["protocol"]), labels_of(plan), signals_of(own)


def signals_of(own: Submission) -> str:
    """How a submission's signals and predictions differ from the default in what no digest tells; '' if they do not."""
    other = own.run.plan.other_signals
    leads = [f"leads {' '.join(other['leads'])}"] if "leads" in other else []
    return ", ".join([*leads, *(f"{name} {other[name]}" for name in ("standardise", "pool") if name in other)])


def test_sets(own: Submission) -> dict[str, TestSet]:
    """Dataset -> what the first finished cell on it was tested on, in the order of the plan."""
    first: dict[str, str] = {}
    for cell in own.run.plan.cells:
        if cell.key in own.run.rows:
            first.setdefault(cell.dataset, cell.key)
    return {name: test_set(own, first[name]) for name in own.run.plan.datasets if name in first}


def test_set(own: Submission, key: str) -> TestSet:
    """What a finished cell was tested on."""
    row, tested = own.run.rows[key], own.tested[key]
    facts: dict[str, Any] = own.run.plan.datasets.get(row.dataset, {})
    fingerprint = row.provenance.get("data", {}).get("fingerprint") or facts.get("fingerprint") or ""
    return TestSet(tested.windows, tested.labels, tuple(facts.get("classes") or ()), str(fingerprint))


def ratios_of(own: Submission, evaluation: str) -> tuple[float, ...]:
    """The label ratios of a submission's finished cells in the tables of an evaluation, the largest first."""
    cells = (cell for cell in own.run.plan.cells if cell.evaluation == evaluation and cell.key in own.run.rows)
    return tuple(sorted({cell.ratio for cell in cells}, reverse=True))


def versions_of(submissions: Sequence[Submission]) -> dict[tuple[str, str], int]:
    """(evaluation, stage) -> the results version that most rows have, of split and of the evaluation itself."""
    found: dict[tuple[str, str], list[int]] = {}
    for own in submissions:
        for row in own.run.rows.values():
            for stage, version in stage_versions(row).items():
                found.setdefault((row.evaluation, stage), []).append(version)
    return {place: most_common(versions) for place, versions in found.items()}


def stage_versions(row: Row) -> dict[str, int]:
    """The results versions of a row's split and evaluation; {} for a row that does not say."""
    told = row.provenance.get("results_versions", {})
    return {stage: told[stage] for stage in (SPLIT, row.evaluation) if stage in told}


GATES = (UNTRAINED, FROZEN, *CLASSICAL_TITLES, SUPERVISED)
"""Rows that are references on a board, compared in their run or not."""
NAMED = 5
"""Rows that a line names; the rest are counted."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """One row of one submission at one label ratio of one evaluation."""

    submission: Submission
    evaluation: str
    ratio: float
    variant: str
    cells: tuple[PlannedCell, ...]

    @property
    def title(self) -> str:
        """The row's title in its own run's tables."""
        return self.submission.run.plan.variants[self.variant]

    @property
    def role(self) -> str:
        """The row's role; reference rows are gates whatever their run compares."""
        return GATE if self.variant in GATES else str(role_of(self.submission.run.plan, self.variant)["role"])

    @property
    def rows(self) -> list[Row]:
        """Its finished cells."""
        return [self.submission.run.rows[cell.key] for cell in self.cells if cell.key in self.submission.run.rows]


class Listed(NamedTuple):
    """What is not on the board."""

    submission: str
    what: str
    """The rows, evaluations and label ratios; 'all' for a whole submission."""
    reason: str


def candidates(submissions: Sequence[Submission]) -> Iterator[Candidate]:
    """The rows of all submissions, in the order of their plans."""
    for own in submissions:
        found: dict[tuple[str, float, str], list[PlannedCell]] = {}
        for cell in own.run.plan.cells:
            found.setdefault((cell.evaluation, cell.ratio, cell.variant), []).append(cell)
        for (evaluation, ratio, variant), cells in found.items():
            yield Candidate(own, evaluation, ratio, variant, tuple(cells))


def placed(submissions: Sequence[Submission], frame: Frame) -> tuple[list[Candidate], list[tuple[Candidate, str]]]:
    """The rows that stand on the board, and the others, each with its reasons in one line."""
    there, apart = [], []
    for row in candidates(submissions):
        if reasons := list(dict.fromkeys(why_not(row, frame))):
            apart.append((row, "; ".join(reasons)))
        else:
            there.append(row)
    return there, apart


def why_not(row: Candidate, frame: Frame) -> Iterator[str]:
    """Why a row does not compare with those of the board, one phrase each."""
    if row.role not in (METHOD, PRESET, GATE):
        yield f"no row of a board: {row.role} rows are about a method"
        return
    yield from _other_rules(row, frame)
    ratios = frame.ratios.get(row.evaluation, ())
    if row.ratio not in ratios:
        here = ", ".join(ratio_text(ratio, row.evaluation) for ratio in ratios)
        yield f"other ratio: {labels_text(row.ratio, row.evaluation)}, here {here}"
    for name in frame.datasets:
        yield from _other_tests(row, frame, name)
        yield from _incomplete(row, frame, name)
    yield from _other_versions(row, frame)


def _other_rules(row: Candidate, frame: Frame) -> Iterator[str]:
    plan = row.submission.run.plan
    config, told = plan.config, labels_of(plan)
    for protocol in dict.fromkeys([config["protocol"], *(own.protocol for own in row.rows)]):
        if protocol != frame.protocol:
            yield f"other protocol: {protocol}, here {frame.protocol}"
    rows = [own.labels for own in row.rows if own.labels not in told.split(" and ")]
    for labels in dict.fromkeys([told, *rows]):
        if labels != frame.labels:
            yield f"other labels: {labels}, here {frame.labels}"
    if (signals := signals_of(row.submission)) != frame.signals:
        yield f"other signals: {signals or 'default'}, here {frame.signals or 'default'}"


def _other_tests(row: Candidate, frame: Frame, name: str) -> Iterator[str]:
    expected, title = frame.datasets[name], frame.titles[name]
    for cell in row.cells:
        if cell.dataset != name or cell.key not in row.submission.run.rows:
            continue
        found = test_set(row.submission, cell.key)
        if found.windows != expected.windows:
            yield f"other test windows of {title}"
        elif found.labels != expected.labels or found.classes != expected.classes:
            yield f"other labels of the test windows of {title}"
        elif found.fingerprint != expected.fingerprint:
            yield f"other data of {title} (fingerprint {found.fingerprint or 'unknown'})"


def _incomplete(row: Candidate, frame: Frame, name: str) -> Iterator[str]:
    run, title = row.submission.run, frame.titles[name]
    planned = [cell.key for cell in row.cells if cell.dataset == name]
    missing = [key for key in planned if key not in run.rows]
    if not planned:
        yield f"incomplete: no cells on {title}"
    elif missing:
        states = {"failed": run.failures, "damaged": run.damaged}
        counts = {word: sum(key in keys for key in missing) for word, keys in states.items()}
        counts["not run"] = len(missing) - sum(counts.values())
        words = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        yield f"incomplete: {len(missing)} of {len(planned)} cells on {title} missing ({words})"


def _other_versions(row: Candidate, frame: Frame) -> Iterator[str]:
    for own in row.rows:
        for stage, version in stage_versions(own).items():
            expected = frame.versions.get((own.evaluation, stage), version)
            if version != expected:
                yield f"other results version of {stage}: {version}, here {expected}"


def listed(apart: Sequence[tuple[Candidate, str]], on_board: Sequence[Candidate]) -> list[Listed]:
    """What is not on the board, one line per submission and reason."""
    whole = {own.submission.name for own, _ in apart} - {own.submission.name for own in on_board}
    groups: dict[tuple[str, str], list[Candidate]] = {}
    for row, reason in apart:
        groups.setdefault((row.submission.name, reason), []).append(row)
    alone = {name for name in whole if sum(own == name for own, _ in groups) == 1}
    return [Listed(name, "all" if name in alone else words(rows), reason) for (name, reason), rows in groups.items()]


def words(rows: Sequence[Candidate]) -> str:
    """'PMQ, MoCo and 2 more; linear probe; 10 %, 1 % of the labels'."""
    titles = list(dict.fromkeys(row.title for row in rows))
    evaluations = dict.fromkeys(EVALUATION_TITLES.get(row.evaluation, row.evaluation).lower() for row in rows)
    ordered = sorted(rows, key=lambda row: -row.ratio)
    shares = dict.fromkeys(ratio_text(row.ratio) for row in ordered if not takes_shots(row.evaluation))
    shots = dict.fromkeys(ratio_text(row.ratio, row.evaluation) for row in ordered if takes_shots(row.evaluation))
    labels = [*([f"{', '.join(shares)} of the labels"] if shares else []), *shots]
    named = ", ".join(titles[:NAMED]) + (f" and {len(titles) - NAMED} more" if len(titles) > NAMED else "")
    return f"{named}; {', '.join(evaluations)}; {', '.join(labels)}"


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
        computed = column.every_run()[0][column.variants.index(name), :, 0]  # (S * L,)
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
    return replace(
        column,
        variants=tuple(kept),
        encoders=column.encoders[places],
        scores=column.scores[places],
        runs=None if column.runs is None else column.runs[places],
    )


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
    first_is_higher = told["difference"] > 0
    above = Counter(told["second"].where(first_is_higher, told["first"]))
    below = Counter(told["first"].where(first_is_higher, told["second"]))
    names = overall[0].variants
    ranks = {name: (1 + above[name], len(names) - below[name]) for name in names if above[name] or below[name]}
    return ranks, len(tested), len(told)


def rank_text(row: BoardRow) -> str:
    """'1', '2–4', or a dash."""
    if row.rank is None:
        return "–"
    best, worst = row.rank
    return str(best) if best == worst else f"{best}–{worst}"


def interval_text(shown: Shown) -> str:
    """'58.0–64.1', or '' where there is no interval."""
    return "" if math.isnan(shown.low) else f"{shown.low:z.1f}–{shown.high:z.1f}"
