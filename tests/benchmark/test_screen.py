"""What reaches the terminal and the pipe: no escape code in a pipe, and a clean terminal after Ctrl-C.

Tables and paragraphs at the widths of terminals: no line too long, no number cut, broken or lost.
"""

from __future__ import annotations

import re
from io import StringIO

import pytest
from rich.console import Console

from benchmark.screen import (
    STYLES,
    TableCell,
    TableColumn,
    TableRow,
    duration,
    error,
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


GROUPS = ("PTB-XL", "Chapman", "CPSC2018")
COLUMNS: list[TableColumn] = [
    ("", "Method", "label"),
    *((group, metric, "left") for group in GROUPS for metric in ("   F1", "AUROC", "  ACC")),
    ("", "Overall", "left"),
]
METHODS = ("Random", "PMQ (released code)", "Beat features, boosted")


def number(block: int, row: int, column: int) -> TableCell:
    return [(f" {block}{row}.{column}", "best"), ("±0.8≈ᵃ", "faint")]


BLOCKS: list[list[TableRow]] = [
    [[method, *(number(block, row, column) for column in range(10))] for row, method in enumerate(METHODS)]
    for block in (1, 2)
]


def lines_of(width: int) -> list[str]:
    out = StringIO()
    print_table(open_console(out, width), COLUMNS, BLOCKS)
    return out.getvalue().splitlines()


def test_a_table_fits_holds_every_number_whole_and_groups_stand_below_each_other_where_they_do_not_fit() -> None:
    metrics = ["F1", "AUROC", "ACC"]
    for width, headings in {
        200: [[*metrics, *metrics, *metrics, "Overall"]],
        120: [[*metrics, *metrics], [*metrics, "Overall"]],
        80: [metrics, metrics, [*metrics, "Overall"]],
        40: [["F1", "AUROC"], ["ACC", "F1"], ["AUROC", "ACC"], ["F1", "AUROC"], ["ACC", "Overall"]],
    }.items():
        lines = lines_of(width)
        assert max(map(len, lines)) <= width
        shown = re.findall(r"\d\d\.\d±0\.8≈ᵃ", "\n".join(lines))
        numbers = {f"{block}{row}.{column}±0.8≈ᵃ" for block in (1, 2) for row in range(3) for column in range(10)}
        assert (len(shown), set(shown)) == (60, numbers)
        assert [line.split()[1:] for line in lines if line.startswith("Method")] == headings


def test_a_long_label_wraps_rather_than_push_a_column_below() -> None:
    out = StringIO()
    columns: list[TableColumn] = [("", "Number", "label"), ("", "A", "right"), ("", "B", "right")]
    print_table(open_console(out, 40), columns, [[["a label of more words than there is room for", "70.1±0.8", "1.0"]]])
    _, heading, _, first, second, _ = out.getvalue().splitlines()
    assert heading.split() == ["Number", "A", "B"]
    assert first.split()[-2:] == ["70.1±0.8", "1.0"]
    assert " ".join([*first.split()[:-2], *second.split()]) == "a label of more words than there is room for"


def test_roles_are_styled_on_a_terminal_and_plain_in_a_pipe() -> None:
    cells: list[TableRow] = [[[(role or "none", role)] for role in STYLES]]
    columns: list[TableColumn] = [("", str(number), "left") for number in range(len(STYLES))]
    pipe, screen = StringIO(), StringIO()
    print_table(open_console(pipe), columns, [cells])
    terminal = Console(file=screen, force_terminal=True, width=100, markup=False, highlight=False)
    print_table(terminal, columns, [cells])
    assert "\x1b" not in pipe.getvalue()
    assert "\x1b[1;32mbest\x1b[0m" in screen.getvalue()


def test_a_paragraph_wraps_two_deeper_than_it_begins() -> None:
    out = StringIO()
    print_paragraphs(open_console(out, 40), [("  " + "word-with-hyphens " * 20, "faint"), ("", ""), ("end", "")])
    *paragraph, empty, end = out.getvalue().splitlines()
    assert max(map(len, paragraph)) <= 40
    assert [line[:5] for line in paragraph] == ["  wor", *["    w"] * (len(paragraph) - 1)]
    assert (empty, end) == ("", "end")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (89, "89 s"), (90, "2 min"), (3570, "1 h 0 min"), (12000, "3 h 20 min"), (187200, "2 d 4 h")],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text
