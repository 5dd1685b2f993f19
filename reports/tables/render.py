"""Tables as values, of scores or of texts, and their Markdown, CSV, LaTeX and terminal forms. Pure functions.

The page renders the same values. LaTeX (booktabs) fits a page of `article` without being scaled down: columns that do
not fit move to further tables, by whole groups (datasets) where possible, and so do rows; the first column is repeated.
Numbers are in \\footnotesize; deviations, marks and notes in \\scriptsize (7 pt in a 10 pt class).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from math import ceil
from typing import NamedTuple

from benchmark.results.files import csv_text

DASH = "–"
ROUNDING = 1e-9
"""A standard deviation below it, in percent, is rounding."""


def spread_text(std: float | None) -> str:
    """'±0.8', the standard deviation over seeds; '' for a single seed, and where all seeds have the same score."""
    return "" if std is None or std < ROUNDING else f"±{std:z.1f}"


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
        return DASH if self.mean is None else f"{self.mean:z.1f}"


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
    """Sentences above the table (`reports.tables.words`)."""


MD_SPECIAL = re.compile(r"[\\|*`]|\](?=[(\[:])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
"""Characters that Markdown reads as markup; an underscore inside a word and a bracket of no link are not escaped."""
MD_HTML = re.compile(r"<|&(?=#?\w+;)")
"""Beginnings of a tag and of an entity of HTML, which Markdown would pass on."""
CSV_HEADER = (
    "evaluation", "unit", "ratio", "variant", "title", "dataset", "metric",
    "mean_percent", "std_percent", "n", "planned", "best", "tie", "remark", "keys",
)  # fmt: skip


@dataclass(frozen=True)
class TextTable:
    """A table of texts."""

    name: str
    """Unique within a report, fit for a LaTeX label."""
    title: str
    caption: str
    """'' for none."""
    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    folded: bool = False
    """Shown on the page at a click alone."""


def markdown(table: Table) -> str:
    """Heading, verdict, caption, one pipe table per block, footnotes and footers. Best scores are **bold**."""
    parts = [f"## {literal(table.title)}"]
    if table.verdict:
        parts.append("\n".join(f"- {literal(sentence)}" for sentence in table.verdict))
    parts.append(literal(table.caption))
    header = ["Method", *(literal(f"{column.group} {column.title}".strip()) for column in table.columns)]
    for block in table.blocks:
        lines = [[_md_title(line), *map(_md_score, line.scores)] for line in block.lines]
        parts += [f"### {literal(block.title)}", pipe_table(header, lines)]
    if table.footnotes:
        parts.append("  \n".join(f"<sup>{mark}</sup> {literal(text)}" for mark, text in table.footnotes))
    parts.append("\n".join(f"- {literal(footer)}" for footer in table.footers))
    return "\n\n".join(parts) + "\n"


def text_markdown(table: TextTable) -> str:
    """The table under a heading."""
    header, *lines = [[literal(text) for text in line] for line in (table.header, *table.lines)]
    above = filter(None, [f"## {literal(table.title)}", literal(table.caption)])
    return "\n\n".join([*above, pipe_table(header, lines)]) + "\n"


def literal(text: str) -> str:
    """Text escaped for Markdown, on one line: no HTML, link or emphasis of it has an effect."""
    return " ".join(MD_SPECIAL.sub(r"\\\g<0>", MD_HTML.sub(_entity, text)).split())


def _entity(found: re.Match[str]) -> str:
    return "&lt;" if found[0] == "<" else "&amp;"


def _md_title(line: Line) -> str:
    return f"*{literal(line.title)}*" if line.gate else literal(line.title)


def _md_score(score: Score) -> str:
    mean = f"**{score.printed}**" if score.best else score.printed
    tie = " ≈" if score.tie else ""
    return f"{mean}{score.spread}{tie}" + (f"<sup>{score.mark}</sup>" if score.mark else "")


def pipe_table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table of Markdown, its columns padded to one width; the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(header, *lines, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    padded = [
        [cells[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(cells[1:], widths[1:], strict=True))]
        for cells in (header, rule, *lines)
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in padded)


def long_csv(tables: Sequence[Table]) -> str:
    """One line per number of the tables: unrounded percent, and the keys of its cells."""
    places = ((table, block, line) for table in tables for block in table.blocks for line in block.lines)
    return csv_text(CSV_HEADER, (row for place in places for row in _csv_lines(*place)))


def _csv_lines(table: Table, block: Block, line: Line) -> Iterator[tuple[object, ...]]:
    place = (table.evaluation, table.unit, block.ratio, line.variant, line.title)
    for column, score in zip(table.columns, line.scores, strict=True):
        found = (score.mean, score.std, score.n, score.planned, int(score.best), int(score.tie), score.remark)
        yield (*place, column.dataset, column.metric, *found, " ".join(score.keys))


def text_csv(tables: Sequence[TextTable], *, named: bool = False) -> str:
    """The lines of tables of texts under the headings of any, numbers without thousands separators.

    named: the first column is the table's name.
    """
    header = dict.fromkeys([*(["table"] if named else []), *(heading for table in tables for heading in table.header)])
    lines = []
    for table in tables:
        for line in table.lines:
            cells = {"table": table.name} | dict(zip(table.header, map(_plain, line), strict=True))
            lines.append([cells.get(heading, DASH) for heading in header])
    return csv_text(tuple(header), lines)


def _plain(text: str) -> str:
    plain = text.replace(",", "")
    return plain if plain.replace(".", "").isdigit() else text


PREAMBLE = """\
% Needs \\usepackage{booktabs}. Paste a table, or \\input this file. Columns that do not fit into the width of a page in
% \\footnotesize, and rows that do not fit into its height, continue in a further table; nothing is scaled down.
% The cells behind each number stand in results.csv.
"""
ESCAPES = {
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
    "\N{MINUS SIGN}": "$-$",
    "–": "--",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≈": r"$\approx$",
    "µ": r"$\mu$",
    "τ": r"$\tau$",
    "λ": r"$\lambda$",
}
PUNCTUATION = "‘’“”—…"
"""Characters beyond Latin-1 in the default fonts of pdflatex."""
LETTER, SMALL_LETTER, GAP = 4.4, 4.0, 6.0
"""Points of a letter in \\footnotesize and \\scriptsize, and between two columns."""
WIDEST = 120.0
"""Points of the widest cell; longer text is wrapped."""
BLOCK_LINES = 2
"""Lines of a block's title."""


