"""Texts that look alike are one, what is read in one of two ways is told, and numbers keep their value."""

from __future__ import annotations

import pytest

from benchmark.results.canonical import (
    TwoReadings,
    alike,
    identifier,
    patient,
    plain_numbers,
    remarks,
    rounded,
    text,
    thousands_mark,
    truth,
)


@pytest.mark.parametrize(
    "written",
    [
        "Zoe\u0308-M 1",
        " Zo\u00eb-M\u00a0 1",
        "Z\u00ado\u200b\u00eb-M 1\ufeff",
        "b'Zo\\xc3\\xab-M 1'",
        "Zo\u00eb-M 1".encode(),
        "\uff3ao\u00eb\uff0dM\u3000\uff11",
        "Zo\u00eb\u2011M 1\ufe0f",
        "Zo\u034f\u00eb\u2013M 1",
    ],
)
def test_texts_that_look_alike_are_one(written: str | bytes) -> None:
    assert text(written) == "Zo\u00eb-M 1"


def test_each_kind_of_cell_is_judged_in_its_canonical_form() -> None:
    assert (identifier("b'5000.0'"), patient("\u200b007"), patient("nan\u200b"), truth("Yes\u200e")) == (
        "5000",
        "7",
        "",
        True,
    )
    assert (text("b'"), text("b'x"), text("b'\\xff'")) == ("b'", "b'x", "\u00ff")
    assert alike("Sinus  Rhythm") == alike("SINUS rhythm") != alike("Sinusarrhythmie")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1,234", "987", "-12", ""], ["1234", "987", "-12", ""]),
        (["1.234", "987", "-1.234.567"], ["1234", "987", "-1234567"]),
        (["1,234.5", "0.5"], ["1234.5", "0.5"]),
        (["1.234,5", "7"], ["1234.5", "7"]),
        (["1,234", "0.5", "5678"], ["1234", "0.5", "5678"]),
        (["0,123", "1,234"], ["0.123", "1.234"]),
        (["1.234", "2.345"], ["1.234", "2.345"]),
        (["1.234", "2.5", "7"], ["1.234", "2.5", "7"]),
    ],
)
def test_a_mark_stands_at_thousands_only_where_nothing_else_fits(cells: list[str], expected: list[str]) -> None:
    assert plain_numbers(cells, thousands_mark(cells)) == expected


@pytest.mark.parametrize("cells", [["1,234", "2,345"], ["1,234", "5678"]])
def test_a_comma_of_two_meanings_is_refused_with_both(cells: list[str]) -> None:
    with pytest.raises(TwoReadings, match=r"1,234 is 1\.234 or 1234"):
        thousands_mark(cells)


def test_numbers_that_a_spreadsheet_cut_are_told_unless_it_is_chance() -> None:
    assert rounded(["999999190000010000", "999999190000020000", "12"]) == ["999999190000010000", "999999190000020000"]
    assert rounded(["999999190000010000", "999999190000020011"]) == rounded(["9999991900000100"]) == []
    (line,) = remarks("patients", [("P1", "P1"), ("P1", "P1\u200b"), ("P2", "P2")])
    assert line.startswith("1 patients ")
    assert "'P1' and 'P1\\u200b'" in line
