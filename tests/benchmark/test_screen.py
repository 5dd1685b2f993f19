"""The output on a terminal and in a pipe: whole lines, no escape code in a pipe, tables at the width of a terminal."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from benchmark.screen import error, note, open_console, print_table, step


def test_text_is_printed_literally(capsys: pytest.CaptureFixture[str]) -> None:
    line = "[bold]--data[/bold] :warning: " + "x" * 200
    out = StringIO()
    note(open_console(out), line)
    error(line)
    shown = capsys.readouterr()
    assert out.getvalue() == f"{line}\n"
    assert shown.err == f"error: {line}\n"
    assert shown.out == ""


def test_a_long_label_wraps_beside_whole_numbers() -> None:
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


@pytest.mark.parametrize(
    "code", ["\x00", "\x07", "\x08", "\r", "\x1b[2J", "\x7f", "\x9b2J", "\u202e", "\u2066", "\u2028"]
)
def test_control_characters_are_text_wherever_something_is_printed(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, out = f"a{code}b", StringIO()
    console = Console(file=out, force_terminal=True, width=40)
    note(console, name)
    print_table(console, [name, "B"], [[name, name]])
    with step(console, name) as progress:
        progress(1, 1)
    error(f"{name}\nb")
    escaped = code.encode("unicode_escape").decode()
    err = capsys.readouterr().err
    assert err == f"error: a{escaped}b\\nb\n"
    for printed in (out.getvalue(), err):
        assert f"a{escaped}b" in printed
        assert name not in printed
