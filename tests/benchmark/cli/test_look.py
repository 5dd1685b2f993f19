"""The verb `list` names all there is."""

from __future__ import annotations

import re

import pytest

from benchmark.config.errors import config_names
from benchmark.data.datasets import DATASETS
from benchmark.results.names import TASKS
from methods import BEYOND, METHODS
from methods.encoders import ENCODERS
from run_benchmark import main


def test_list_names_all_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    words = capsys.readouterr().out.split()
    assert [name for name in (*METHODS, *ENCODERS, *DATASETS, *TASKS, *config_names()) if name not in words] == []
    assert {"637,952", "439,040"} <= set(words)


def test_each_encoder_has_its_parameters_multiplications_and_step(capsys: pytest.CaptureFixture[str]) -> None:
    main(["list"])
    told = capsys.readouterr().out.partition("encoders (--encoder)")[2].partition("datasets (--datasets")[0]
    lines = {line.split()[0]: line for line in told.splitlines()[1:]}
    assert lines.keys() == ENCODERS.keys()
    for line in lines.values():
        assert re.search(r"[\d,]+ parameters, [\d,]+ M multiplications, [\d.,]+ ms$", line), line


def test_methods_beyond_the_paper_are_a_group_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    main(["list"])
    _, group, rest = capsys.readouterr().out.partition("beyond the paper's comparison")
    told = [line.split()[0] for line in rest.partition("encoders (--encoder)")[0].splitlines()[1:]]
    assert group
    assert told == list(BEYOND)
