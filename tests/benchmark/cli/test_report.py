"""The command `report`: what it reports, and what cannot be reported together."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.cli.main import FAILED, USAGE
from run_benchmark import main


@pytest.mark.parametrize(
    ("flags", "status", "message"),
    [
        ("", FAILED, "error: no results in runs"),
        ("--compare a b --archive x.zip", USAGE, "error: --compare takes none of --results, --archive, --beside and"),
        ("--compare a b --beside pmq", USAGE, "error: --compare takes none of --results, --archive, --beside and"),
    ],
)
def test_what_cannot_be_reported_is_one_line_and_makes_nothing(
    flags: str,
    status: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", *flags.split()]) == status
    shown = capsys.readouterr()
    assert shown.err.startswith(message)
    assert (shown.err.count("\n"), shown.out) == (1, "")
    assert list(tmp_path.iterdir()) == []
