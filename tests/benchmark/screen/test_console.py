"""What reaches the terminal and the pipe: no escape code in a pipe, and a clean terminal after Ctrl-C."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from benchmark.screen.console import STYLES, error, note, open_console, print_lines

ESCAPE = "\x1b"


def terminal(out: StringIO, width: int = 100) -> Console:
    return Console(file=out, force_terminal=True, width=width, markup=False, highlight=False)


def test_lines_are_styled_on_a_terminal_and_plain_in_a_pipe() -> None:
    line = [(f"{role or 'none'} ", role) for role in STYLES]
    pipe, screen = StringIO(), StringIO()
    print_lines(open_console(pipe), [line, []])
    print_lines(terminal(screen), [line, []])
    assert pipe.getvalue() == "title block best gate faint none \n\n"
    assert ESCAPE in screen.getvalue()


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    out = StringIO()
    print_lines(terminal(out), [[("30 % of the labels", "block")]])
    assert out.getvalue() == "30 % of the labels\n"


def test_text_is_taken_literally_and_left_whole(capsys: pytest.CaptureFixture[str]) -> None:
    line = "[bold]--data[/bold] :warning: " + "x" * 200
    out = StringIO()
    note(open_console(out), line)
    error(line)
    shown = capsys.readouterr()
    assert out.getvalue() == f"{line}\n"
    assert shown.err == f"error: {line}\n"
    assert shown.out == ""


def test_a_title_from_elsewhere_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    file = StringIO()
    console = open_console(file)
    note(console, "a\x1b[2Jb\r\x9bc")
    print_lines(console, [[("\x1b]0;x\x07", "title")]])
    error("\x1b[31mred")
    assert file.getvalue() == "a?[2Jb??c\n?]0;x?\n"
    assert "\x1b" not in capsys.readouterr().err
