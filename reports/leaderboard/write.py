"""`report --leaderboard` on files: leaderboard.html, .md and .csv."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.results.files.write import write_atomic
from benchmark.results.names import BOTH, UNIT_OF_PROTOCOL, UNITS
from benchmark.results.store import NoResults
from reports.leaderboard.board import blocks_of
from reports.leaderboard.frame import Frame, frame_of
from reports.leaderboard.origins import costs_of, facts_of, usual_settings
from reports.leaderboard.page import board_html
from reports.leaderboard.places import Listed, listed, placed
from reports.leaderboard.submissions import Submission, Unread, open_submissions
from reports.leaderboard.text import Board, long_csv, markdown

FILES = {"leaderboard.md": markdown, "leaderboard.csv": long_csv, "leaderboard.html": board_html}


@dataclass(frozen=True)
class Written:
    """A board and its files."""

    board: Board
    files: tuple[Path, ...]


def write_leaderboard(sources: Sequence[str], out: Path, *, unit: str | None = None) -> Written:
    """Put the rows of several capsules, results folders or runs (as in reports.runs.open) on one board under `out`.

    unit: 'heartbeat', 'recording' or 'both'; by default that of the board's protocol. A source that cannot be read is
    listed on the board. Raises NoResults where none can be read.
    """
    with open_submissions(sources) as (submissions, unread):
        if not any(own.run.rows for own in submissions):
            reasons = [f"{own.name}: {own.reason}" for own in unread] or ["no cell is finished"]
            raise NoResults(f"no leaderboard of {len(sources)} sources, none of which has a result: {reasons[0]}")
        board = board_of(submissions, unread, unit)
    for name, form in FILES.items():
        write_atomic(out / name, form(board).encode())
    return Written(board, tuple(out / name for name in FILES))


def board_of(submissions: Sequence[Submission], unread: Sequence[Unread], unit: str | None) -> Board:
    """The board of some submissions, at least one of which has a finished cell."""
    with_rows = [own for own in submissions if own.run.rows]
    frame = frame_of(with_rows)
    there, apart = placed(submissions, frame)
    units = UNITS if unit == BOTH else (unit or UNIT_OF_PROTOCOL[frame.protocol],)
    blocks, refused = blocks_of(there, frame, units)
    gone = {id(row) for row, _ in refused}
    usual = usual_settings(with_rows)
    return Board(
        frame=frame,
        blocks=tuple(blocks),
        listed=(
            *(Listed(own.name, "all", own.reason) for own in unread),
            *listed([*apart, *refused], [row for row in there if id(row) not in gone]),
            *_besides(submissions, frame),
        ),
        origins=tuple((own.name, facts_of(own, usual)) for own in submissions),
        costs=costs_of(with_rows),
        warnings=tuple(_warnings(with_rows, frame)),
    )


def _besides(submissions: Sequence[Submission], frame: Frame) -> Iterator[Listed]:
    """Datasets that the board does not have, and damaged rows."""
    for own in submissions:
        others = [name for name in own.run.plan.datasets if name not in frame.datasets]
        titles = ", ".join(str(own.run.plan.datasets[name].get("title") or name) for name in others)
        if others and any(row.dataset in others for row in own.run.rows.values()):
            yield Listed(own.name, titles, f"other dataset: the board has {', '.join(frame.titles.values())}")
        for problem in dict.fromkeys(own.run.damaged.values()):
            yield Listed(own.name, "a damaged row", problem)


def _warnings(submissions: Sequence[Submission], frame: Frame) -> Iterator[str]:
    """Whether ECGs are simulated, and the submissions that carry warnings of their own."""
    corpora = {bool(own.run.plan.pretraining.get("simulated")) for own in submissions}
    if frame.simulated & frame.datasets.keys() or True in corpora:
        yield "Simulated ECGs: no ranking of methods follows."
    if warned := [own.name for own in submissions if own.run.plan.warnings]:
        yield f"With warnings of their own, in 'Where the results come from': {', '.join(warned)}."
