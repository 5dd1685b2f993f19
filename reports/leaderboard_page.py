"""The board as one HTML page that needs no network.

`report --leaderboard` on files: leaderboard.html, .md and .csv.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmark.results.files import csv_text, write_atomic
from benchmark.results.names import BOTH, METHOD, PRESET, UNIT_OF_PROTOCOL, UNITS
from benchmark.results.reruns import files_beside, read_rerun
from benchmark.results.schema import digest, flat
from benchmark.results.store import NoResults
from reports.leaderboard import (
    GATES,
    Block,
    BoardRow,
    Frame,
    Listed,
    Shown,
    Submission,
    Unread,
    blocks_of,
    frame_of,
    interval_text,
    listed,
    most_common,
    one_line,
    open_submissions,
    placed,
    rank_text,
)
from reports.open import CHOICE, counted, digest_of, portable, shown
from reports.page import rendered
from reports.runs import machine_of, role_of
from reports.statistics.estimates import LEVEL
from reports.tables.further import COSTS_HEADER, cost_lines
from reports.tables.render import DASH, Column, TextTable, literal, pipe_table, text_markdown
from reports.tables.words import SHOWN_DIGITS, used_text

UNLIKE = 8
"""Settings of a submission that are named where they are not those of most."""
NOT_RECORDED, NOT_RERUN = "not recorded", "not re-run"
COSTS = TextTable(
    "leaderboard-costs",
    "Pretraining cost",
    "As each submission's cards say; the mean where a row has several pretrainings. Seconds of different machines do "
    "not compare; encoder passes do. A dash: not recorded, or in a card without a digest of its own.",
    ("Submission", *COSTS_HEADER),
    (),
)
Facts = list[tuple[str, str]]
"""(label, text)."""


def content_of(own: Submission) -> str:
    """Digest of a submission's rows: who has the same results finds the same digest."""
    return digest([own.run.plan.key, sorted((key, tested.content) for key, tested in own.tested.items())])


def facts_of(own: Submission, usual: dict[str, Any]) -> Facts:
    """What the page says of a submission; `usual`: of `usual_settings`."""
    run = own.run
    plan, rows = run.plan, list(run.rows.values())
    told = [row.provenance for row in rows]
    trained = [row for row in rows if row.pretrain_key and row.variant not in GATES]
    pretrainings = {row.pretrain_key for row in trained}
    seeds = sorted({row.pretrain_seed for row in trained if row.pretrain_seed is not None})
    devices = (machine_of(facts) for facts in told if facts.get("device"))
    facts = {
        "Results": f"config {plan.config.get('name') or 'without a name'}, plan {plan.key}, digest {content_of(own)}",
        "Rows": f"{len(rows)} of {len({cell.key for cell in plan.cells})} cells finished",
        "Code": joined(_commit(facts.get("git") or {}) for facts in told),
        "Machine": joined(devices),
        "Versions": joined(_versions(facts) for facts in told),
        "Seeds": joined(str(seed) for seed in sorted({row.seed for row in rows})),
        "Pretrainings": f"{len(pretrainings)}, of seeds {joined(map(str, seeds))}" if pretrainings else "none",
        "Budget": budget_of(plan.config),
        "Test data": joined(_source(facts) for facts in plan.datasets.values()),
        "Pretrained on": f"{_source(plan.pretraining)}{used_text(plan)}",
        "Settings unlike most": joined(unlike(own, usual), "; ") if usual else "",
        "Warnings": joined(plan.warnings, "; "),
    }
    return [(label, one_line(str(portable(text)))) for label, text in facts.items() if text]


def joined(texts: Iterable[str], separator: str = ", ") -> str:
    """Different texts, each once."""
    return separator.join(dict.fromkeys(filter(None, texts)))


def _commit(git: dict[str, Any]) -> str:
    if not git.get("commit"):
        return NOT_RECORDED
    return f"commit {str(git['commit'])[:SHOWN_DIGITS]}{' with uncommitted changes' if git.get('dirty') else ''}"


