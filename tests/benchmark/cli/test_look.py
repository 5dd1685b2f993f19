"""The verb `list` names all there is, each with what it is."""

from __future__ import annotations

import re

import pytest

from benchmark.config.load import config_names
from benchmark.data.datasets import DATASETS
from benchmark.results.names import TASKS
from methods import BEYOND, METHODS
from methods.encoders import ENCODERS
from run_benchmark import main


def names(lines: str) -> list[str]:
    return [line.split()[0] for line in lines.splitlines()[1:]]


def test_list_names_all_there_is_with_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    told = capsys.readouterr().out
    assert {*METHODS, *ENCODERS, *DATASETS, *TASKS, *config_names(), "637,952", "439,040"} <= set(told.split())
    methods, rest = told.split("beyond the paper's comparison")
    beyond, rest = rest.split("encoders (--encoder)")
    encoders = rest.partition("datasets (--datasets")[0]
    assert names(beyond) == list(BEYOND)
    assert names(encoders) == list(ENCODERS)
    for line in encoders.splitlines()[1:]:
        assert re.search(r"[\d,]+ parameters, [\d,]+ M multiplications$", line), line
    # A file with several methods describes each by its class.
    assert re.search(r"^  random +The untrained encoder\.$", methods, re.MULTILINE)
    lines = [line[18:] for line in (methods + beyond + encoders).splitlines()]
    assert len(set(lines)) == len(lines)
