"""The verbs `check-method` and `check-encoder`: a line per promise, and a status that says whether all are kept."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest

from benchmark.config.command_line.verb import FAILED, OK, USAGE
from benchmark.screen.console import open_console
from benchmark.verbs.check import ELSEWHERE_PAGE, ENCODER_PAGE, QUICK, print_verdicts
from benchmark.verbs.contract.check import PROMISES, Verdict
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
    heading, *lines, end = capsys.readouterr().out.splitlines()
    assert heading == "random: 3 promises to test, a few seconds on an idle core"
    assert [line.split(":")[0] for line in lines] == ["kept   builds", "kept   name", "kept   encoder"]
    assert end.startswith("random: 3 in ")


def test_a_method_that_trains_is_said_to_take_less_than_a_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    verdicts = [Verdict(promise, True, "so it is") for promise in PROMISES]
    monkeypatch.setattr("benchmark.verbs.contract.check.check_method", lambda kind, encoder: iter(verdicts))
    assert main(["check-method", "pmq"]) == OK
    heading, *lines, end = capsys.readouterr().out.splitlines()
    assert heading == f"pmq: {len(PROMISES)} promises to test, less than a minute on an idle core"
    assert lines == [f"kept   {promise.name}: so it is" for promise in PROMISES]
    assert end.startswith(f"pmq: {len(PROMISES)} in ")


def test_an_encoder_is_said_to_take_seconds() -> None:
    for page in (ENCODER_PAGE, ELSEWHERE_PAGE):
        shown = StringIO()
        assert print_verdicts([], QUICK + 1, "mine", page, open_console(shown)) == OK
        assert shown.getvalue().startswith(f"mine: {QUICK + 1} promises to test, a few seconds on an idle core")


def test_a_method_in_a_file_that_does_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "faulty.py").write_text(FAULTY)
    assert main(["check-method", str(tmp_path / "faulty.py")]) == FAILED
    shown = capsys.readouterr().out
    assert "BROKEN name: Faulty.title is ''" in shown
    assert "1 of 3 promises tested are broken; docs/METHOD.md has the contract" in shown


@pytest.mark.parametrize(
    ("word", "line"),
    [("pmqq", "unknown method 'pmqq' (did you mean 'pmq'?)"), ("missing.py", "missing.py does not exist")],
)
def test_a_method_that_is_not_there_is_one_line(word: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-method", word]) == USAGE
    shown = capsys.readouterr().err
    assert line in shown
    assert shown.count("\n") == 1


def test_an_encoder_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (["check-encoder", "dilatd"], ["check-method", "random", "--encoder", "dilatd"]):
        assert main(argv) == USAGE
        shown = capsys.readouterr().err
        assert "unknown encoder 'dilatd' (did you mean 'dilated'?)" in shown
        assert shown.count("\n") == 1


def test_a_file_that_exits_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "quits.py").write_text("import sys\nsys.exit(3)\n")
    assert main(["check-method", str(tmp_path / "quits.py")]) == USAGE
    assert "quits.py: SystemExit: 3" in capsys.readouterr().err


@pytest.mark.slow
def test_an_encoder_in_a_file(encoder_text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sound, broken = tmp_path / "mine.py", tmp_path / "broken.py"
    sound.write_text(encoder_text)
    assert main(["check-encoder", str(sound)]) == OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "kept   name: mine"
    assert all(line.startswith("kept ") for line in lines[1:-1])
    broken.write_text(encoder_text.replace("self.out(embedded.tanh())", "self.out(embedded.tanh()).mT"))
    assert main(["check-encoder", str(broken)]) == FAILED
    assert "BROKEN shapes:" in capsys.readouterr().out
