"""The forms of a table: golden files of Markdown and LaTeX, which fits a page; CSV back to cells; sheets."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from reports.load import load
from reports.results import layouts
from reports.tables.render import (
    LANDSCAPE,
    UPRIGHT,
    Block,
    Cell,
    Line,
    Page,
    Table,
    TextTable,
    latex,
    literal,
    long_csv,
    markdown,
    one_above_another,
    score_sheet,
    side_by_side,
    text_latex,
)
from reports.tables.table import make_table

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def table(store_root: Path) -> Table:
    run = load(store_root)
    return make_table(run, next(layouts(run.plan, "finetune")), "heartbeat")


def test_markdown_and_latex_are_the_golden_ones_and_take_titles_literally(table: Table) -> None:
    assert markdown(table) == (GOLDEN / "table.md").read_text(encoding="utf-8")
    assert latex([table]) == (GOLDEN / "table.tex").read_text(encoding="utf-8")
    assert r"PMQ w/o mask_t & 5 % \| \*" in markdown(table)
    assert r"PMQ w/o mask\_t \& 5 \% \textbar{} *" in latex([table])
    assert latex([table]).isascii()
    scores = [score for block in table.blocks for line in block.lines for score in line.scores]
    lines = [line for line in latex([table]).splitlines() if re.match(r"(Random|MoCo|PMQ)", line)]
    assert sum(line.count(" & ") for line in lines) == len(scores)


def test_text_has_no_html_link_or_entity_in_markdown() -> None:
    assert literal("<img src=x> R&D &lt; [a](b) [1, 2]") == r"&lt;img src=x> R&D &amp;lt; [a\](b) [1, 2]"


def test_csv_traces_each_number_to_its_cells(table: Table, store_root: Path) -> None:
    lines = list(csv.DictReader(long_csv([table]).splitlines()))
    assert len(lines) == 2 * 4 * 7
    for line in lines:
        keys = line["keys"].split()
        assert all((store_root / "cells" / f"{key}.json").is_file() for key in keys)
        assert bool(line["mean_percent"]) or line["remark"]
        if line["metric"] != "overall" and line["mean_percent"]:
            assert len(keys) == int(line["n"])
    (first, *_) = lines
    assert float(first["mean_percent"]) == pytest.approx(50.0)
    assert float(first["std_percent"]) == pytest.approx(2**0.5)


SMALLEST = 7
"""Points."""
NEEDS_PDFLATEX = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")


def wide_and_long(table: Table) -> Table:
    """The table with three datasets more, eleven rows of long titles and five blocks."""
    (*scores, overall), *_ = [table.columns]
    more = [replace(column, group=f"{column.group} {n}") for n in range(2) for column in scores]
    lines = [
        replace(
            line,
            title=f"Gradient boosting on hand-crafted features, number {n}",
            scores=(*line.scores[:-1] * 2, line.scores[-1]),
        )
        for n in range(11)
        for line in table.blocks[1].lines[:1]
    ]
    blocks = [Block(0.1 * n, f"{10 * n} % of the labels", tuple(lines)) for n in range(1, 6)]
    return replace(table, columns=(*more, overall), blocks=tuple(blocks))


def test_columns_stay_together_by_dataset_and_move_on_where_they_do_not_fit() -> None:
    assert side_by_side(100.0, [[50.0] * 3, [50.0] * 3, [50.0]], UPRIGHT) == [[0, 1, 2], [3, 4, 5, 6]]
    assert side_by_side(100.0, [[20.0], [20.0], [20.0]], UPRIGHT) == [[0, 1, 2]]
    assert side_by_side(100.0, [[100.0] * 3], UPRIGHT) == [[0, 1], [2]]
    assert side_by_side(100.0, [[30.0], [100.0] * 3], UPRIGHT) == [[0, 1], [2, 3]]


def test_across_the_page_more_columns_and_fewer_rows_fit(table: Table) -> None:
    assert side_by_side(100.0, [[50.0] * 3, [50.0] * 3, [50.0]], LANDSCAPE) == [[0, 1, 2, 3, 4, 5, 6]]
    wide = wide_and_long(table)
    wide = replace(wide, blocks=(replace(wide.blocks[0], lines=wide.blocks[0].lines[:5]),))
    upright, across = latex([wide]), latex([wide], LANDSCAPE)
    assert across.count(r"\begin{sidewaystable*}") < upright.count(r"\begin{table*}[tp]")
    assert "rotating" in across
    assert "sideways" not in upright


def test_rows_move_on_by_blocks_and_a_long_block_is_cut() -> None:
    def block(rows: int) -> Block:
        return Block(0.1, "x", tuple(Line(str(row), "", ()) for row in range(rows)))

    assert [len(own) for own in one_above_another([block(10), block(10), block(10), block(10)], UPRIGHT)] == [3, 1]
    tables = one_above_another([block(UPRIGHT.lines + 5)], UPRIGHT)
    assert [len(own.lines) for (own,) in tables] == [UPRIGHT.lines - 2, 7]


def fonts(pdf: bytes) -> set[int]:
    """Sizes in points of the Computer Modern fonts of an uncompressed PDF."""
    return {int(size) for size in re.findall(rb"/FontName\s*/[A-Z]+\+CM[A-Z]+(\d+)", pdf)}


def compiled(text: str, folder: Path, columns: str = "onecolumn", packages: str = "booktabs") -> bytes:
    """The PDF of a paper that holds some tables."""
    (folder / "results.tex").write_text(text)
    head = rf"\pdfcompresslevel=0\pdfobjcompresslevel=0\documentclass[{columns}]{{article}}\usepackage{{{packages}}}"
    (folder / "paper.tex").write_text(rf"{head}\begin{{document}}\input{{results.tex}}\end{{document}}")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout[-2000:]
    assert not [line for line in done.stdout.splitlines() if "Overfull" in line or "too large" in line]
    return (folder / "paper.pdf").read_bytes()


@NEEDS_PDFLATEX
@pytest.mark.parametrize("columns", ["onecolumn", "twocolumn"])
@pytest.mark.parametrize(("page", "notes"), [(UPRIGHT, 1), (UPRIGHT, 30), (LANDSCAPE, 1)])
def test_tables_fit_the_page_at_no_less_than_seven_points(
    page: Page, notes: int, columns: str, table: Table, tmp_path: Path
) -> None:
    tables = [replace(table, footers=table.footers * notes), replace(wide_and_long(table), name="long")]
    sizes = fonts(compiled(latex(tables, page), tmp_path, columns, "booktabs,rotating"))
    assert min(sizes) == SMALLEST


def test_a_table_of_texts_of_many_columns_and_lines_continues(tmp_path: Path) -> None:
    header = ("Pretraining", *(f"quantity {n}" for n in range(9)), "machine")
    line = ("PMQ", *["637,952"] * 9, "a processor with a rather long name, 2 threads, bf16")
    tex = text_latex([TextTable("costs", "Costs", "Cost of each pretraining. More.", header, (line,) * 40)])
    assert tex.count(r"\begin{table*}") > 2
    assert "Cost of each pretraining, continued." in tex
    assert "continued, continued" not in tex
    assert tex.count("PMQ & ") == 40 * 3, "three tables side by side hold every line once"
    assert r"\label{tab:costs-part-2-2}" in tex
    if shutil.which("pdflatex"):
        assert min(fonts(compiled(tex, tmp_path))) >= SMALLEST


def text(cell: Cell) -> str:
    return "".join(part for part, _ in cell)


def test_every_number_stands_under_its_column(table: Table) -> None:
    sheet = score_sheet(table)
    assert [(group, heading.strip()) for group, heading, _ in sheet.columns[1:]] == [
        (column.group, column.title) for column in table.columns
    ]
    for block, rows in zip(table.blocks, sheet.blocks, strict=True):
        title, *lines = rows
        assert [text(cell) for cell in title] == [block.title]
        for line, (label, *cells) in zip(block.lines, lines, strict=True):
            assert text(label) == line.title
            assert [cell[0][0].strip() for cell in cells] == [score.printed for score in line.scores]


def test_roles_footnotes_and_footers_of_a_sheet(table: Table) -> None:
    sheet, starred = score_sheet(table), score_sheet(table, starred=True)
    cells, marked = ([cell for rows in own.blocks for row in rows for cell in row[1:]] for own in (sheet, starred))
    assert {len(cell[0][0]) for cell in cells} == {5}, "points stand below each other"
    best = [cell[0][0].strip() for cell in cells if cell[0][1] == "best"]
    assert best[:6] == ["70.0", "90.0", "80.0", "75.0", "95.0", "85.0"]
    assert len(best) == sum(score.best for block in table.blocks for line in block.lines for score in line.scores)
    assert [cell[0][1] == "best" for cell in marked] == ["*" in cell[1][0] for cell in marked]
    assert not any("*" in cell[1][0] for cell in cells)
    assert any("*: best" in text for text, _ in starred.above)
    assert ("    –", "") in [span for cell in cells for span in cell]
    below = [text for text, _ in sheet.below]
    assert "ᶜ undefined in 2 of 2 finished seeds: no class has both signs" in below
    assert set(table.footers) <= set(below)


def test_sheets_need_neither_rich_nor_torch() -> None:
    code = "import sys, reports.tables.render; sys.exit(bool({'rich', 'torch'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
