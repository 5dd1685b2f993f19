"""The cost table: means over a row's pretrainings, each encoder once, and the same numbers in every form."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Any

from reports.tables.costs import HEADER, cost_lines, costs_csv, costs_latex, costs_markdown


def card(**facts: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "parameters": 637_952, "encoder_parameters": 600_000, "encoder_multiplications": 71_400_000,
        "loss": [1.0, 0.5], "windows_per_epoch": 1_280, "batch_size": 128, "updates": 20,
        "encoder_passes": 10_240.0, "seconds": 90.4, "peak_memory_gib": 1.25, "joules": None,
        "precision": "bf16", "device": {"type": "cpu", "name": "x86_64", "threads": 2},
    }  # fmt: skip
    return known | facts


CARDS = {
    "random": {"a": {"parameters": 5, "loss": [], "seed": 41}},
    "pmq": {"b": card(), "c": card(seconds=110.4, peak_memory_gib=1.75, joules=9_000.0)},
    "pmq:queue_size=1024": {"b": card(), "c": card()},
    "old": {"d": {name: value for name, value in card().items() if "encoder" not in name}},
}
TITLES = {"pmq": "PMQ", "old": "Old & slow"}


def test_a_row_has_the_means_of_its_pretrainings_and_shared_encoders_stand_once() -> None:
    assert cost_lines(CARDS, TITLES) == [
        (
            "PMQ",
            "637,952",
            "600,000",
            "71",
            "2",
            "2,560",
            "128",
            "20",
            "10,240",
            "100",
            "5,020.0",
            "1.50",
            "2.5",
            "x86_64, 2 threads, bf16",
        ),
        (
            "Old & slow",
            "637,952",
            "–",
            "–",
            "2",
            "2,560",
            "128",
            "20",
            "–",
            "90",
            "4,520.0",
            "1.25",
            "–",
            "x86_64, 2 threads, bf16",
        ),
    ]


def test_a_pretraining_whose_time_is_not_known_counts_for_the_rest() -> None:
    (line,) = cost_lines({"pmq": {"b": card(), "c": card(seconds=None, updates=40)}}, {})
    assert line[7:11] == ("30", "10,240", "90", "4,520.0")
    (alone,) = cost_lines({"pmq": {"c": card(seconds=None)}}, {})
    assert alone[9:11] == ("–", "–")


def test_all_forms_hold_the_same_numbers() -> None:
    lines = cost_lines(CARDS, TITLES)
    found = list(csv.reader(StringIO(costs_csv(lines))))
    assert found[0] == list(HEADER)
    assert found[1][:4] == ["PMQ", "637952", "600000", "71"]
    assert found[1][-1] == "x86_64, 2 threads, bf16"
    assert "| PMQ " in costs_markdown(lines)
    assert r"Old \& slow & 637,952 & " in costs_latex(lines)
    assert "PMQ & 637,952 & 600,000 & 71 & 2 & 2,560" in costs_latex(lines)


def test_nothing_trained_has_no_table() -> None:
    lines = cost_lines({"random": CARDS["random"]}, TITLES)
    assert lines == []
