"""What reaches the terminal and the pipe: no escape code in a pipe, and a clean terminal after Ctrl-C.

Progress of a grid: bars on a terminal, plain lines in a pipe.

Tables and paragraphs at the widths of terminals: no line too long, no number cut, broken or lost.

Counts and the time that is left, against sums done by hand.
"""

from __future__ import annotations

import re
from io import StringIO

import pytest
from rich.console import Console

from benchmark.screen import (
    INNER_SECONDS,
    STYLES,
    Cell,
    Cost,
    GridProgress,
    Row,
    TableColumn,
    Tally,
    duration,
    error,
    left,
    note,
    open_console,
    print_paragraphs,
    print_table,
)


def test_text_is_taken_literally_and_left_whole(capsys: pytest.CaptureFixture[str]) -> None:
    line = "[bold]--data[/bold] :warning: " + "x" * 200
    out = StringIO()
    note(open_console(out), line)
    error(line)
    shown = capsys.readouterr()
    assert out.getvalue() == f"{line}\n"
    assert shown.err == f"error: {line}\n"
    assert shown.out == ""


COSTS = {
    "pretrain pmq seed 42": Cost(4.0, "pretraining"),
    "fine-tune pmq, PTB-XL, 30 %, seed 41": Cost(1.0, "finetune"),
    "fine-tune moco": Cost(1.0, "finetune"),
}
ESCAPE = "\x1b"


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def run_grid(console: Console, clock: Clock) -> None:
    pretrain, first, second = COSTS
    with GridProgress(console, COSTS, clock) as progress:
        progress.started(pretrain)
        for epoch in range(1, 11):
            clock.now += 4.0
            progress.inner(pretrain, epoch, 10, f"epoch {epoch}/10 loss [1.234]")
        progress.finished(pretrain)
        progress.started(first)
        clock.now += 30.0
        progress.finished(first)
        progress.failed(second, "RuntimeError: " + "the loss is not finite and so on " * 8)


def test_tasks_of_a_moment_have_a_line_per_half_minute_in_a_pipe() -> None:
    out, clock = StringIO(), Clock()
    with GridProgress(open_console(out), dict.fromkeys("abcdef", Cost(1.0)), clock) as progress:
        for task in "abcdef":
            progress.started(task)
            clock.now += INNER_SECONDS / 3
            progress.finished(task)
    assert out.getvalue().splitlines() == [
        "done    c (10 s); 3 of 6 done, 3 left; about 30 s left",
        "done    f (10 s); 6 of 6 done, 0 left; about 0 s left",
        "finished: 6 of 6 done, 0 left, in 60 s",
    ]


def terminal(out: StringIO, width: int = 100) -> Console:
    return Console(file=out, force_terminal=True, width=width, markup=False, highlight=False)


@pytest.mark.parametrize("width", [40, 100])
def test_a_terminal_gets_bars_and_keeps_the_reason_of_a_failure(width: int) -> None:
    out, clock = StringIO(), Clock()
    with GridProgress(terminal(out, width), {"pretrain": Cost(4.0), "fine-tune": Cost(1.0)}, clock) as progress:
        progress.started("pretrain")
        clock.now += 4.0
        progress.inner("pretrain", 1, 4, "loss [1.2]")
        progress.failed("fine-tune", "ValueError: no label")
    assert "pretrain" in out.getvalue()
    assert "loss [1.2]" in out.getvalue()
    assert ("━" in out.getvalue()) == (width == 100)
    assert "0 of 2 done, 1 left" in out.getvalue()
    assert "FAILED  fine-tune" in out.getvalue()
    assert "ValueError: no label" in out.getvalue()


def interrupt(progress: GridProgress) -> None:
    with progress:
        progress.started("a")
        raise KeyboardInterrupt


def test_ctrl_c_gives_the_terminal_back() -> None:
    out = StringIO()
    with pytest.raises(KeyboardInterrupt):
        interrupt(GridProgress(terminal(out), {"a": Cost(1.0)}))
    hidden, shown = f"{ESCAPE}[?25l", f"{ESCAPE}[?25h"
    assert out.getvalue().count(hidden) == out.getvalue().count(shown) == 1
    assert out.getvalue().rindex(shown) > out.getvalue().rindex(hidden)
    assert "stopped: 0 of 1 done, 1 left" in out.getvalue()


