"""What people type is one where it looks alike, and a card's dataset says what was made one or has lost its digits."""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from benchmark.cli.new_card import draft
from benchmark.data.datasets.base import Unusable
from benchmark.data.datasets.card import CardDataset
from benchmark.data.datasets.card_formats import AT_THOUSANDS, CardSignals, read_content

Opened = Callable[..., CardDataset]
RHYTHMS = ["SR", "AFIB"] * 6


def rewrite(folder: Path, **columns: list[str]) -> None:
    """Other columns in the folder's table."""
    pd.read_csv(folder / "labels.csv", dtype=str).assign(**{"rhythm": RHYTHMS, **columns}).to_csv(
        folder / "labels.csv", index=False
    )


def twice(first: str, second: str) -> list[str]:
    """Six persons, each in two spellings, which are formats of a number."""
    return [form.format(number) for number in range(1, 7) for form in (first, second)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("J\u00fcrgen {}", "Ju\u0308rgen {}"),
        ("P{}", "P{}\u200b"),
        ("P{}", "P\u00ad{}"),
        ("P{}", "b'P{}'"),
        ("{}", "000{}.0"),
        ("Ward A {}", "Ward A\u00a0 {}"),
    ],
)
def test_a_person_in_two_spellings_is_one(opened: Opened, folder: Path, first: str, second: str) -> None:
    rewrite(folder, person=twice(first, second))
    listing = opened().listing()
    assert len({entry.patient for entry in listing.entries}) == 6
    (warning,) = listing.warnings
    assert warning.startswith("6 patients ")
    assert ascii(second.format(1)) in warning


def test_patients_that_differ_in_capitals_are_several_and_named(opened: Opened, folder: Path) -> None:
    rewrite(folder, person=twice("P{}", "p{}"))
    listing = opened().listing()
    assert len({entry.patient for entry in listing.entries}) == 12
    (warning,) = listing.warnings
    assert warning.startswith("6 patients ")
    assert "'P1' and 'p1'" in warning


@pytest.mark.parametrize("spelling", ["AFIB\u200e", "b'AFIB'", "A\u00adFIB", "\ufeffAFIB "])
def test_a_label_in_two_spellings_is_one_class(opened: Opened, folder: Path, spelling: str) -> None:
    rewrite(folder, rhythm=["SR", "AFIB", "SR", spelling] * 3)
    listing = opened().listing()
    assert [entry.labels for entry in listing.entries] == [(0,), (1,)] * 6
    assert ["labels" in warning for warning in listing.warnings] == [True]


def test_labels_that_differ_in_capitals_are_drafted_as_one_class(opened: Opened, folder: Path) -> None:
    rewrite(folder, rhythm=["Sinus rhythm", "AFIB", "SINUS  RHYTHM", "Afib", "Sinusrhythm", "AFIB"] * 2)
    listing = opened(labels={"classes": ["Sinus rhythm", "AFIB"], "values": None, "others": "ignore"}).listing()
    names = [line.rpartition(": ")[2] for line in listing.warnings if "differ in capitals or blanks alone" in line]
    assert names == ["'Sinus rhythm' and 'SINUS RHYTHM' and 'Sinusrhythm'", "'AFIB' and 'Afib'"]
    text = draft(folder, "card.yaml")
    assert '  classes: ["AFIB", "Sinus rhythm"]\n' in text
    assert '"AFIB": ["AFIB", "Afib"]' in text


@pytest.mark.parametrize("code", ["1.65E+08", "4,27e+8"])
def test_shortened_numbers_are_refused_with_their_reason(opened: Opened, folder: Path, code: str) -> None:
    rewrite(folder, rhythm=[code, *RHYTHMS[1:]])
    ((name, reason),) = opened().listing().skipped
    assert name == "r00"
    assert reason.startswith("label's number shortened by a spreadsheet")
    assert repr(code) in reason
    assert "# QUESTION: " in draft(folder, "card.yaml")
    rewrite(folder, id=[code, *(f"r{number:02}" for number in range(1, 12))])
    assert opened().listing().skipped[0][1].startswith("recording's number shortened by a spreadsheet")


