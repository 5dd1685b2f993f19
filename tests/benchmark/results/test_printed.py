"""The printed numbers: whole, with known places, and the PMQ paper's tables as they are printed."""

from __future__ import annotations

import csv
from pathlib import Path

from benchmark.data.tasks import columns_of
from benchmark.results.metrics import METRICS
from benchmark.results.names import EVALUATIONS, TASKS
from benchmark.results.printed import numbers, sources

DATASETS = {"ptb-xl": "PTB-XL", "chapman": "Chapman", "cpsc2018": "CPSC2018"}


def test_every_number_has_a_source_and_a_place_that_a_table_may_have() -> None:
    columns = {column.name for column in columns_of(["ptb-xl"], [task for task in TASKS if task != "default"])}
    for number in numbers():
        assert number.column in columns | DATASETS.keys()
        assert number.evaluation in EVALUATIONS
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
