"""Results as Python code holds them: the statistics, sentences, table and figure of a report, on demand.

    results = load("runs")              # or what `evaluate` and `compare_predictions` return
    results.scores                      # of a run: a line per stored number
    results.pairs()                     # a line per pair of rows: difference, interval and tests
    results.verdict()                   # what may be said of them
    results.figure()                    # Matplotlib axes

All of it comes from the functions of the report, so that both say the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Self

import pandas as pd

from benchmark.results.names import UNIT_OF_PROTOCOL
from benchmark.results.store import Plan
from reports.build import TestedTables, build_report, table_files, tested_tables
from reports.comparison import RowComparison
from reports.inference import judged
from reports.latex import latex_file
from reports.load import load_run
from reports.page import HTML, PAGE, blocks
from reports.results import Run
from reports.score_tables import Table, to_markdown, wide
from reports.words import write_files

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas.io.formats.style import Styler


class Results(ABC):
    """Tables with their statistics, and what is said of them, of a run or of anyone's predictions.

    The argument `table` of its methods is a name of `tables`, by default the first: the comparison of the first
    evaluation. A name that is none of them raises ValueError.

    >>> results = load_results("runs")
    >>> results.tables
    ['linear-recording']
    >>> results.pairs().query("metric == 'overall'")["low_holm"].notna().all().item()
    True
    """

    plan: Plan
    """Titles of the rows, and the protocol by whose headline they are compared."""
    unit: str
    """Unit that is scored, 'heartbeat' or 'recording'."""

    @property
    @abstractmethod
    def tested(self) -> TestedTables:
        """Tables and statistics."""

    @property
    def tables(self) -> list[str]:
        """Names of the tables: an evaluation and a unit, e.g. 'linear-recording', then ablations and sweeps."""
        return [table.name for table in self.tested.tables]

    def _table(self, name: str | None) -> Table:
        for table in self.tested.tables:
            if name in (None, table.name):
                return table
        names = ", ".join(self.tables) or "none"
        raise ValueError(f"no table {name!r}; there are {names}")

    def pairs(self, table: str | None = None) -> pd.DataFrame:
        """Return a line per pair of rows, dataset, metric and label share: difference, intervals and p values.

        The columns are those of pairwise.csv, differences as shares of 1, with `significant`, `beyond` the margin and
        `equivalent`; the metric 'overall' is the mean over datasets, the headline.
        """
        return judged(self.tested.statistics[self._table(table).name].pairs)

    def intervals(self, table: str | None = None) -> pd.DataFrame:
        """Return a line per row, dataset, metric and label share: mean and 95 % interval, as shares of 1."""
        return self.tested.statistics[self._table(table).name].intervals

    def verdict(self, table: str | None = None) -> list[str]:
        """Return the sentences of the report: the answers, what they rest on, differences at each label share."""
        verdict = self._table(table).verdict
        return [*verdict.lines, *verdict.differences]

    def table(self, table: str | None = None) -> Styler:
        """Return the table as a pandas Styler, a block of rows per label share, best numbers bold."""
        chosen = self._table(table)
        blocks = {share: wide(chosen, ratio, HTML) for ratio, share in chosen.shares.items()}
        whole = pd.concat(blocks, names=["labels"])
        return whole.style.set_caption(escape(chosen.title))

    def to_markdown(self, table: str | None = None) -> str:
        """Return the table in Markdown with its sentences and notes, as in results.md."""
        return to_markdown(self._table(table))

    def to_latex(self, table: str | None = None) -> str:
        """Return the table in LaTeX, with the macros that it uses, as in results.tex."""
        return latex_file([self._table(table)])

    def figure(self, table: str | None = None, *, ratio: float | None = None, ax: Axes | None = None) -> Axes:
        """Draw the difference of each row from its reference in the headline, with its interval; return the axes.

        ratio: share of the labels, by default the smallest. ax: axes to draw on; None: those of a new pyplot figure.
        Raises ValueError where there is no difference to draw, or none at this share.
        """
        from reports.figures import axes_of_differences, style_of  # here, because matplotlib loads slowly

        chosen = self._table(table)
        comparison = self.tested.comparisons.get((chosen.layout.evaluation, self.unit))
        if comparison is None or comparison.differences.empty:
            raise ValueError("there is no difference to draw: one row alone, or no scores with an interval")
        shares = sorted(set(comparison.differences["ratio"]))
        share = shares[0] if ratio is None else ratio
        if share not in shares:
            there = ", ".join(map(str, shares))
            raise ValueError(f"no label share {ratio}; there are {there}")
        shown = RowComparison(*(frame[frame["ratio"] == share] for frame in comparison))
        return axes_of_differences(shown, style_of(self.plan), chosen.shares[share], ax)

    def save(self, out: str | Path) -> Path:
        """Write tables and statistics as results.md, .tex, .csv, intervals.csv and pairwise.csv; return the first."""
        return write_files(Path(out), table_files(self.tested))[0]

    def __repr__(self) -> str:
        lines = [f"Tables: {', '.join(self.tables) or 'none'}"]
        for table in self.tested.tables[:1]:
            lines += [*self.verdict(), *table.footers]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return sentences, blocks and notes of each table for a notebook; names are escaped."""
        parts = []
        for table in self.tested.tables:
            parts.append(f"<h4>{escape(table.title)}</h4>")
            parts += [f"<p>{escape(line)}</p>" for line in table.verdict.lines]
            for title, block in blocks(table).items():
                parts.append(f"<p><b>{escape(title)}</b></p>{block}")
            for mark, text in table.footnotes.items():
                parts.append(f"<small><sup>{mark}</sup> {escape(text)}</small><br>")
            parts += [f"<small>{escape(line)}</small><br>" for line in table.footers]
        return "".join(parts) or escape(repr(self))