class Page(NamedTuple):
    """What fits on a page of `article` in 10 pt, the narrowest common one."""

    width: float
    """Points between the margins."""
    lines: int
    """Of a table, below a caption and above footnotes."""
    environment: str


UPRIGHT, LANDSCAPE = Page(345.0, 36, "table*"), Page(550.0, 22, "sidewaystable*")
ROTATING = """\
% The tables are set across the page: needs \\usepackage{rotating} too.
"""


def latex(tables: Sequence[Table], page: Page = UPRIGHT) -> str:
    """All tables as environments of a page, below a comment that names the packages they need."""
    above = PREAMBLE + (ROTATING if page is LANDSCAPE else "")
    return above + "".join(f"\n{_score_tables(table, page)}\n" for table in tables)


def text_latex(tables: Sequence[TextTable]) -> str:
    """Tables of texts in parts that fit a page each; the first column to the left, the others to the right."""
    return "\n".join(part for table in tables for part in _text_parts(table)) + "\n"


def _text_parts(table: TextTable) -> Iterator[str]:
    for number, lines in enumerate(_pages(table.lines, UPRIGHT.lines), start=1):
        name = table.name if number == 1 else f"{table.name}-part-{number}"
        caption = table.caption if number == 1 else f"{table.title}, continued."
        widths = [max(map(_width, column)) for column in zip(table.header, *lines, strict=True)]
        drawn: list[str] = []
        for shown in side_by_side(widths[0], [[width] for width in widths[1:]], UPRIGHT):
            columns = [0, *(place + 1 for place in shown)]
            top, *body = [
                f"{' & '.join(_cell(line[place]) for place in columns)} \\\\" for line in (table.header, *lines)
            ]
            tabular = _tabular(f"l{'r' * len(shown)}", [top, r"\midrule", *body])
            text = f"{caption.partition('.')[0].removesuffix(', continued')}, continued." if drawn else caption
            drawn.append(_environment(text, _label(name, len(drawn) + 1), tabular, [], UPRIGHT))
        yield "\n\n".join(drawn)


def _pages(lines: Sequence[Sequence[str]], most: int) -> Iterator[list[Sequence[str]]]:
    """Lines of texts in parts of at most `most` lines of print."""
    part: list[Sequence[str]] = []
    used = 0
    for line in lines:
        height = max(map(_height, line))
        if part and used + height > most:
            yield part
            part, used = [], 0
        part.append(line)
        used += height
    if part:
        yield part


def side_by_side(label: float, groups: Sequence[Sequence[float]], page: Page) -> list[list[int]]:
    """Indices of the columns of each table: whole groups while they fit, single columns of a group that does not.

    label: width of the repeated first column; groups: widths of the columns of each group, in points.
    """
    room = page.width - label
    widths = [width + GAP for group in groups for width in group]
    starts = [0, *(sum(map(len, groups[: n + 1])) for n in range(len(groups)))]
    tables: list[list[int]] = [[]]
    for first, last in pairwise(starts):
        whole = list(range(first, last))
        for part in [whole] if sum(widths[place] for place in whole) <= room else [[place] for place in whole]:
            if tables[-1] and sum(widths[place] for place in tables[-1] + part) > room:
                tables.append([])
            tables[-1] += part
    return tables


