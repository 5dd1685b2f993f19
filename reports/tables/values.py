"""The results table as a value: blocks of label ratios, lines of rows, scores of columns.

Markdown, LaTeX, CSV, HTML and the console all render the same `Table`.
"""

from __future__ import annotations

from dataclasses import dataclass

DASH = "–"


@dataclass(frozen=True)
class Score:
    """One number of a table, in percent: a mean over seeds, or the Overall of a line over its columns."""

    mean: float | None
    """None: undefined or missing, printed as a dash; `remark` has the reason."""
    std: float | None
    """Standard deviation over seeds with ddof = 1; None for a single seed and for Overall."""
    n: int
    """Seeds (Overall: columns) in the mean."""
    planned: int
    """Seeds (Overall: columns) planned."""
    keys: tuple[str, ...]
    """Keys of the cells in the mean."""
    remark: str = ""
    """Text of the footnote."""
    spread: str = ""
    """Printed after the mean: '±0.8', or ' (k=6)' for an Overall of 6 columns where more were planned."""
    best: bool = False
    tie: bool = False
    """Not significantly different from the best."""
    mark: str = ""
    """Letter of the footnote that holds `remark`."""

    @property
    def printed(self) -> str:
        """The mean with one decimal, or a dash."""
        return DASH if self.mean is None else f"{self.mean:.1f}"


@dataclass(frozen=True)
class Line:
    """One variant within a block."""

    variant: str
    title: str
    scores: tuple[Score, ...]
    """One per column of the table."""
    gate: bool = False
    """A reference row: in italics, never bold."""


@dataclass(frozen=True)
class Block:
    """All variants at one label ratio."""

    ratio: float
    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Column:
    """One metric on one dataset; dataset and group are '' for Overall."""

    dataset: str
    metric: str
    group: str
    """Title of the dataset, printed once above its metrics."""
    title: str


@dataclass(frozen=True)
class Table:
    """The value that every renderer prints."""

    name: str
    """Unique within a report, fit for a file name or a LaTeX label."""
    evaluation: str
    unit: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    blocks: tuple[Block, ...]
    footnotes: tuple[tuple[str, str], ...]
    """(mark, text), in reading order."""
    footers: tuple[str, ...]
    """Lines below the table, in every form."""
    details: tuple[str, ...] = ()
    """Further lines, on the page only."""
    verdict: tuple[str, ...] = ()
    """Sentences above the table (`reports.tables.verdict`)."""
