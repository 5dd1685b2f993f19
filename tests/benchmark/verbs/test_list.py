"""The verb `list` names all there is."""

from __future__ import annotations

import pytest

from benchmark.config.load import config_names
from benchmark.data.readers.registry import DATASETS
from methods import METHODS
from run_benchmark import main


def test_list_names_all_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    words = capsys.readouterr().out.split()
    assert [name for name in (*METHODS, *DATASETS, *config_names()) if name not in words] == []
