"""Which rows of the submissions stand on the board, and what does not compare, with the reason.

A row is a method, a method under a further preset, or a gate, at one label ratio of one evaluation. It is there whole
or not at all: every planned seed on every dataset of the board finished, on the board's test windows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from benchmark.results.names import (
    EVALUATION_TITLES,
    FEATURES,
    FROZEN,
    GATE,
    METHOD,
    PRESET,
    SUPERVISED,
    UNTRAINED,
    takes_shots,
)
from benchmark.results.plan import PlannedCell, labels_of
from benchmark.results.rows import Row
from reports.leaderboard.frame import Frame, signals_of, stage_versions, test_set
from reports.leaderboard.submissions import Submission
from reports.runs.planned_tables import role_of
from reports.tables.captions import labels_text, ratio_text

GATES = (UNTRAINED, FROZEN, FEATURES, SUPERVISED)
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