def test_a_pipe_gets_plain_lines() -> None:
    out = StringIO()
    run_grid(open_console(out), Clock())
    lines = out.getvalue().splitlines()
    assert ESCAPE not in out.getvalue()
    assert max(map(len, lines)) > 120  # an event is one line, however long
    assert all(line.startswith(("        ", "done    ", "FAILED  ", "finished: ")) for line in lines)
    assert lines[:3] == [
        "        pretrain pmq seed 42: epoch 8/10 loss [1.234]; 10 s to 15 s left",  # 2 at 10 ** (3.2 / 13.2)
        "done    pretrain pmq seed 42 (40 s); 1 of 3 done, 2 left; 2 s to 8 s left",
        "done    fine-tune pmq, PTB-XL, 30 %, seed 41 (30 s); 2 of 3 done, 1 left; about 30 s left",
    ]
    assert lines[3] == "FAILED  fine-tune moco (0 s); 2 of 3 done, 0 left, 1 failed; about 0 s left"
    assert lines[4].startswith("        RuntimeError: the loss is not finite")
    assert lines[-1] == "finished: 2 of 3 done, 0 left, 1 failed, in 70 s"


def test_what_other_runners_do_is_counted_and_waiting_is_told_from_time_to_time() -> None:
    out, clock = StringIO(), Clock()
    with GridProgress(open_console(out), dict.fromkeys("abc", Cost(1.0)), clock) as progress:
        progress.elsewhere("a")
        for _ in range(int(2 * INNER_SECONDS)):
            progress.waiting("waiting for 1 of there:7")
            clock.now += 1.0
        progress.elsewhere("b")
        progress.note("a note")
    waiting = "        waiting for 1 of there:7; 1 of 3 done (1 by other runners), 2 left"
    assert out.getvalue().splitlines() == [
        waiting,
        waiting,
        "a note",
        "finished: 2 of 3 done (2 by other runners), 1 left, in 60 s",
    ]


GROUPS = ("PTB-XL", "Chapman", "CPSC2018")
COLUMNS: list[TableColumn] = [
    ("", "Method", "label"),
    *((group, metric, "left") for group in GROUPS for metric in ("   F1", "AUROC", "  ACC")),
    ("", "Overall", "left"),
]
METHODS = ("Random", "PMQ (released code)", "Beat features, boosted")
WIDTHS = (40, 80, 200)


def number(block: int, row: int, column: int) -> Cell:
    return [(f" {block}{row}.{column}", "best"), ("±0.8≈ᵃ", "faint")]


def block_of(index: int) -> list[Row]:
    rows = [[method, *(number(index, row, column) for column in range(10))] for row, method in enumerate(METHODS)]
    return [[[(f"{index} % of the labels", "block")]], *rows]


BLOCKS = [block_of(1), block_of(2)]


def lines_of(width: int) -> list[str]:
    out = StringIO()
    print_table(open_console(out, width), COLUMNS, BLOCKS)
    return out.getvalue().splitlines()


def headers(width: int) -> list[list[str]]:
    return [line.split()[1:] for line in lines_of(width) if line.startswith("Method")]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_table_fits_and_holds_every_number_whole(width: int) -> None:
    lines = lines_of(width)
    assert max(map(len, lines)) <= width
    shown = re.findall(r"\d\d\.\d±0\.8≈ᵃ", "\n".join(lines))
    assert sorted(shown) == sorted("".join(text for text, _ in cell).strip() for cell in numbers())


def numbers() -> list[Cell]:
    return [number(block, row, column) for block in (1, 2) for row in range(3) for column in range(10)]


def test_groups_stand_below_each_other_where_they_do_not_fit() -> None:
    metrics = ["F1", "AUROC", "ACC"]
    assert headers(200) == [[*metrics, *metrics, *metrics, "Overall"]]
    assert headers(120) == [[*metrics, *metrics], [*metrics, "Overall"]]
    assert headers(80) == [metrics, metrics, [*metrics, "Overall"]]
    assert headers(40) == [["F1", "AUROC"], ["ACC", "F1"], ["AUROC", "ACC"], ["F1", "AUROC"], ["ACC", "Overall"]]


