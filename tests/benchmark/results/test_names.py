"""The names that the command line knows without loading the registries, and those that stored files hold."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from benchmark.data.readers import registry
from benchmark.results import names
from benchmark.results.metrics import FURTHER
from benchmark.results.names import command, program
from methods import METHODS
from methods.encoders import ENCODERS


def test_the_names_are_those_of_the_registries() -> None:
    assert tuple(METHODS) == names.METHODS
    assert tuple(ENCODERS) == names.ENCODERS
    assert tuple(registry.DATASETS) == names.DATASETS
    assert names.FURTHER_SCORES == FURTHER


def test_the_program_is_installed_under_its_name() -> None:
    project = tomllib.loads((Path(__file__).resolve().parents[3] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {names.INSTALLED: "run_benchmark:main"}


def test_the_names_in_stored_files_stay() -> None:
    """Stores and summaries of earlier versions hold them."""
    assert names.UNIT_OF_PROTOCOL == {"paper": "heartbeat", "strict": "recording"}
    assert (names.UNTRAINED, names.FROZEN, names.FEATURES) == ("random", "random-frozen", "features")
    assert (names.OVERALL, names.BOTH) == ("overall", "both")
    assert (names.CARD, names.ERROR, names.ILLUSTRATION) == ("pretraining.json", "error.json", "illustration.npz")
    assert (names.OTHER, names.OWN, names.ATTRACTS, names.SAME) == (0, 1, 2, 3)
    assert names.SKIPPED_COLUMNS == ("dataset", "recording", "patient", "reason")


def test_a_row_on_a_further_encoder_has_its_name_behind() -> None:
    assert (names.name_on("pmq", ""), names.name_on("pmq", "s4")) == ("pmq", "pmq+s4")
    assert (names.name_on_any("pmq+s4", "s4"), names.name_on_any("pmq+s4", "")) == ("pmq", "pmq+s4")
    assert [names.is_untrained(row) for row in ("random", "random+s4", "pmq", "random-frozen")] == [
        True, True, False, False
    ]  # fmt: skip


def test_what_evaluations_are_fed_and_what_their_number_counts() -> None:
    assert {name: (facts.frozen, facts.shots) for name, facts in names.EVALUATION_FACTS.items()} == {
        "finetune": (False, False),
        "linear": (True, False),
        "linear-fix": (True, False),
        "knn": (True, False),
        "few-shot": (True, True),
    }


def test_gates_have_evaluations_of_their_own_in_every_table() -> None:
    assert [names.evaluation_of(row, "finetune") for row in ("pmq", "random-frozen", "features", "supervised")] == [
        "finetune", "linear", "features", "supervised"
    ]  # fmt: skip
    assert [names.takes_shots(own) for own in ("few-shot", "linear", "features")] == [True, False, False]


@pytest.mark.parametrize(
    ("started", "said"),
    [
        ("/usr/bin/ecg-pretrain-bench", "ecg-pretrain-bench"),
        ("ecg-pretrain-bench.exe", "ecg-pretrain-bench"),
        ("run_benchmark.py", "python run_benchmark.py"),
        ("-c", "python run_benchmark.py"),
    ],
)
def test_a_command_is_that_by_which_the_program_was_started(
    started: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [started, "report"])
    assert (command(), program()) == (said, said.removeprefix("python "))
