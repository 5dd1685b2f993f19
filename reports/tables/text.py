"""A table as text: GitHub-flavoured Markdown, LaTeX (booktabs) and long CSV. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from benchmark.results.plain_text import csv_text, harmless
from reports.tables.table import Block, Column, Line, Score, Table

TEX_PREAMBLE = """\
% Needs \\usepackage{booktabs} and \\usepackage{graphicx}. Paste a table, or \\input this file.
% The cells behind each number stand in results.csv.
"""
TEX_ESCAPES = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",
    "]": "{]}",
    "±": r"$\pm$",
    "–": "--",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≈": r"$\approx$",
    "µ": r"$\mu$",
    "τ": r"$\tau$",
    "λ": r"$\lambda$",
}
TEX_PUNCTUATION = "‘’“”—…"
"""Characters beyond Latin-1 in the default fonts of pdflatex."""
MD_SPECIAL = re.compile(r"[\\|*<`]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
"""Characters that Markdown reads as markup; an underscore inside a word is not escaped."""
CSV_HEADER = (
    "evaluation", "unit", "ratio", "variant", "title", "dataset", "metric",
    "mean_percent", "std_percent", "n", "planned", "best", "tie", "remark", "keys",
)  # fmt: skip


def markdown(table: Table) -> str:
    """Heading, caption, one pipe table per block, footnotes and footers. Best scores are **bold**."""
    parts = [f"## {literal(table.title)}", literal(table.caption)]
    header = ["Method", *(literal(f"{column.group} {column.title}".strip()) for column in table.columns)]
    for block in table.blocks:
        lines = [[_md_title(line), *map(_md_score, line.scores)] for line in block.lines]
        parts += [f"### {literal(block.title)}", pipe_table(header, lines)]
    if table.footnotes:
        parts.append("  \n".join(f"<sup>{mark}</sup> {literal(text)}" for mark, text in table.footnotes))
    parts.append("\n".join(f"- {literal(footer)}" for footer in table.footers))
    return "\n\n".join(parts) + "\n"


def literal(text: str) -> str:
    """Text escaped for Markdown, on one line."""
    return " ".join(MD_SPECIAL.sub(r"\\\g<0>", harmless(text)).split())


def _md_title(line: Line) -> str:
    return f"*{literal(line.title)}*" if line.gate else literal(line.title)


def _md_score(score: Score) -> str:
    mean = f"**{score.printed}**" if score.best else score.printed
    tie = " ≈" if score.tie else ""
    return f"{mean}{score.spread}{tie}" + (f"<sup>{score.mark}</sup>" if score.mark else "")


def pipe_table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table, its columns padded to one width; the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(header, *lines, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]

    def joined(cells: Sequence[str]) -> str:
        first, *rest = zip(cells, widths, strict=True)
        return f"| {' | '.join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in rest)])} |"

    return "\n".join(map(joined, [header, rule, *lines]))


def latex(tables: Sequence[Table]) -> str:
    """All tables as `table*` environments, below a comment that names the packages they need."""
    return TEX_PREAMBLE + "".join(f"\n{_tex_table(table)}\n" for table in tables)


def _tex(text: str) -> str:
    """Text escaped for pdflatex, on one line; a character missing in its fonts becomes a question mark."""
    return re.sub(r"\s+", " ", "".join(map(_tex_character, harmless(text))))


def _tex_character(character: str) -> str:
    known = character.isspace() or " " <= character <= "ÿ" or character in TEX_PUNCTUATION
    return TEX_ESCAPES.get(character, character if known else "?")


def _tex_table(table: Table) -> str:
    """A table with its footnotes in one paragraph below, scaled down to fit the page."""
    body = [line for block in table.blocks for line in _tex_block(block, len(table.columns))]
    notes = [f"\\textsuperscript{{{mark}}}~{_tex(text)}." for mark, text in table.footnotes]
    return "\n".join(
        [
            r"\begin{table*}[t]",
            r"\centering",
            f"\\caption{{{_tex(table.title)}. {_tex(table.caption)}}}",
            f"\\label{{tab:{table.name}}}",
            r"\par\smallskip",
            r"\sbox0{\begin{minipage}{\textwidth}\centering\setlength{\tabcolsep}{4pt}",
            r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%",
            f"\\begin{{tabular}}{{{'l' * (1 + len(table.columns))}}}",
            r"\toprule",
            *_tex_header(table.columns),
            *body,
            r"\bottomrule",
            r"\end{tabular}}",
            r"\par\smallskip\scriptsize\raggedright",
            *notes,
            *map(_tex, table.footers),
            r"\end{minipage}}",
            r"\resizebox*{!}{\ifdim\totalheight>.8\textheight.8\textheight\else\totalheight\fi}{\usebox0}",
            r"\end{table*}",
        ]
    )


def latex_table(header: Sequence[str], lines: Sequence[Sequence[str]], caption: str, name: str) -> str:
    """A plain table of texts as a `table*` environment; the first column to the left, the others to the right."""
    rows = [f"{' & '.join(map(_tex, line))} \\\\" for line in lines]
    return "\n".join(
        [
            r"\begin{table*}[t]",
            r"\centering",
            f"\\caption{{{_tex(caption)}}}",
            f"\\label{{tab:{name}}}",
            r"\par\smallskip\setlength{\tabcolsep}{4pt}",
            r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%",
            f"\\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
            r"\toprule",
            f"{' & '.join(map(_tex, header))} \\\\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table*}",
        ]
    )


def _tex_header(columns: Sequence[Column]) -> Iterator[str]:
    """Two lines: each dataset above its metrics, with a rule between."""
    groups, rules, first = [], [], 2
    for group, members in groupby(columns, key=lambda column: column.group):
        last = first + len(list(members)) - 1
        groups.append(f"\\multicolumn{{{last - first + 1}}}{{c}}{{{_tex(group)}}}")
        if group:
            rules.append(f"\\cmidrule(lr){{{first}-{last}}}")
        first = last + 1
    yield f" & {' & '.join(groups)} \\\\"
    yield " ".join(rules)
    yield f"Method & {' & '.join(_tex(column.title) for column in columns)} \\\\"


def _tex_block(block: Block, columns: int) -> Iterator[str]:
    yield r"\midrule"
    yield f"\\multicolumn{{{columns + 1}}}{{c}}{{\\textbf{{{_tex(block.title)}}}}} \\\\"
    yield r"\midrule"
    for line in block.lines:
        title = f"\\textit{{{_tex(line.title)}}}" if line.gate else _tex(line.title)
        yield f"{title} & {' & '.join(map(_tex_score, line.scores))} \\\\"


def _tex_score(score: Score) -> str:
    mean = f"\\textbf{{{score.printed}}}" if score.best else _tex(score.printed)
    spread = f"{{\\scriptsize{{}}{_tex(score.spread)}}}" if score.spread else ""
    tie = r"\,$\approx$" if score.tie else ""
    return f"{mean}{spread}{tie}" + (f"\\textsuperscript{{{score.mark}}}" if score.mark else "")


def long_csv(tables: Sequence[Table]) -> str:
    """One line per number of the tables: unrounded percent, and the keys of its cells."""
    places = ((table, block, line) for table in tables for block in table.blocks for line in block.lines)
    return csv_text(CSV_HEADER, (row for place in places for row in _csv_lines(*place)))


def _csv_lines(table: Table, block: Block, line: Line) -> Iterator[tuple[object, ...]]:
    place = (table.evaluation, table.unit, block.ratio, line.variant, line.title)
    for column, score in zip(table.columns, line.scores, strict=True):
        found = (score.mean, score.std, score.n, score.planned, int(score.best), int(score.tie), score.remark)
        yield (*place, column.dataset, column.metric, *found, " ".join(score.keys))
