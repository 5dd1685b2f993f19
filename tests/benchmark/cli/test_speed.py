"""The command `speed`: every update of a config is timed and printed, with the hours of its grid."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.cli.main import OK
from run_benchmark import main
from tests.basic import TINY


def test_each_method_on_each_encoder_fine_tuning_preparation_and_hours_are_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(TINY + "encoders: [{name: resnet1d, output: 8}]\n")
    assert main(["speed", "--config", "tiny.yaml", "--quick", "--device", "cpu"]) == OK
    shown = capsys.readouterr().out
    updates = [f"{update} on {encoder}" for encoder in ("dilated", "resnet1d") for update in ("pmq", "fine-tuning")]
    for words in ("speed on cpu", *updates, "recordings of 10 s at 500 Hz per core-second", "estimate for"):
        assert words in shown
