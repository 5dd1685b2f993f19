"""A table at the widths of terminals: no line too long, no column lost, no number changed."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from reports.runs.planned_tables import layouts
from reports.runs.run import open_run
from reports.tables.table import Table, make_table
from reports.tables.terminal import Span, terminal_lines


@pytest.fixture
def table(store_root: Path) -> Table:
    run = open_run(store_root)
    return make_table(run, next(layouts(run.plan, "finetune")), "heartbeat")


def text(spans: list[Span]) -> str:
    return "".join(part for part, _ in spans)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_fits_and_holds_every_number(table: Table, width: int) -> None:
    lines = list(terminal_lines(table, width))
    assert max(len(text(spans)) for spans in lines) <= width
    shown = sorted(part for spans in lines for part, role in spans if role in ("", "best") and _is_score(part))
    assert shown == sorted(score.printed for block in table.blocks for line in block.lines for score in line.scores)


def _is_score(part: str) -> bool:
    return part == "–" or part.replace(".", "", 1).isdigit()


def test_best_scores_have_their_role(table: Table) -> None:
    best = [part for spans in terminal_lines(table, 120) for part, role in spans if role == "best"]
    assert best[:6] == ["70.0", "90.0", "80.0", "75.0", "95.0", "85.0"]
    assert len(best) == sum(score.best for block in table.blocks for line in block.lines for score in line.scores)


def test_datasets_stand_below_each_other_where_they_do_not_fit(table: Table) -> None:
    headers = [text(spans).split() for spans in terminal_lines(table, 70) if text(spans).startswith("Method")]
    assert headers == [["Method", "F1", "AUROC", "ACC"], ["Method", "F1", "AUROC", "ACC", "Overall"]]


def test_footnotes_and_footers_follow(table: Table) -> None:
    whole = "\n".join(text(spans) for spans in terminal_lines(table, 120))
    assert "–ᶜ" in whole
    assert "ᶜ undefined in 2 of 2 finished seeds: no class has both signs" in whole
    unwrapped = " ".join(whole.split())
    assert all(" ".join(footer.split()) in unwrapped for footer in table.footers)


def test_a_pipe_gets_a_star_for_each_best_number(table: Table) -> None:
    shown = [part.strip() for spans in terminal_lines(table, 120, starred=True) for part, _ in spans]
    best = [score for block in table.blocks for line in block.lines for score in line.scores if score.best]
    stars = [after for number, after in pairwise(shown) if _is_score(number) and "*" in after]
    assert len(stars) == len(best) > 0
