"""What the rows of a board have in common, decided by the submissions: what most of them share, the first on a tie.

Protocol, kind of labels and signals first; then, among the submissions of these, the datasets with their test windows,
the label ratios of each evaluation, and the versions of split and evaluation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from benchmark.results.plan import labels_of
from benchmark.results.rows import Row
from reports.leaderboard.submissions import Submission
from reports.runs.planned_tables import evaluations_of

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
    data = own.run.plan.config["data"]
    leads = [f"leads {' '.join(data['leads'])}"] if "leads" in data else []
    return ", ".join([*leads, *(f"{name} {data[name]}" for name in ("standardise", "pool") if name in data)])


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
    found: dict[tuple[str, str], Counter[int]] = {}
    for own in submissions:
        for row in own.run.rows.values():
            for stage, version in stage_versions(row).items():
                found.setdefault((row.evaluation, stage), Counter())[version] += 1
    return {place: counts.most_common(1)[0][0] for place, counts in found.items()}


def stage_versions(row: Row) -> dict[str, int]:
    """The results versions of a row's split and evaluation; {} for a row that does not say."""
    told = row.provenance.get("results_versions", {})
    return {stage: told[stage] for stage in (SPLIT, row.evaluation) if stage in told}