def _versions(facts: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in (facts.get("versions") or {}).items())


def _source(facts: dict[str, Any]) -> str:
    kind = "simulated" if facts.get("simulated") else "real"
    fingerprint = f", fingerprint {facts['fingerprint']}" if facts.get("fingerprint") else ""
    return f"{facts.get('title') or facts.get('name', 'data')} ({kind}{fingerprint})"


def budget_of(config: dict[str, Any]) -> str:
    """'12 epochs, equal encoder passes, preset unified'; '' for a plan that does not say."""
    told = config.get("pretrain", {})
    parts = []
    if "epochs" in told:
        parts.append(f"{told['epochs']} epochs")
    if told.get("budget"):
        parts.append(f"equal {told['budget']}")
    if told.get("preset"):
        parts.append(f"preset {told['preset']}")
    return ", ".join(parts)


def usual_settings(submissions: Sequence[Submission]) -> dict[str, Any]:
    """Dotted config key -> the value that most submissions have, the first on a tie; {} for one submission."""
    if len(submissions) < 2:
        return {}
    settings = [flat(portable(own.run.plan.config)) for own in submissions]
    names = sorted({name for own in settings for name in own})
    return {name: most_common(shown(own.get(name)) for own in settings) for name in names}


def unlike(own: Submission, usual: dict[str, Any]) -> list[str]:
    """'finetune.lr 0.01 (most: 0.001)': settings that are not those of most, without those that choose cells."""
    mine = flat(portable(own.run.plan.config))
    names = [name for name in usual if not any(name == c or name.startswith(f"{c}.") for c in CHOICE)]
    told = [
        f"{name} {shown(mine.get(name))} (most: {usual[name]})"
        for name in names
        if shown(mine.get(name)) != usual[name]
    ]
    return told[:UNLIKE] + ([f"and {len(told) - UNLIKE} more"] if len(told) > UNLIKE else [])


def costs_of(submissions: Sequence[Submission]) -> TextTable:
    """The cost of each pretrained row of the submissions."""
    lines = []
    for own in submissions:
        plan = own.run.plan
        rows = {name for name in plan.variants if role_of(plan, name)["role"] in (METHOD, PRESET)}
        cards = {name: found for name, found in own.run.cards.items() if name in rows}
        lines += [(own.name, *line) for line in cost_lines(cards, plan.variants)]
    return TextTable(COSTS.name, COSTS.title, COSTS.caption, COSTS.header, tuple(lines))


def reruns_of(own: Submission) -> tuple[str, list[Listed]]:
    """'re-run by Bob: 9 of 9 cells equal to the bit', and the files beside a capsule that are not of it or damaged."""
    found, refused = [], []
    capsule, cells = own.run.source, [*own.run.rows, *own.run.damaged]
    for file in files_beside(capsule) if capsule.is_file() else ():
        try:
            rerun = read_rerun(file, digest_of(capsule), cells)
            found.append(f"re-run by {rerun.by}: {rerun.sentence}")
        except ValueError as error:
            refused.append(Listed(own.name, one_line(f"re-run in {file.name}"), one_line(str(error))))
    return joined(found, "; ") or NOT_RERUN, refused


