"""CSV cells: text that a spreadsheet would run is quoted, numbers are not, and nothing harmful stays."""

from __future__ import annotations

import csv

import pytest

from benchmark.results.plain_text import csv_cell, csv_text


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "=", "-", "-\u0661"])
def test_a_text_that_reads_as_a_formula_stands_after_an_apostrophe(text: str) -> None:
    assert csv_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["-1.5", "+2", "-1e-9", "+1E9", "pmq", "w/o a", "–", "", -1.5, 3, None, True, "a=b"])
def test_numbers_and_plain_text_are_unchanged(value: object) -> None:
    assert csv_cell(value) is value or csv_cell(value) == value


def test_harmful_characters_are_replaced_before_the_first_one_is_looked_at() -> None:
    assert csv_cell("\x1b]0;x\x07\u202ey") == "?]0;x??y"


def test_a_file_reads_back_cell_by_cell() -> None:
    text = csv_text(["a", "=b"], [["x,y", 'q"'], ["line\nbreak", 1.5]])
    assert list(csv.reader(text.splitlines(keepends=True))) == [["a", "'=b"], ["x,y", 'q"'], ["line\nbreak", "1.5"]]
