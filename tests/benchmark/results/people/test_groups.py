"""Sex and age bands from words and years."""

from __future__ import annotations

import pytest

from benchmark.results.people.groups import band_of, sex_of


@pytest.mark.parametrize(
    ("years", "band"),
    [
        (0, "under 40"),
        (39.9, "under 40"),
        (40, "40 to 59"),
        (60, "60 to 79"),
        (80, "80 and over"),
        (300, "80 and over"),
    ],
)
def test_bands_of_years(years: float, band: str) -> None:
    assert band_of(years) == band


def test_what_is_not_known_is_in_no_group() -> None:
    assert (band_of(None), band_of(float("nan")), band_of(-1), sex_of(""), sex_of("Unknown")) == ("", "", "", "", "")


def test_words_for_a_sex() -> None:
    assert {sex_of(text) for text in ("Female", "F", "w", "woman")} == {"women"}
    assert {sex_of(text) for text in (" male ", "M", "m", "man")} == {"men"}
