"""Measures of health: the names that stored cards hold, and where features count as collapsed."""

from __future__ import annotations

import pytest

from benchmark.results.health import MEASURES, UNTRAINED_EPOCH, WINDOWS_SHA256, collapsed, measured_elsewhere


def test_the_measures_are_those_of_stored_cards() -> None:
    assert list(MEASURES) == ["effective_rank", "mean_cosine", "alignment", "uniformity", "retrieval"]
    assert (MEASURES["alignment"], MEASURES["uniformity"]) == ("alignment", "uniformity")
    assert (UNTRAINED_EPOCH, WINDOWS_SHA256) == (0, "windows_sha256")


@pytest.mark.parametrize(
    ("rank", "cosine", "expected"),
    [
        (2.0, 0.99, False),
        (1.99, 0.5, True),
        (2.2, 0.991, True),
        (1.5, 0.995, True),
        (None, 0.995, False),
        (1.5, None, False),
    ],
)
def test_features_collapse_below_a_rank_or_above_a_cosine(
    rank: float | None, cosine: float | None, expected: bool
) -> None:
    assert collapsed(rank, cosine) == expected


def test_health_of_other_windows_than_most_is_told() -> None:
    def card(sample: str) -> dict[str, object]:
        return {"health": [{"epoch": 0}], "health_sample": {WINDOWS_SHA256: sample}}

    here, there = card("a"), card("b")
    assert measured_elsewhere({"random": there, "pmq": here, "moco": here}) == ["random"]
    assert measured_elsewhere({"random": there, "pmq": here}) == ["pmq"]
    assert measured_elsewhere({"random": {"health": []}, "pmq": here}) == []
    assert measured_elsewhere({"random": {"health": [{"epoch": 0}]}, "pmq": here, "moco": here}) == ["random"]
    assert measured_elsewhere({}) == []
