"""Progress of a grid: bars on a terminal, plain lines in a pipe."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from benchmark.screen.console import open_console
from benchmark.screen.progress import INNER_SECONDS, GridProgress, step
from benchmark.screen.tally import Cost

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
        clock.now += 20.0
        progress.finished(first)
        progress.failed(second, "RuntimeError: " + "the loss is not finite and so on " * 8)


def test_inner_lines_are_throttled_in_a_pipe() -> None:
    out, clock = StringIO(), Clock()
    with GridProgress(open_console(out), {"a": Cost(1.0)}, clock) as progress:
        progress.started("a")
        for step in range(1000):
            clock.now += 0.1
            progress.inner("a", step + 1, 1000, f"step {step}")
    assert out.getvalue().count("step") == int(1000 * 0.1 / INNER_SECONDS)


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
        "done    fine-tune pmq, PTB-XL, 30 %, seed 41 (20 s); 2 of 3 done, 1 left; about 20 s left",
    ]
    assert lines[3] == "FAILED  fine-tune moco (0 s); 2 of 3 done, 0 left, 1 failed; about 0 s left"
    assert lines[4].startswith("        RuntimeError: the loss is not finite")
    assert lines[-1] == "finished: 2 of 3 done, 0 left, 1 failed, in 60 s"


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


def test_a_step_in_bytes_tells_them_as_asked_and_takes_a_total_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    out, clock = StringIO(), Clock()
    monkeypatch.setattr("benchmark.screen.progress.time.monotonic", clock)
    with step(open_console(out), "fetching", shown=lambda count: f"{count} MB") as progress:
        for done, total in [(10, 100), (60, 120), (130, 130)]:
            clock.now += 40.0
            progress(done, total)
    assert out.getvalue().splitlines() == [
        "fetching: 10 MB of 100 MB, about 6 min left",
        "fetching: 60 MB of 120 MB, about 80 s left",
        "fetching: 130 MB in 2 min (1 MB/s)",
    ]
