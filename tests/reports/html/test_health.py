"""Lines of the health table: courses, what was counted, collapsed features."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from benchmark.training import health as measured
from reports.html.health import HEADINGS, HEIGHT, WIDTH, course, learned

CARD: dict[str, Any] = {
    "seed": 42, "loss": [3.0, 2.0, 1.5], "updates": 120, "seconds": 61.4,
    "device": {"type": "cpu", "name": "x86_64", "threads": 2}, "precision": "float32",
    "health": [
        {"epoch": 0, "effective_rank": 6.7, "mean_cosine": 0.9, "retrieval": 0.1, "retrieval_chance": 0.02},
        {
            "epoch": 1, "effective_rank": 9.0, "mean_cosine": 0.5, "retrieval": 0.3, "retrieval_chance": 0.02,
            "positives_same_recording": 1.25, "positives_other_recordings": 2.5, "queries_with_positives": 0.75,
        },
    ],
}  # fmt: skip


def test_a_pretraining_is_told_by_its_first_and_last_epoch() -> None:
    (line,) = learned({"pmq": {"key": CARD}}, {"pmq": "PMQ"})
    assert (line.title, line.key, line.seed) == ("PMQ", "key", "42")
    assert line.cost == "3 epochs, 120 updates, 61 s"
    assert line.machine == "x86_64, 2 threads, float32"
    assert (line.positives, line.with_any, line.chance) == ("1.25 + 2.50", "75.0 %", "0.02")
    assert [one.text for one in line.measures] == ["6.70 → 9.00", "0.90 → 0.50", "–", "–", "0.10 → 0.30"]
    assert not line.collapsed


def test_a_pretraining_that_rows_share_stands_once() -> None:
    found = learned({"pmq": {"k": CARD}, "pmq:m=1": {"k": CARD, "l": CARD}}, {"pmq": "PMQ", "pmq:m=1": "M"})
    assert [(line.title, line.key) for line in found] == [("PMQ", "k"), ("M", "l")]


def test_an_untrained_encoder_and_an_empty_card_have_a_line() -> None:
    untrained, empty = learned({"random": {"a": {"health": CARD["health"][:1]}, "b": {}}}, {"random": "Random"})
    assert (untrained.cost, untrained.loss.text, untrained.measures[0].text) == ("not trained", "–", "6.70")
    assert (empty.positives, empty.chance, empty.measures[0].points) == ("–", "–", "")


@pytest.mark.parametrize(("rank", "cosine", "collapsed"), [(1.9, 0.5, True), (2.0, 0.99, False), (9.0, 0.995, True)])
def test_collapsed_features_are_those_that_a_run_warns_of(rank: float, cosine: float, collapsed: bool) -> None:
    last = {"epoch": 1, "effective_rank": rank, "mean_cosine": cosine}
    (line,) = learned({"pmq": {"key": CARD | {"health": [last]}}}, {"pmq": "PMQ"})
    assert line.collapsed == ("collapsed: the features hardly differ between windows" if collapsed else "")
    assert bool(measured.health_warnings("pmq", measured.read_health({"health": [last]}), "")) == collapsed


def test_an_untrained_encoder_has_not_collapsed() -> None:
    card = {"health": [{"epoch": 0, "effective_rank": 1.9, "mean_cosine": 0.995}]}
    (line,) = learned({"random": {"key": card}}, {"random": "Random"})
    assert line.collapsed == "untrained: the features hardly differ between windows"


def test_the_measures_are_those_that_an_epoch_has() -> None:
    assert set(HEADINGS) <= {field.name for field in fields(measured.EpochHealth)}


def test_a_course_runs_from_the_lowest_to_the_highest() -> None:
    drawn = course([1.0, None, 3.0, 2.0])
    assert drawn.text == "1.00 → 2.00"
    points = [tuple(map(float, point.split(","))) for point in drawn.points.split()]
    assert points == [(0, HEIGHT - 1), (WIDTH * 2 / 3, 1), (WIDTH, HEIGHT / 2)]
    assert course([-0.5, -0.5]).text == "−0.50 → −0.50"
    assert course([None]).text == "–"