@pytest.mark.parametrize("digits", [16, 18])
def test_numbers_that_a_spreadsheet_cut_to_15_digits_are_a_warning(opened: Opened, folder: Path, digits: int) -> None:
    rewrite(folder, person=[str((123456789012345 + number // 2) * 10 ** (digits - 15)) for number in range(12)])
    (warning,) = opened().listing().warnings
    assert warning.startswith("6 patients are numbers of more than 15 digits")


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_files_are_found_by_names_in_either_unicode_form(opened: Opened, folder: Path, form: str) -> None:
    other = {"NFC": "NFD", "NFD": "NFC"}[form]
    for number in range(12):
        name = unicodedata.normalize(form, f"Tr\u00e4ger {number}.hea")
        (folder / f"waves/r{number:02}.hea").rename(folder / "waves" / name)
    rewrite(folder, id=[unicodedata.normalize(other, f"Tr\u00e4ger {number}") for number in range(12)])
    (folder / "labels.csv").rename(folder / unicodedata.normalize(form, "T\u00e4belle.csv"))
    listing = opened(table={"file": unicodedata.normalize(other, "T\u00e4belle.csv")}).listing()
    assert (len(listing.entries), listing.skipped) == (12, ())
    assert all((folder / entry.path).is_file() for entry in listing.entries)


@pytest.mark.parametrize("column", ["hospital", "Study site", "Facility"])
def test_several_columns_keep_equal_numbers_of_two_sites_apart(opened: Opened, folder: Path, column: str) -> None:
    rewrite(folder, person=[str(number // 2) for number in range(12)], **{column: ["A", "B"] * 6})
    listing = opened().listing()
    assert len({entry.patient for entry in listing.entries}) == 6
    (note,) = listing.notes
    assert note.startswith("6 patients")
    assert "0 in 'A' and 'B'" in note
    assert listing.warnings == ()
    rewrite(folder, person=["007", "7"] * 6, **{column: ["A", "B"] * 6})
    assert opened().listing().warnings[0].startswith("1 patients ")
    listing = opened(table={"patient": [column, "person"]}).listing()
    assert {entry.patient for entry in listing.entries} == {"A/7", "B/7"}
    assert (listing.warnings, listing.notes) == ((), ())


def test_sites_keep_equal_numbers_of_two_folders_apart(opened: Opened, folder: Path) -> None:
    for site in "AB":
        for number in range(3):
            shutil.copytree(folder / "waves", folder / site / f"{number:03}")
            (folder / site / f"{number:03}/r00.hea").rename(folder / site / f"{number:03}/{site}.hea")
    without = {"table": None, "labels": None}
    listing = opened(**without, signals={"files": "*/{patient}/{recording}.hea"}).listing()
    assert listing.notes[0].startswith("3 patients")
    assert "0 in 'A/' and 'B/'" in listing.notes[0]
    listing = opened(**without, signals={"files": "{site}/{patient}/{recording}.hea"}).listing()
    assert {entry.patient for entry in listing.entries} == {f"{site}/{number}" for site in "AB" for number in range(3)}
    assert (listing.entries[0].recording, [note for note in listing.notes if "numbers" in note]) == ("A/000/A", [])
    shutil.rmtree(folder / "A")
    shutil.rmtree(folder / "B")
    (folder / "other").mkdir()
    for number in range(1, 12, 2):
        (folder / f"waves/r{number:02}.hea").rename(folder / f"other/r{number:02}.hea")
    rewrite(folder, person=[str(number // 2) for number in range(12)])
    assert (
        "6 patients' numbers stand in several folders"
        in opened(signals={"files": "**/{recording}.hea"}).listing().notes[0]
    )
    listing = opened(
        table={"patient": ["{patient}", "person"]}, signals={"files": "{patient}/{recording}.hea"}
    ).listing()
    assert {entry.patient for entry in listing.entries[:2]} == {"waves/0", "other/0"}


@pytest.mark.parametrize(
    ("separator", "cells", "volts"),
    [("\t", ["1,234", "987"], [1.234, 0.987]), (";", ["-1.234", "12"], [-1.234, 0.012])],
)
def test_numbers_of_two_readings_are_refused(
    tmp_path: Path, separator: str, cells: list[str], volts: list[float]
) -> None:
    signals = CardSignals(files="*.csv", rate=500, unit="uV", leads=["I", "II"])
    file = tmp_path / "r.csv"
    file.write_text("\n".join([f"sep={separator}", "# microvolts", separator.join(["I", "II"]), separator.join(cells)]))
    content = read_content(file, None, signals)
    assert ((content.signal / 1000).tolist(), content.doubts) == ([volts], [AT_THOUSANDS])
    file.write_text("\n".join([separator.join(["I", "II"]), separator.join(["1,234", "2,345"])]))
    with pytest.raises(Unusable, match=r"comma is a decimal comma or stands at thousands; .*: 1,234 is 1\.234 or 1234"):
        read_content(file, None, signals)
