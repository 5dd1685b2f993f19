"""What reaches the terminal and the pipe: whole lines, no escape code in a pipe, tables at the width of a terminal."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from benchmark.screen import error, note, open_console, print_table


def test_text_is_taken_literally_and_left_whole(capsys: pytest.CaptureFixture[str]) -> None:
    line = "[bold]--data[/bold] :warning: " + "x" * 200
    out = StringIO()
    note(open_console(out), line)
    error(line)
    shown = capsys.readouterr()
    assert out.getvalue() == f"{line}\n"
    assert shown.err == f"error: {line}\n"
    assert shown.out == ""


def test_a_long_label_wraps_and_numbers_stay_whole_and_plain_in_a_pipe() -> None:
    pipe, screen = StringIO(), StringIO()
    headings, rows = ["Number", "A", "B"], [["a label of more words than there is room for", "70.1±0.8", "1.0"]]
    print_table(Console(file=pipe, width=40), headings, rows)
    print_table(Console(file=screen, force_terminal=True, width=40), headings, rows)
    _, heading, _, first, second, _ = pipe.getvalue().splitlines()
    assert heading.split() == headings
    assert first.split()[-2:] == ["70.1±0.8", "1.0"]
    assert " ".join([*first.split()[:-2], *second.split()]) == "a label of more words than there is room for"
    assert "\x1b" not in pipe.getvalue()
    assert "\x1b[1mNumber" in screen.getvalue()
