"""A page of the made-up store, and its elements as the standard parser reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from reports.load import load
from reports.page import report_html
from reports.results import Layout, Results, evaluations_of, layouts
from reports.statistics.bootstrap import score_columns
from reports.statistics.table import TableStatistics, intervals, pairwise, ties
from reports.tables.render import Table
from reports.tables.table import make_table

VOID = {"meta", "link", "img", "br"}


@dataclass
class Element:
    """A tag, its attributes, and the text that stands in it."""

    tag: str
    attributes: dict[str, str | None]
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str) -> list[Element]:
        """All elements of a tag within this one, in the order of the page."""
        found = [self] if self.tag == tag else []
        return found + [element for child in self.children for element in child.all(tag)]

    def words(self) -> str:
        """The text of this element and all within it."""
        return self.text + "".join(child.words() for child in self.children)


class TreeOf(HTMLParser):
    """Builds the tree; an end tag that closes another element than the open one is an error."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]
        self.feed(source)
        self.close()
        assert self.open == [self.root], [element.tag for element in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), attrs
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].text += data


@pytest.fixture
def parse() -> Callable[[str], Element]:
    """The tree of a page; fails where it is not well-formed."""
    return lambda source: TreeOf(source).root


@dataclass(frozen=True)
class Parts:
    """What a page is made of."""

    run: Results
    tables: list[Table]
    statistics: dict[str, TableStatistics]

    def page(self, **more: Any) -> str:
        return report_html(self.run, self.tables, self.statistics, **more)


def few_resamples(run: Results, layout: Layout) -> TableStatistics:
    """As reports.statistics.table does, with few resamples."""
    columns = score_columns(run, layout.competing, "heartbeat", metrics=layout.metrics, resamples=20)
    if not columns:
        return TableStatistics()
    pairs = pairwise(columns)
    marked = ties(intervals(columns), pairs)
    tied = marked.loc[marked["tie"], ["ratio", "dataset", "metric", "variant"]].itertuples(index=False, name=None)
    return TableStatistics(frozenset(tied), frames={"intervals": marked, "pairwise": pairs})


@pytest.fixture
def parts_of() -> Callable[[Path], Parts]:
    """What the page of a results folder is made of."""

    def load_parts(root: Path) -> Parts:
        run = load(root)
        tables, statistics = [], {}
        for evaluation in evaluations_of(run.plan):
            for layout in layouts(run.plan, evaluation):
                found = few_resamples(run, layout)
                tables.append(make_table(run, layout, "heartbeat", found))
                statistics[tables[-1].name] = found
        return Parts(run, tables, statistics)

    return load_parts


@pytest.fixture
def parts(store_root: Path, parts_of: Callable[[Path], Parts]) -> Parts:
    """What the page of the made-up store is made of."""
    return parts_of(store_root)