def test_a_long_label_wraps_rather_than_push_a_column_below() -> None:
    out = StringIO()
    columns: list[TableColumn] = [("", "Number", "label"), ("", "A", "right"), ("", "B", "right")]
    print_table(open_console(out, 40), columns, [[["a label of more words than there is room for", "70.1±0.8", "1.0"]]])
    _, heading, _, first, second, _ = out.getvalue().splitlines()
    assert heading.split() == ["Number", "A", "B"]
    assert first.split()[-2:] == ["70.1±0.8", "1.0"]
    assert " ".join([*first.split()[:-2], *second.split()]) == "a label of more words than there is room for"


def test_roles_are_styled_on_a_terminal_and_plain_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    cells: list[Row] = [[[(role or "none", role)] for role in STYLES]]
    columns: list[TableColumn] = [("", str(place), "left") for place in range(len(STYLES))]
    pipe, screen, grey = StringIO(), StringIO(), StringIO()
    print_table(open_console(pipe), columns, [cells])
    print_table(terminal(screen), columns, [cells])
    monkeypatch.setenv("NO_COLOR", "1")
    print_table(terminal(grey), columns, [cells])
    assert ESCAPE not in pipe.getvalue()
    assert "\x1b[1;32mbest\x1b[0m" in screen.getvalue()
    assert "\x1b[1mbest\x1b[0m" in grey.getvalue()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_paragraph_wraps_two_deeper_than_it_begins(width: int) -> None:
    out = StringIO()
    print_paragraphs(open_console(out, width), [("  " + "word-with-hyphens " * 20, "faint"), ("", ""), ("end", "")])
    *paragraph, empty, end = out.getvalue().splitlines()
    assert max(map(len, paragraph)) <= width
    assert [line[:5] for line in paragraph] == ["  wor", *["    w"] * (len(paragraph) - 1)]
    assert (empty, end) == ("", "end")


def costs(**tasks: float) -> dict[str, Cost]:
    return {name: Cost(seconds) for name, seconds in tasks.items()}


def test_nothing_is_estimated_before_anything_is_measured() -> None:
    tally = Tally(costs(a=1.0, b=1.0))
    tally.running["a"] = 0.0, 30.0
    assert tally.seconds_left() is None
    assert left(None) == "time left not known yet"


def test_what_is_expected_times_how_much_longer_it_takes() -> None:
    tally = Tally(costs(pretrain=4.0, first=1.0, second=1.0, third=2.0), finished={"pretrain": 20.0})
    assert tally.seconds_left() == pytest.approx((20.0, 20.0))


def test_tasks_side_by_side_share_the_wall() -> None:
    tally = Tally({name: Cost(2.0, concurrent=2) for name in "abc"}, running={"a": (0.5, 6.0), "b": (0.5, 6.0)})
    assert tally.seconds_left() == pytest.approx((12.0, 12.0))  # 4 expected seconds at 6 each, on two


def test_kinds_have_their_own_pace_and_one_that_is_not_known_makes_a_range() -> None:
    tasks = {"pretrain": Cost(10.0, "pretraining"), "tune": Cost(4.0, "finetune"), "again": Cost(6.0, "finetune")}
    tally = Tally(tasks | {"boost": Cost(8.0, "features")}, finished={"pretrain": 10.0})
    assert tally.seconds_left() == pytest.approx((9.0, 36.0))  # 18 expected seconds, half or twice
    tally.finished["tune"] = 16.0
    around = 4 ** (0.5 * 4 / (4 + 10))  # sqrt(1 * 4) for boosting, drawn to 1: the tasks were short
    assert tally.seconds_left() == pytest.approx((24.0 + 8.0 * around / 2, 24.0 + 8.0 * around * 2))
    assert left(tally.seconds_left()) == "29 s to 44 s left"
    known = Tally(tally.costs, {"features": 0.5}, tally.finished)
    assert left(known.seconds_left()) == "about 28 s left"
    known.finished["boost"] = 80.0  # what is measured now goes before what was measured earlier
    assert known.seconds_left() == pytest.approx((24.0, 24.0))


def test_failed_tasks_lie_no_longer_ahead() -> None:
    tally = Tally(costs(a=1.0, b=1.0, c=5.0), finished={"a": 10.0}, failed=["c"])
    assert tally.seconds_left() == pytest.approx((10.0, 10.0))
    assert tally.through() == 6.0
    assert tally.counts() == "1 of 3 done, 1 left, 1 failed"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (89, "89 s"), (90, "2 min"), (3570, "1 h 0 min"), (12000, "3 h 20 min"), (187200, "2 d 4 h")],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text
