"""What a board says in words, and the board as Markdown and CSV."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmark.results.plain_text import csv_text
from reports.leaderboard.board import Block, BoardRow, Shown, interval_text, rank_text
from reports.leaderboard.frame import Frame
from reports.leaderboard.origins import Facts
from reports.leaderboard.places import Listed
from reports.runs.merge import counted
from reports.statistics.interval import LEVEL
from reports.tables.text import TextTable, literal, pipe_table, text_markdown
from reports.tables.values import DASH, Column

CSV_HEADER = (
    "evaluation", "unit", "ratio", "rank_best", "rank_worst", "submission", "variant", "title", "gate", "dataset",
    "metric", "mean_percent", "low_percent", "high_percent", "seeds", "encoders", "remark",
)  # fmt: skip
NOT_COMPARED = "not compared"
"""Evaluation of the lines of the CSV that say what is not on the board."""
DIGITS = 4
"""Decimals of percent in the CSV: further ones differ between processors."""
SHOWN_DIGEST = 16
"""Characters of a digest."""


@dataclass(frozen=True)
class Board:
    """All that the page, the Markdown and the CSV show."""

    frame: Frame
    blocks: tuple[Block, ...]
    listed: tuple[Listed, ...]
    """What does not compare or cannot be read."""
    origins: tuple[tuple[str, Facts], ...]
    """Submission -> where its results come from."""
    costs: TextTable
    warnings: tuple[str, ...]


def counts(board: Board) -> str:
    """How many submissions have a row on the board, and how much is not on it."""
    there = {row.row.submission.name for block in board.blocks for row in block.rows}
    there |= {name for block in board.blocks for row in block.rows for name in row.shared}
    apart = f"; {counted(len(board.listed), 'line')} on what does not compare" if board.listed else ""
    return f"{len(there)} of {counted(len(board.origins), 'submission')} on the board{apart}."


def sentences(board: Board) -> Iterator[str]:
    """What the rows have in common, and what the numbers and ranks mean."""
    frame = board.frame
    datasets = ", ".join(
        f"{title} ({'simulated' if name in frame.simulated else 'real'})" for name, title in frame.titles.items()
    )
    yield f"Protocol {frame.protocol}, {frame.labels} labels, on the same test windows of {datasets}."
    yield (
        "This is what most of the named submissions share, the first of them on a tie; to compare what is listed "
        "below with its like, name those submissions alone."
    )
    yield (
        f"Scores in percent, means over the runs of a row, with {100 * (1 - LEVEL):g} % intervals over test patients "
        "and runs; computed from the stored predictions. Overall: mean of the columns."
    )
    yield (
        "Rank: by Overall, those that no significant difference rules out (paired by test patient; level "
        f"{100 * LEVEL:g} %, Holm's correction over all pairs of a block's rows). A dash: no significant difference "
        "from any other row. Gates (reference rows) are not ranked; equal ones of several submissions stand there once."
    )
    yield (
        "A row with one encoder stands for that encoder, not for its method, and one with one seed for that run: its "
        "intervals cover no other."
    )
    yield (
        "Digests find damage, not forgery: who doubts a row computes it again from the config and commit of its "
        "submission."
    )


def test_sets(frame: Frame) -> list[tuple[str, str]]:
    """(dataset, digests of its test windows, their labels and its data)."""
    return [
        (
            frame.titles[name],
            f"windows {own.windows[:SHOWN_DIGEST]}, labels {own.labels[:SHOWN_DIGEST]} of "
            f"{', '.join(own.classes) or 'unnamed classes'}, data {own.fingerprint or 'not recorded'}",
        )
        for name, own in frame.datasets.items()
    ]


def sentence_of(block: Block) -> str:
    """How many rows are ranked, and what the tests could tell."""
    ranked = sum(not row.gate for row in block.rows)
    if ranked < 2:
        return f"{counted(ranked, 'row')} besides the gates: nothing to rank."
    return f"{ranked} rows; {block.told} of {counted(block.pairs, 'pair')} differ significantly."


def submission_text(row: BoardRow) -> str:
    """The submission of a row; of a gate also how many others have it."""
    return row.row.submission.name + (f" and {len(row.shared)} more" if row.shared else "")


def runs_text(row: BoardRow) -> str:
    """'8 seeds, 1 encoder'."""
    return f"{counted(len(row.seeds), 'seed')}, {counted(row.encoders, 'encoder')}"


def heading(column: Column) -> str:
    """'PTB-XL F1', 'Overall'."""
    return f"{column.group} {column.title}".strip()


def score_text(shown: Shown) -> str:
    """'61.2 [58.0–64.1]', or a dash."""
    if math.isnan(shown.mean):
        return DASH
    interval = interval_text(shown)
    return f"{shown.mean:.1f}" + (f" [{interval}]" if interval else "")


def overall_first(columns: Sequence[Column]) -> list[int]:
    """Places of the columns, Overall before the datasets."""
    return [len(columns) - 1, *range(len(columns) - 1)]


def markdown(board: Board) -> str:
    """The board: words, a table per block, what does not compare, costs, and where the results come from."""
    parts = ["# ECG pretraining leaderboard", literal(counts(board))]
    parts += [f"**{literal(text)}**" for text in board.warnings]
    parts.append("\n".join(f"- {literal(text)}" for text in sentences(board)))
    for block in board.blocks:
        order = overall_first(block.columns)
        header = ["Method", "Submission", "Rank", *(literal(heading(block.columns[place])) for place in order), "Runs"]
        parts += [f"## {literal(block.title)}", sentence_of(block), pipe_table(header, list(_md_lines(block, order)))]
    if board.listed:
        rows = [[literal(text) for text in own] for own in board.listed]
        parts += ["## Not compared", pipe_table(["Submission", "What", "Reason"], rows)]
    if board.costs.lines:
        parts.append(text_markdown(board.costs).rstrip())
    parts += ["## Test sets", _md_list(test_sets(board.frame))]
    for name, facts in board.origins:
        parts += [f"## {literal(name)}", _md_list(facts)]
    return "\n\n".join(parts) + "\n"


def _md_lines(block: Block, order: Sequence[int]) -> Iterator[list[str]]:
    for row in block.rows:
        title = literal(row.row.title)
        yield [
            f"*{title}*" if row.gate else title,
            literal(submission_text(row)),
            rank_text(row),
            *(score_text(row.scores[place]) for place in order),
            runs_text(row),
        ]


def _md_list(facts: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"- {literal(label)}: {literal(text)}" for label, text in facts)


def long_csv(board: Board) -> str:
    """One line per number of the board, then one per line of what does not compare, with the reason as remark."""
    return csv_text(CSV_HEADER, [*_csv_numbers(board), *map(_csv_listed, board.listed)])


def _csv_numbers(board: Board) -> Iterator[tuple[object, ...]]:
    for block in board.blocks:
        for row in block.rows:
            rank = row.rank or ("", "")
            who = (submission_text(row), row.row.variant, row.row.title, int(row.gate))
            runs = (" ".join(map(str, row.seeds)), row.encoders)
            for column, shown in zip(block.columns, row.scores, strict=True):
                numbers = ("" if math.isnan(value) else round(value, DIGITS) for value in shown[:3])
                yield (
                    block.evaluation, block.unit, block.ratio, *rank, *who, column.dataset, column.metric, *numbers,
                    *runs, shown.remark,
                )  # fmt: skip


def _csv_listed(own: Listed) -> tuple[object, ...]:
    empty = dict.fromkeys(CSV_HEADER, "")
    told = {"evaluation": NOT_COMPARED, "submission": own.submission, "title": own.what, "remark": own.reason}
    return tuple((empty | told).values())


def top_lines(block: Block, most: int) -> list[list[str]]:
    """Rank, method, submission and Overall of the first rows of a block, gates left out, for a terminal."""
    rows = [row for row in block.rows if not row.gate]
    shown = [[row.row.title, submission_text(row), rank_text(row), score_text(row.scores[-1])] for row in rows[:most]]
    rest = len(rows) - most
    return shown + ([[f"and {rest} more", "", "", ""]] if rest > 0 else [])
