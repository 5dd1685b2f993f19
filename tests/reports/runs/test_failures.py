"""Cells without a row, by the error they ended in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmark.results.failures import Failure
from reports.runs.failures import unfinished
from reports.runs.run import open_run


def test_alike_errors_are_one_and_keep_the_first_traceback(store_root: Path) -> None:
    run = open_run(store_root)
    first, second, third, *rest = run.plan.cells
    failures = {
        first.key: Failure(f"no encoder for {first.key}", "at first\n"),
        second.key: Failure(f"no encoder for {second.key}", "at second"),
    }
    run = replace(run, failures=failures, damaged={third.key: f"{third.key}.json: cut off"})
    failed, damaged = list(unfinished(run, [third, second, first, *rest]))[::-1]
    assert (failed.state, failed.error, failed.cells) == ("failed", "no encoder for KEY", (second, first))
    assert failed.traceback == "at second"
    assert (damaged.state, damaged.error, damaged.traceback) == ("damaged", "KEY.json: cut off", "")


def test_of_an_error_of_several_lines_the_first_is_said(store_root: Path) -> None:
    run = open_run(store_root)
    cell = run.plan.cells[0]
    (failed,) = unfinished(replace(run, failures={cell.key: Failure("ValueError: a\nb")}), [cell])
    assert failed.error == "ValueError: a"
