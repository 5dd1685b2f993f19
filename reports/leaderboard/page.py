"""The board as one HTML page that needs no network."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from reports.html.template import rendered
from reports.leaderboard.board import Block, BoardRow, Shown, interval_text, rank_text
from reports.leaderboard.text import (
    Board,
    counts,
    overall_first,
    runs_text,
    sentence_of,
    sentences,
    submission_text,
    test_sets,
)
from reports.tables.values import DASH

GATES_TITLE, ROWS_TITLE = "Gates (reference rows, not ranked)", "Submissions"


def board_html(board: Board) -> str:
    """The page. The same board gives the same bytes."""
    content: dict[str, Any] = {
        "counts": counts(board),
        "warnings": board.warnings,
        "sentences": list(sentences(board)),
        "test_sets": test_sets(board.frame),
        "blocks": [_shown_block(block) for block in board.blocks],
        "listed": board.listed,
        "costs": board.costs,
        "origins": board.origins,
    }
    return rendered("leaderboard.html", content, scripts=("sort.js",))


def _shown_block(block: Block) -> dict[str, Any]:
    order = overall_first(block.columns)
    columns = [block.columns[place] for place in order]
    rows = [_shown_row(row, order) for row in block.rows]
    return {
        "title": block.title,
        "sentence": sentence_of(block),
        "groups": [(group, len(list(own))) for group, own in groupby(columns, key=lambda column: column.group)],
        "headings": [column.title for column in columns],
        "parts": [
            (GATES_TITLE, [row for row in rows if row["gate"]]),
            (ROWS_TITLE, [row for row in rows if not row["gate"]]),
        ],
    }


def _shown_row(row: BoardRow, order: list[int]) -> dict[str, Any]:
    return {
        "gate": row.gate,
        "title": row.row.title,
        "submission": submission_text(row),
        "rank": DASH if row.gate else rank_text(row),
        "place": None if row.rank is None else -sum(row.rank) / 2,
        "scores": list(_shown_scores([row.scores[place] for place in order])),
        "runs": runs_text(row),
    }


def _shown_scores(scores: list[Shown]) -> Iterator[dict[str, str]]:
    for shown in scores:
        if math.isnan(shown.mean):
            yield {"text": DASH, "value": "", "interval": ""}
        else:
            yield {"text": f"{shown.mean:.1f}", "value": f"{shown.mean:.3f}", "interval": interval_text(shown)}
