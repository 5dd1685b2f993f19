"""The verb `report`: what it reports, and what cannot be reported together."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.cli.main import FAILED, parse
from benchmark.cli.report import report
from benchmark.config.errors import ConfigError
from benchmark.screen import open_console
from run_benchmark import main


def test_a_report_of_nothing_is_one_line_and_makes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report"]) == FAILED == 1
    shown = capsys.readouterr()
    assert shown.err.startswith("error: no results in runs")
    assert (shown.err.count("\n"), shown.out) == (1, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("flags", ["--results a b", "--archive x.zip", "--beside pmq"])
def test_two_runs_are_held_together_alone(flags: str) -> None:
    _, arguments = parse(f"report --compare a b {flags}".split())
    with pytest.raises(ConfigError, match="--compare takes none of --results, --archive, --beside and --scores"):
        report(arguments, open_console())
