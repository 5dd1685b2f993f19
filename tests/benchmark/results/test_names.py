"""Names of rows, baselines and the program, where features count as collapsed, and numbers printed by others."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

from benchmark.data.tasks import columns_of, named_tasks
from benchmark.results import names
from benchmark.results.metrics import METRICS
from benchmark.results.names import (
    EVALUATION_FACTS,
    collapsed,
    command,
    evaluation_of,
    numbers,
    sources,
)

DATASETS = {"ptb-xl": "PTB-XL", "chapman": "Chapman", "cpsc2018": "CPSC2018"}


def test_a_row_on_a_further_encoder_has_its_name_behind() -> None:
    assert (names.name_on("pmq", ""), names.name_on("pmq", "s4")) == ("pmq", "pmq+s4")
    assert [names.is_untrained(row) for row in ("random", "random+s4", "pmq", "random-frozen")] == [True] * 2 + [
        False
    ] * 2


def test_a_baseline_that_fixes_its_evaluation_has_it_in_every_table() -> None:
    own = {"random-frozen": "linear", "features": "features", "supervised": "supervised", "minirocket": "minirocket"}
    assert {row: evaluation_of(row, "knn") for row in ("random", *own)} == {"random": "knn", **own}


def test_a_command_is_that_by_which_the_program_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    for started, name in (
        ("/usr/bin/ecg-pretrain-bench", "ecg-pretrain-bench"),
        ("ecg-pretrain-bench.exe", "ecg-pretrain-bench"),
        ("run_benchmark.py", "python run_benchmark.py"),
        ("-c", "python run_benchmark.py"),
    ):
        monkeypatch.setattr(sys, "argv", [started, "report"])
        assert command() == name


def test_features_collapse_below_a_rank_or_above_a_cosine() -> None:
    assert [collapsed(*measures) for measures in ((1.99, 0.5), (2.2, 0.991), (1.5, 0.995))] == [True] * 3
    assert [collapsed(*measures) for measures in ((2.0, 0.99), (None, 0.995), (1.5, None))] == [False] * 3


def test_every_printed_number_fits_a_table() -> None:
    columns = {column.name for column in columns_of(("ptb-xl",), (*named_tasks("ptb-xl"),))}
    for number in numbers():
        assert number.column in columns | DATASETS.keys()
        assert number.evaluation in EVALUATION_FACTS
        assert number.metric in METRICS
        assert 0 < number.ratio <= 1 < number.percent < 100
        assert (number.again is None) == (number.by == "")
    assert {number.source for number in numbers()} == sources().keys()
    places = [number[:6] for number in numbers()]
    assert len(set(places)) == len(places)


def test_the_tables_of_the_paper_are_as_printed(shared_reference: Path) -> None:
    printed = {
        (n.row, n.ratio, DATASETS[n.column], n.metric): (n.percent, n.std) for n in numbers() if n.source == "pmq"
    }
    with (shared_reference / "paper_table1.csv").open() as file:
        first = [line for line in csv.DictReader(file) if line["dataset"] != "Overall"]
    with (shared_reference / "paper_table2.csv").open() as file:
        second = [line for line in csv.DictReader(file) if line["dataset"] != "Overall" and line["ablation"] != "All"]
    lines = [line | {"row": line["method"]} for line in first]
    lines += [line | {"row": f"PMQ {line['ablation']}", "metric": "F1"} for line in second]
    assert printed == {
        (line["row"], int(line["ratio"]) / 100, line["dataset"], line["metric"].lower()): (
            float(line["mean"]), float(line["std"]),
        )
        for line in lines
    }  # fmt: skip
