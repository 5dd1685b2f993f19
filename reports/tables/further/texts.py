"""The tables of further scores of a report, and their files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from benchmark.results.plan import Plan
from reports.statistics.further.classes import ClassTable
from reports.statistics.further.subgroups import SubgroupTable
from reports.tables.further.classes import by_class_tables, class_files, score_tables
from reports.tables.further.subgroups import subgroup_files, subgroup_texts
from reports.tables.text import TextTable


@dataclass(frozen=True)
class Further:
    """Scores of classes and subgroups of a run, as numbers and as texts."""

    plan: Plan
    classes: Sequence[ClassTable]
    subgroups: Sequence[SubgroupTable]

    @cached_property
    def scores(self) -> list[TextTable]:
        """The macro means of each place."""
        return score_tables(self.plan, self.classes)

    @cached_property
    def by_class(self) -> list[TextTable]:
        """The scores of each class."""
        return by_class_tables(self.plan, self.classes)

    @cached_property
    def by_group(self) -> list[TextTable]:
        """The scores by sex and age band."""
        return subgroup_texts(self.plan, self.subgroups)


def further_files(found: Further) -> dict[str, str]:
    """File name -> content; none without a finished cell."""
    if not found.classes:
        return {}
    return {
        **class_files(found.classes, found.scores, found.by_class),
        **subgroup_files(found.subgroups, found.by_group),
    }
