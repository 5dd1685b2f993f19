"""The tables of a run in LaTeX, for one column or two: each fits the width of the page, and its notes are a macro's.

The first table of an evaluation has the headline and a column for each of its metrics on each dataset, the next ones
have the other metrics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from textwrap import wrap

from benchmark.results.names import OVERALL
from reports.score_tables import LATEX, Table, wide

MOST_COLUMNS = 9
"""Columns of scores that stand beside the headline on the page of a two-column article, in letters of 7 points."""
LETTERS_A_COLUMN = 10
HEAD = r"""% Tables of scores. In the preamble: \usepackage{booktabs,graphicx}
% The notes below a table are the argument of \scorenotes; \newcommand{\scorenotes}[1]{} before this file drops them.
\providecommand{\scorenotes}[1]{\par\smallskip\raggedright #1}
% A table that is wider than the page is scaled.
\providecommand{\fitscores}[1]{\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{#1}}
"""


def latex_file(tables: Sequence[Table]) -> str:
    """Write all tables, below a comment that names the packages they need."""
    texts = [HEAD]
    for table in tables:
        texts += latex_tables(table)
    return "\n".join(texts)


def latex_tables(table: Table) -> Iterator[str]:
    """Yield a `table*` of the headline and its metrics, with the notes, then those of the other metrics."""
    at_once = max(1, MOST_COLUMNS // max(1, len(table.groups)))
    headline = table.layout.headline.metrics
    in_headline = [metric for metric in table.layout.metrics if metric in headline]
    others = [metric for metric in table.layout.metrics if metric not in headline]
    parts: list[tuple[str, ...]] = []
    for group in (in_headline, others):
        parts += [tuple(group[start : start + at_once]) for start in range(0, len(group), at_once)]
    first, *further = parts
    label = f"tab:{table.name}"
    caption = LATEX.text(f"{table.title}. {table.caption(first)}")
    yield latex_table(table, first, label, caption, [LATEX.text(line) for line in table.footers])
    for number, metrics in enumerate(further, start=2):
        caption = LATEX.text(f"{table.title}, further scores. {table.caption(metrics)}")
        yield latex_table(table, metrics, f"{label}-{number}", caption, [rf"Data: as of Table~\ref{{{label}}}."])


def latex_table(table: Table, metrics: Sequence[str], label: str, caption: str, notes: Sequence[str]) -> str:
    """Write some metrics of a table, the first ones beside the headline; caption and notes are LaTeX."""
    columns = [*product(table.groups, metrics)]
    if metrics[0] in table.layout.headline.metrics[:1]:
        columns.insert(0, ("", OVERALL))
    blocks = {share: wide(table, ratio, LATEX, columns) for ratio, share in table.shares.items()}
    headings = next(iter(blocks.values())).columns.get_level_values(1)
    unnamed = 1 + len(columns) - len(table.groups) * len(metrics)  # columns of no dataset
    groups = [heading(title, len(metrics)) for title in table.groups.values()]
    lines = [r"\toprule", latex_row([""] * unnamed + groups), latex_row(["Method", *headings])]
    for share, block in blocks.items():
        lines += [r"\midrule", rf"\multicolumn{{{len(columns) + 1}}}{{l}}{{{LATEX.text(share)}}} \\"]
        lines += map(latex_row, block.reset_index().to_numpy().tolist())
    text = "\n".join([*lines, r"\bottomrule"])
    marks = {LATEX.mark.format(mark): LATEX.text(f" {note}.") for mark, note in table.footnotes.items()}
    of_marks = [mark + note for mark, note in marks.items() if mark in text]
    return "\n".join(
        [
            r"\begin{table*}",
            r"\centering\emergencystretch=3em",
            rf"\caption{{{caption}}}",
            rf"\label{{{label}}}",
            r"\scriptsize\setlength{\tabcolsep}{3pt}",
            rf"\fitscores{{\begin{{tabular}}{{l{'r' * len(columns)}}}",
            text,
            r"\end{tabular}}",
            r"\scorenotes{%",
            *of_marks,
            *notes,
            "}",
            r"\end{table*}",
            "",
        ]
    )


def latex_row(cells: Sequence[str]) -> str:
    """Write a row of a table."""
    return " & ".join(cells) + r" \\"


def heading(title: str, columns: int) -> str:
    """Return a title above some columns, on as many lines as it needs."""
    lines = wrap(title, LETTERS_A_COLUMN * columns, break_long_words=False)
    stacked = r"\\".join(map(LATEX.text, lines))
    return rf"\multicolumn{{{columns}}}{{c}}{{\shortstack{{{stacked}}}}}"