CSV_HEADER = (
    "evaluation", "unit", "ratio", "rank_best", "rank_worst", "submission", "variant", "title", "gate", "dataset",
    "metric", "mean_percent", "low_percent", "high_percent", "seeds", "encoders", "remark", "rerun",
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
    reruns: Mapping[str, str]
    """Submission -> by whom cells of it were run again, and how many were equal."""


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
        "Digests find damage, not forgery: who doubts a submission runs a sample of its cells again from the data "
        "alone, pretraining included (`reproduce --sample`), and the file of what was equal lies beside the capsule."
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


def rerun_text(board: Board, row: BoardRow) -> str:
    """Who has run cells of a row's submission again; '' for a gate of several submissions."""
    return "" if row.shared else board.reruns[row.row.submission.name]


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
    return f"{shown.mean:z.1f}" + (f" [{interval}]" if interval else "")


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
        header = [
            "Method",
            "Submission",
            "Rank",
            *(literal(heading(block.columns[place])) for place in order),
            "Runs",
            "Re-run",
        ]
        parts += [
            f"## {literal(block.title)}",
            sentence_of(block),
            pipe_table(header, list(_md_lines(board, block, order))),
        ]
    if board.listed:
        rows = [[literal(text) for text in own] for own in board.listed]
        parts += ["## Not compared", pipe_table(["Submission", "What", "Reason"], rows)]
    if board.costs.lines:
        parts.append(text_markdown(board.costs).rstrip())
    parts += ["## Test sets", _md_list(test_sets(board.frame))]
    for name, facts in board.origins:
        parts += [f"## {literal(name)}", _md_list(facts)]
    return "\n\n".join(parts) + "\n"


def _md_lines(board: Board, block: Block, order: Sequence[int]) -> Iterator[list[str]]:
    for row in block.rows:
        title = literal(row.row.title)
        yield [
            f"*{title}*" if row.gate else title,
            literal(submission_text(row)),
            rank_text(row),
            *(score_text(row.scores[place]) for place in order),
            runs_text(row),
            literal(rerun_text(board, row)),
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
            for column, score in zip(block.columns, row.scores, strict=True):
                numbers = ("" if math.isnan(value) else round(value, DIGITS) for value in score[:3])
                yield (
                    block.evaluation, block.unit, block.ratio, *rank, *who, column.dataset, column.metric, *numbers,
                    *runs, score.remark, rerun_text(board, row),
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


GATES_TITLE, ROWS_TITLE = "Gates (reference rows, not ranked)", "Submissions"


def board_html(board: Board) -> str:
    """The page. The same board gives the same bytes."""
    content = vars(board) | {
        "counts": counts(board),
        "sentences": list(sentences(board)),
        "test_sets": test_sets(board.frame),
        "blocks": [_shown_block(board, block) for block in board.blocks],
    }
    return rendered("leaderboard.html", content, scripts=("sort.js",))


def _shown_block(board: Board, block: Block) -> dict[str, Any]:
    order = overall_first(block.columns)
    columns = [block.columns[place] for place in order]
    rows = [_shown_row(row, order) | {"rerun": rerun_text(board, row)} for row in block.rows]
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
    for score in scores:
        if math.isnan(score.mean):
            yield {"text": DASH, "value": "", "interval": ""}
        else:
            yield {"text": f"{score.mean:z.1f}", "value": f"{score.mean:z.3f}", "interval": interval_text(score)}


FILES = {"leaderboard.md": markdown, "leaderboard.csv": long_csv, "leaderboard.html": board_html}


@dataclass(frozen=True)
class Written:
    """A board and its files."""

    board: Board
    files: tuple[Path, ...]


def write_leaderboard(sources: Sequence[str], out: Path, *, unit: str | None = None) -> Written:
    """Put the rows of several capsules, results folders or runs (as in reports.open) on one board under `out`.

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
    reruns = {own.name: reruns_of(own) for own in submissions}
    return Board(
        frame=frame,
        blocks=tuple(blocks),
        listed=(
            *(Listed(own.name, "all", own.reason) for own in unread),
            *listed([*apart, *refused], [row for row in there if id(row) not in gone]),
            *_besides(submissions, frame),
            *(line for _, refused in reruns.values() for line in refused),
        ),
        origins=tuple((own.name, [*facts_of(own, usual), ("Re-run", reruns[own.name][0])]) for own in submissions),
        costs=costs_of(with_rows),
        warnings=tuple(_warnings(with_rows, frame)),
        reruns={name: text for name, (text, _) in reruns.items()},
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
