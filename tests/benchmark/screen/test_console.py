"""What reaches the terminal and the pipe: no escape code in a pipe, and a clean terminal after Ctrl-C."""

from __future__ import annotations

from io import StringIO

import pytest

from benchmark.screen.console import error, note, open_console


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
    note(console, "a\x1b[2Jb\r\x9bc\u202ed\u2066e\ud800")
    error("\x1b[31mred")
    assert file.getvalue() == "a?[2Jb??c?d?e?\n"
    assert "\x1b" not in capsys.readouterr().err
