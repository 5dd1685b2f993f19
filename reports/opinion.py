"""The tests of anyone's predictions: frames, sentences, tables and a figure, and the files of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from benchmark.results.metrics import HEADLINES, TITLES
from reports.build import csv
from reports.columns import COLUMN_ID
from reports.page import HTML
from reports.score_tables import LATEX, MARKDOWN, Style, number_text
from reports.verdict import finding_text, points_text
from reports.words import write_files

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas.io.formats.style import Styler

HEADLINE = HEADLINES["strict"]
SCORES, DIFFERENCES = "Scores in percent", "Differences, with Holm's correction"
"""Titles of the two tables."""


@dataclass(frozen=True, repr=False)
class Opinion:
    """Scores and tests of predictions; its methods are those of `Results`."""

    scores: pd.DataFrame
    """A line per model (`variant`) and metric: `reports.inference.INTERVALS`, mean_percent, best, tie."""
    tested: pd.DataFrame
    """A line per metric and pair of models: `reports.inference.PAIRS`, significant, equivalent."""
    notes: Sequence[str]
    """Scored metric and unit, and the difference that can be detected."""

    def pairs(self) -> pd.DataFrame:
        """Return a line per metric and pair of models: difference, intervals and p values, as shares of 1."""
        return self.tested

    def verdict(self) -> list[str]:
        """Return a sentence per pair of models in AUROC, then what was scored and how."""
        sentences = []
        for pair in self._of_headline().to_dict("records"):
            difference = f"{pair['first']} minus {pair['second']} in AUROC, points: {points_text(pair)}"
            sentences.append(f"{difference}: {finding_text(pair, HEADLINE)}.")
        return [*sentences, *self.notes]

    def _of_headline(self) -> pd.DataFrame:
        is_headline = self.tested["metric"].isin(HEADLINE.metrics) & self.tested["p"].notna()
        return self.tested[is_headline]

    def table(self) -> Styler:
        """Return the scores as a pandas Styler, a line per model, best numbers bold."""
        return tables_of(self, HTML)[SCORES].style.set_caption(SCORES)

    def figure(self, *, ax: Axes | None = None) -> Axes:
        """Draw the differences in AUROC with their intervals; return the axes. ax: by default of a new pyplot figure.

        Raises ValueError where there is no difference to draw.
        """
        from reports.axes import axes_of_pairs  # here, because matplotlib loads slowly

        pairs = self._of_headline()
        if pairs.empty:
            raise ValueError("there is no difference to draw: one model alone, or one patient")
        return axes_of_pairs(pairs, "AUROC, first − second (points); filled: significant (Holm)", ax)

    def to_markdown(self) -> str:
        """Return tables and notes in Markdown."""
        parts = ["# Second opinion"]
        for title, table in tables_of(self, MARKDOWN).items():
            parts += [f"## {title}", table.to_markdown(disable_numparse=True)]
        notes = [f"- {MARKDOWN.text(line)}" for line in self.notes]
        parts.append("\n".join(notes))
        return "\n\n".join(parts) + "\n"

    def to_latex(self) -> str:
        """Return the tables in LaTeX."""
        latex = []
        for title, table in tables_of(self, LATEX).items():
            styler = table.reset_index().style.hide(axis="index")
            latex.append(styler.to_latex(hrules=True, environment="table", caption=LATEX.text(title)))
        return "\n".join(latex)

    def __repr__(self) -> str:
        return "\n".join(self.verdict())

    def _repr_html_(self) -> str:
        """Return tables and notes for a notebook; names are escaped."""
        parts = []
        for title, table in tables_of(self, HTML).items():
            parts.append(f"<h4>{HTML.text(title)}</h4>{table.to_html(escape=False, border=0)}")
        parts += [f"<p>{HTML.text(line)}</p>" for line in self.notes]
        return "".join(parts)


def tables_of(opinion: Opinion, style: Style) -> dict[str, pd.DataFrame]:
    """Return title -> table of texts: the scores, and where there are several models their differences."""
    scores = opinion.scores
    texts = scores.assign(text=[score_text(score, style) for score in scores.to_dict("records")])
    by_model = texts.pivot(index="variant", columns="metric", values="text")
    by_model = by_model.loc[scores["variant"].unique(), scores["metric"].unique()]
    by_model = by_model.rename(index=style.text, columns=TITLES)
    tables = {SCORES: by_model.rename_axis("Model", axis=0)}
    tested = opinion.tested.dropna(subset=["p"])
    lines = [difference_line(pair, style) for pair in tested.to_dict("records")]
    if lines:
        tables[DIFFERENCES] = pd.DataFrame(lines).set_index("Metric")
    return tables


def score_text(score: Mapping[Any, Any], style: Style) -> str:
    """Return '**70.1** (65.2 to 74.9)': a score in percent with its interval."""
    number = number_text({**score, "std_percent": np.nan, "mark": ""}, style)
    if np.isnan(score["low"]):
        return number
    return f"{number} ({100 * score['low']:.1f} to {100 * score['high']:.1f})"


def difference_line(pair: Mapping[Any, Any], style: Style) -> dict[str, str]:
    """Return the texts of a pair of models: column -> text."""
    return {
        "Metric": TITLES[pair["metric"]],
        "Difference of": style.text(f"{pair['first']} − {pair['second']}"),
        "Points": style.text(points_text(pair)),
        "p": f"{pair['p_holm']:.2g}",
        "Test": finding_text(pair, HEADLINE),
        "Detectable": f"{100 * pair['detectable']:.1f}",
    }


def write_opinion(opinion: Opinion, out: Path) -> list[Path]:
    """Write tables and notes as Markdown, LaTeX and CSV; return the files."""
    constant = [name for name in COLUMN_ID if name != "metric"]
    files = {
        "second-opinion.md": opinion.to_markdown(),
        "second-opinion.tex": opinion.to_latex(),
        "second-opinion-scores.csv": csv(opinion.scores.drop(columns=[*constant, "baseline", "n"])),
        "second-opinion-pairs.csv": csv(opinion.tested.drop(columns=constant)),
    }
    return write_files(out, files)