@dataclass(frozen=True, repr=False)
class RunResults(Results, Run):
    """A run, and what is said of it. Statistics are computed when they are first asked for."""

    unit: str = ""

    @classmethod
    def from_run(cls, run: Run, unit: str = "") -> Self:
        """Return a run as results, scored per `unit`; '' for that of the run's protocol (paper, strict)."""
        fields = {name: getattr(run, name) for name in Run.__dataclass_fields__}
        default = UNIT_OF_PROTOCOL[run.plan.config["protocol"]]
        return cls(**fields, unit=unit or default)

    @cached_property
    def tested(self) -> TestedTables:
        """Tables and statistics."""
        return tested_tables(self, [self.unit], ())

    def save(self, out: str | Path, further: Sequence[str] = ()) -> Path:
        """Write the whole report, as the command `report` does, and return its page. further: other metrics."""
        build_report(self, Path(out), unit=self.unit, further=further)
        return Path(out) / PAGE

    def verify(self, cells: int = 1, again: str | Path = "again") -> Self:
        """Compute random cells of each row of archives again, and return the results with the marks that follow.

        cells: of a row. again: folder of the store for them. The hours are printed first. Raises ConfigError, a
        ValueError, where no archive stands beside a run that was computed here.
        """
        compute = resolve_name("benchmark.cli.verify:verify")  # here and by name, because it loads torch and this room
        verified: Self = compute(self, cells, Path(again))
        return verified


def load(sources: str | Path | Sequence[str | Path], unit: str = "") -> RunResults:
    """Load the results of runs: folders and archives, each with @KEY of a plan or @all if not the latest is meant.

    Several are put together where their settings and data are the same; `messages` names the others. unit: 'heartbeat'
    or 'recording', by default that of the protocol. Raises NoResults, in one line, where a source holds no run.

    >>> load_results("runs").scores["metric"].unique().tolist()
    ['acc', 'auroc', 'balanced_accuracy', 'f1', 'f1_chosen']
    """
    return RunResults.from_run(load_run(sources), unit)
