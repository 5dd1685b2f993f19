"""The verb `check-method`: a line per promise, and an exit status that says whether all are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.config.verb import FAILED, OK, USAGE
from run_benchmark import main

FAULTY = """
from dataclasses import dataclass
from methods.base import MethodConfig, PretrainMethod


class Faulty(PretrainMethod):
    name = "faulty"
    title = ""
    trains = False
"""


def test_a_method_that_keeps_its_promises(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-method", "random"]) == OK
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["kept   builds", "kept   name", "kept   encoder"]


def test_a_method_in_a_file_that_does_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "faulty.py").write_text(FAULTY)
    assert main(["check-method", str(tmp_path / "faulty.py")]) == FAILED
    assert "BROKEN name: Faulty.title is ''" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("word", "line"),
    [("pmqq", "unknown method 'pmqq': did you mean 'pmq'?"), ("missing.py", "missing.py does not exist")],
)
def test_a_method_that_is_not_there_is_one_line(word: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-method", word]) == USAGE
    shown = capsys.readouterr().err
    assert line in shown
    assert shown.count("\n") == 1