def one_above_another(blocks: Sequence[Block], page: Page) -> list[list[Block]]:
    """The blocks of each table: whole blocks while their lines fit; a longer one is cut into several."""
    tables: list[list[Block]] = [[]]
    used = 0
    for part in (part for block in blocks for part in _cut(block, page.lines)):
        height = BLOCK_LINES + sum(_height(line.title) for line in part.lines)
        if tables[-1] and used + height > page.lines:
            tables.append([])
            used = 0
        tables[-1].append(part)
        used += height
    return tables


def _cut(block: Block, most: int) -> Iterator[Block]:
    """A block in parts that fit into a table of their own."""
    part: list[Line] = []
    for line in block.lines:
        if part and BLOCK_LINES + sum(_height(own.title) for own in [*part, line]) > most:
            yield replace(block, lines=tuple(part))
            part = []
        part.append(line)
    yield replace(block, lines=tuple(part))


def _height(text: str) -> int:
    """Lines of print that a cell takes, wrapped where it is wider than `WIDEST`."""
    return max(1, ceil(LETTER * len(text) / WIDEST))


def _score_tables(table: Table, page: Page) -> str:
    """The environments of a table, and its footers as a paragraph below, which may run over pages."""
    groups = [list(members) for _, members in groupby(range(len(table.columns)), lambda n: table.columns[n].group)]
    lines = [line for block in table.blocks for line in block.lines]
    label = max((_width(line.title) for line in lines), default=0.0)
    widths = [[_column_width(table, place) for place in group] for group in groups]
    drawn: list[str] = []
    for shown in side_by_side(label, widths, page):
        columns = [table.columns[place] for place in shown]
        names = ", ".join(dict.fromkeys(column.group or column.title for column in columns))
        for blocks in one_above_another(table.blocks, page):
            text = f"{table.title}, continued: {names}." if drawn else f"{table.title}. {table.caption}"
            body = [row for block in blocks for row in _block(block, shown)]
            tabular = _tabular("l" * (1 + len(columns)), [*_header(columns), *body])
            marks = {line.scores[place].mark for block in blocks for line in block.lines for place in shown}
            notes = [f"{_raised(mark)}~{_tex(text)}." for mark, text in table.footnotes if mark in marks]
            drawn.append(_environment(text, _label(table.name, len(drawn) + 1), tabular, notes, page))
    notes_to = rf"Notes to Table~\ref{{{_label(table.name, 1)}}}: {' '.join(map(_tex, table.footers))}"
    return "\n\n".join([*drawn, rf"\par{{\scriptsize\raggedright\noindent {notes_to}\par}}"])


def _environment(caption: str, label: str, tabular: Sequence[str], notes: Sequence[str], page: Page) -> str:
    """One `table*` or `sidewaystable*`; notes: lines of LaTeX below the tabular."""
    return "\n".join(
        [
            rf"\begin{{{page.environment}}}{'[tp]' if page is UPRIGHT else ''}",
            r"\centering",
            f"\\caption{{{_tex(caption)}}}",
            f"\\label{{{label}}}",
            rf"\par\smallskip\footnotesize\setlength{{\tabcolsep}}{{{GAP / 2:g}pt}}",
            *tabular,
            *([r"\par\smallskip\scriptsize\raggedright", *notes] if notes else []),
            rf"\end{{{page.environment}}}",
        ]
    )


def _label(name: str, number: int) -> str:
    """`tab:NAME`, `tab:NAME-2` and so on."""
    return f"tab:{name}" if number == 1 else f"tab:{name}-{number}"


def _tabular(columns: str, rows: Sequence[str]) -> list[str]:
    return [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *rows, r"\bottomrule", r"\end{tabular}"]


def _header(columns: Sequence[Column]) -> Iterator[str]:
    """Each dataset above its metrics, with a rule between; one line where no column has a dataset."""
    groups, rules, first = [], [], 2
    for group, members in groupby(columns, key=lambda column: column.group):
        last = first + len(list(members)) - 1
        groups.append(f"\\multicolumn{{{last - first + 1}}}{{c}}{{{_tex(group)}}}")
        if group:
            rules.append(f"\\cmidrule(lr){{{first}-{last}}}")
        first = last + 1
    if rules:
        yield f" & {' & '.join(groups)} \\\\"
        yield " ".join(rules)
    yield f"Method & {' & '.join(_tex(column.title) for column in columns)} \\\\"


def _block(block: Block, shown: Sequence[int]) -> Iterator[str]:
    yield r"\midrule"
    yield f"\\multicolumn{{{len(shown) + 1}}}{{c}}{{\\textbf{{{_tex(block.title)}}}}} \\\\"
    yield r"\midrule"
    for line in block.lines:
        title = _cell(line.title, r"\textit{{{}}}".format if line.gate else str)
        yield f"{title} & {' & '.join(_score(line.scores[place]) for place in shown)} \\\\"


