"""The names that the command line knows without loading the registries, and those that stored files hold.

Measures of health: the names that stored cards hold, and where features count as collapsed.

The printed numbers: whole, with known places, against the values of LITERATURE.md where the project has them.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from benchmark.data.splits import columns_of
from benchmark.results import names
from benchmark.results.metrics import FURTHER, METRICS
from benchmark.results.names import (
    EVALUATIONS,
    MEASURES,
    TASKS,
    UNTRAINED_EPOCH,
    WINDOWS_SHA256,
    collapsed,
    command,
    measured_elsewhere,
    numbers,
    program,
    sources,
)


def test_the_names_are_those_of_the_metrics() -> None:
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


def test_health_of_other_windows_than_those_of_the_run_is_named() -> None:
    def card(sample: str) -> dict[str, object]:
        return {"health": [{"epoch": 0}], "health_sample": {WINDOWS_SHA256: sample}}

    here, there = card("a"), card("b")
    assert measured_elsewhere({"random": there, "pmq": here}, "a") == ["random"]
    assert measured_elsewhere({"random": there, "moco": there, "pmq": here}, "a") == ["random", "moco"]
    assert measured_elsewhere({"random": {"health": []}, "pmq": here}, "a") == []
    assert measured_elsewhere({"random": {"health": [{"epoch": 0}]}, "pmq": here}, "a") == ["random"]


def test_every_number_has_a_source_and_a_place_that_a_table_may_have() -> None:
    columns = {column.name for column in columns_of(["ptb-xl"], [task for task in TASKS if task != "default"])}
    for own in numbers():
        assert own.source in sources()
        assert own.column in columns
        assert own.evaluation in EVALUATIONS
        assert own.metric in METRICS
        assert 0 < own.ratio <= 1
        assert 50 < own.percent < 100  # AUROC in percent
        assert own.std is None or 0 < own.std < 5
    assert {own.source for own in numbers()} == sources().keys()


def test_no_place_has_two_numbers_of_one_row() -> None:
    places = [own[:6] for own in numbers()]
    assert len(set(places)) == len(places)


def test_the_benchmark_of_ptb_xl_is_whole() -> None:
    own = {one.column: one.percent for one in numbers() if one.row == "xresnet1d101"}
    assert own["ptb-xl.superdiagnostic"] == 92.8
    assert own["ptb-xl.rhythm"] == 95.7
    assert len(own) == 6


def test_sources_say_what_differs() -> None:
    assert all(own.cite and own.protocol and own.differs for own in sources().values())
