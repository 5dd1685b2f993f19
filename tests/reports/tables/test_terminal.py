"""A table as a sheet: every number in its column, what is best by its role, and by a star where roles do not show."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from reports.runs.planned_tables import layouts
from reports.runs.run import open_run
from reports.tables.table import make_table
from reports.tables.terminal import Cell, score_sheet
from reports.tables.values import Table


@pytest.fixture
def table(store_root: Path) -> Table:
    run = open_run(store_root)
    return make_table(run, next(layouts(run.plan, "finetune")), "heartbeat")


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


def test_points_stand_below_each_other(table: Table) -> None:
    cells = [cell for rows in score_sheet(table).blocks for row in rows for cell in row[1:]]
    assert {len(cell[0][0]) for cell in cells} == {5}


def test_best_scores_have_their_role(table: Table) -> None:
    best = [part.strip() for part, role in spans(table) if role == "best"]
    assert best[:6] == ["70.0", "90.0", "80.0", "75.0", "95.0", "85.0"]
    assert len(best) == sum(score.best for block in table.blocks for line in block.lines for score in line.scores)


def spans(table: Table) -> list[tuple[str, str]]:
    return [span for rows in score_sheet(table).blocks for row in rows for cell in row for span in cell]


def test_footnotes_and_footers_follow(table: Table) -> None:
    assert ("    –", "") in spans(table)
    assert "ᶜ" in [part for part, _ in spans(table)]
    below = [text for text, _ in score_sheet(table).below]
    assert "ᶜ undefined in 2 of 2 finished seeds: no class has both signs" in below
    assert set(table.footers) <= set(below)


def test_stars_take_the_place_of_bold(table: Table) -> None:
    sheet = score_sheet(table, starred=True)
    cells = [cell for rows in sheet.blocks for row in rows for cell in row[1:]]
    assert [cell[0][1] == "best" for cell in cells] == ["*" in cell[1][0] for cell in cells]
    assert any("*: best" in text for text, _ in sheet.above)
    assert not any("*" in cell[1][0] for rows in score_sheet(table).blocks for row in rows for cell in row[1:])


def test_sheets_need_neither_rich_nor_torch() -> None:
    code = "import sys, reports.tables.terminal; sys.exit(bool({'rich', 'torch'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