def _score(score: Score) -> str:
    mean = f"\\textbf{{{score.printed}}}" if score.best else _tex(score.printed)
    spread = f"{{\\scriptsize{{}}{_tex(score.spread)}}}" if score.spread else ""
    tie = r"\,$\approx$" if score.tie else ""
    return f"{mean}{spread}{tie}" + (_raised(score.mark) if score.mark else "")


def _raised(mark: str) -> str:
    """A footnote mark; LaTeX's own superscript would be smaller than \\scriptsize."""
    return f"\\raisebox{{.6ex}}{{\\scriptsize {mark}}}"


def _column_width(table: Table, place: int) -> float:
    """Points of the widest score or of the heading of a column."""
    scores = [line.scores[place] for block in table.blocks for line in block.lines]
    widths = [
        LETTER * (len(score.printed) + 2 * score.tie) + SMALL_LETTER * (len(score.spread) + len(score.mark) + 0.5)
        for score in scores
    ]
    return max([*widths, LETTER * len(table.columns[place].title)])


def _width(text: str) -> float:
    return min(LETTER * len(text), WIDEST)


def _cell(text: str, styled: Callable[[str], str] = str) -> str:
    """A text of a table, wrapped where it is wider than `WIDEST`."""
    inner = styled(_tex(text))
    if LETTER * len(text) <= WIDEST:
        return inner
    return f"\\parbox[t]{{{WIDEST:g}pt}}{{\\raggedright\\strut {inner}\\strut}}"


def _tex(text: str) -> str:
    """Text escaped for pdflatex, on one line; a character missing in its fonts becomes a question mark."""
    return re.sub(r"\s+", " ", "".join(map(_character, text)))


def _character(character: str) -> str:
    known = character.isspace() or " " <= character <= "ÿ" or character in PUNCTUATION
    return ESCAPES.get(character, character if known else "?")


Span = tuple[str, str]
"""Text and its role: 'title', 'block', 'best', 'gate', 'faint', or '' for plain text."""
Cell = Sequence[Span]
NUMBER = 5
"""Characters of '100.0'."""
SUPERSCRIPTS = str.maketrans("abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")


class Sheet(NamedTuple):
    """The terminal form of one table."""

    above: tuple[Span, ...]
    """Paragraphs."""
    columns: tuple[tuple[str, str, str], ...] = ()
    """Group ('' for none), heading, and kind: 'label', 'left' or 'right', as benchmark.screen draws them."""
    blocks: tuple[tuple[tuple[Cell, ...], ...], ...] = ()
    """Rows of cells, one per column; a row of one cell is a title."""
    below: tuple[Span, ...] = ()


def score_sheet(table: Table, *, starred: bool = False) -> Sheet:
    """Title, verdict and caption, the blocks, footnotes and footers.

    `starred` marks the best numbers with a star and gates with brackets, for output without bold and italics.
    """
    gates = any(line.gate for block in table.blocks for line in block.lines)
    legend = f"*: best of its block{'; (gate): a reference row, not ranked' if gates else ''}."
    return Sheet(
        above=(
            ("", ""),
            (table.title, "title"),
            *((f"- {sentence}", "") for sentence in table.verdict),
            (table.caption, "faint"),
            *([(legend, "faint")] if starred else []),
        ),
        columns=(
            ("", "Method", "label"),
            *((column.group, f"{column.title:>{NUMBER}}", "left") for column in table.columns),
        ),
        blocks=tuple(
            ((((block.title, "block"),),), *(tuple(_cells(line, starred=starred)) for line in block.lines))
            for block in table.blocks
        ),
        below=(
            *((f"{mark.translate(SUPERSCRIPTS)} {text}", "faint") for mark, text in table.footnotes),
            *((footer, "faint") for footer in table.footers),
        ),
    )


def text_sheet(table: TextTable) -> Sheet:
    """Title, caption and lines of a table of texts."""
    first, *rest = table.header
    return Sheet(
        above=(("", ""), (table.title, "title"), (table.caption, "faint")),
        columns=(("", first, "label"), *(("", heading, "right") for heading in rest)),
        blocks=(tuple(tuple([(text, "")] for text in line) for line in table.lines),),
    )


def _cells(line: Line, *, starred: bool) -> Iterator[Cell]:
    yield [(f"({line.title})" if starred and line.gate else line.title, "gate" if line.gate else "")]
    for score in line.scores:
        star = "*" if starred and score.best else ""
        tie = "≈" if score.tie else ""
        yield [
            (f"{score.printed:>{NUMBER}}", "best" if score.best else ""),
            (f"{score.spread}{star}{tie}{score.mark.translate(SUPERSCRIPTS)}", "faint"),
        ]
