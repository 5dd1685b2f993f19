"""Cells without a row, by the error they ended in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.results.rows import Failure
from reports.runs.failures import last_line, unfinished
from reports.runs.load import load_results


def test_alike_errors_are_one_and_keep_the_first_traceback(store_root: Path) -> None:
    results = load_results(store_root)
    first, second, third, *rest = results.plan.cells
    failures = {
        first.key: Failure(f"no encoder for {first.key}", "at first\n"),
        second.key: Failure(f"no encoder for {second.key}", "at second"),
    }
    results = replace(results, failures=failures, damaged={third.key: f"{third.key}.json: cut off"})
    failed, damaged = list(unfinished(results, [third, second, first, *rest]))[::-1]
    assert (failed.state, failed.error, failed.cells) == ("failed", "no encoder for KEY", (second, first))
    assert failed.traceback == "at second"
    assert (damaged.state, damaged.error, damaged.traceback) == ("damaged", "KEY.json: cut off", "")


@pytest.mark.parametrize(("error", "line"), [("one", "one"), ("a\nb: c\n", "b: c"), (" \n", "no error text")])
def test_of_an_error_of_several_lines_the_last_is_said(error: str, line: str) -> None:
    assert last_line(error) == line
