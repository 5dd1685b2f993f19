"""LaTeX of tables: the golden file, and that every table fits a page of `article` without small print."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from reports.runs.planned_tables import layouts
from reports.runs.run import open_run
from reports.tables.latex import LANDSCAPE, UPRIGHT, latex, latex_table, one_above_another, side_by_side
from reports.tables.table import make_table
from reports.tables.values import Block, Line, Table

GOLDEN = Path(__file__).parent / "golden"
SMALLEST = 7
"""Points."""
NEEDS_PDFLATEX = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")


@pytest.fixture
def table(store_root: Path) -> Table:
    run = open_run(store_root)
    return make_table(run, next(layouts(run.plan, "finetune")), "heartbeat")


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


def test_latex_is_the_golden_one(table: Table) -> None:
    assert latex([table]) == (GOLDEN / "table.tex").read_text(encoding="utf-8")


def test_what_latex_would_read_is_escaped(table: Table) -> None:
    text = latex([table])
    assert r"PMQ w/o mask\_t \& 5 \% \textbar{} *" in text
    assert text.isascii()


def test_each_number_stands_in_one_table(table: Table) -> None:
    scores = [score for block in table.blocks for line in block.lines for score in line.scores]
    lines = [line for line in latex([table]).splitlines() if re.match(r"(Random|MoCo|PMQ)", line)]
    assert sum(line.count(" & ") for line in lines) == len(scores)


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
@pytest.mark.parametrize("notes", [1, 30])
def test_tables_fit_the_page_at_no_less_than_seven_points(
    notes: int, columns: str, table: Table, tmp_path: Path
) -> None:
    tables = [replace(table, footers=table.footers * notes), replace(wide_and_long(table), name="long")]
    sizes = fonts(compiled(latex(tables), tmp_path, columns))
    assert min(sizes) == SMALLEST


@NEEDS_PDFLATEX
@pytest.mark.parametrize("columns", ["onecolumn", "twocolumn"])
def test_tables_across_the_page_fit_it(columns: str, table: Table, tmp_path: Path) -> None:
    tables = [table, replace(wide_and_long(table), name="long")]
    sizes = fonts(compiled(latex(tables, LANDSCAPE), tmp_path, columns, "booktabs,rotating"))
    assert min(sizes) == SMALLEST


@NEEDS_PDFLATEX
def test_a_plain_table_of_many_columns_fits(tmp_path: Path) -> None:
    header = ["Pretraining", *(f"quantity {n}" for n in range(9)), "machine"]
    lines = [["PMQ", *["637,952"] * 9, "a processor with a rather long name, 2 threads, bf16"]]
    text = latex_table(header, lines, "Cost of each pretraining. More.", "costs")
    assert text.count(r"\begin{table*}") > 1
    assert "Cost of each pretraining, continued." in text
    assert min(fonts(compiled(text, tmp_path))) >= SMALLEST
