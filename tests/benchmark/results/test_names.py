"""The names of rows, gates and the program, and where features count as collapsed."""

from __future__ import annotations

import sys

import pytest

from benchmark.results import names
from benchmark.results.names import WINDOWS_SHA256, collapsed, command, measured_elsewhere, program


def test_a_row_on_a_further_encoder_has_its_name_behind() -> None:
    assert (names.name_on("pmq", ""), names.name_on("pmq", "s4")) == ("pmq", "pmq+s4")
    assert (names.name_on_any("pmq+s4", "s4"), names.name_on_any("pmq+s4", "")) == ("pmq", "pmq+s4")
    assert [names.is_untrained(row) for row in ("random", "random+s4", "pmq", "random-frozen")] == [True] * 2 + [
        False
    ] * 2


def test_a_command_is_that_by_which_the_program_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    for started, name in (
        ("/usr/bin/ecg-pretrain-bench", "ecg-pretrain-bench"),
        ("ecg-pretrain-bench.exe", "ecg-pretrain-bench"),
        ("run_benchmark.py", "python run_benchmark.py"),
        ("-c", "python run_benchmark.py"),
    ):
        monkeypatch.setattr(sys, "argv", [started, "report"])
        assert (command(), program()) == (name, name.removeprefix("python "))


def test_features_collapse_below_a_rank_or_above_a_cosine() -> None:
    assert [collapsed(*measures) for measures in ((1.99, 0.5), (2.2, 0.991), (1.5, 0.995))] == [True] * 3
    assert [collapsed(*measures) for measures in ((2.0, 0.99), (None, 0.995), (1.5, None))] == [False] * 3


def test_health_of_other_windows_than_those_of_the_run_is_named() -> None:
    def card(sample: str) -> dict[str, object]:
        return {"health": [{"epoch": 0}], "health_sample": {WINDOWS_SHA256: sample}}

    here, there = card("a"), card("b")
    assert measured_elsewhere({"random": there, "moco": there, "pmq": here}, "a") == ["random", "moco"]
