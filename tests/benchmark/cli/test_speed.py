"""The command `speed`: every update of a config is timed and printed, with the hours of its grid."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from benchmark.cli.main import OK
from benchmark.cli.speed import jobs_of, measure, random_batch
from benchmark.config.load import load_config
from benchmark.machine.device import Machine
from run_benchmark import main
from tests.basic import TINY

CPU = torch.device("cpu")


def test_each_method_on_each_encoder_and_fine_tuning_have_an_update(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    config = load_config(str(tmp_path / "tiny.yaml"), {"encoders": [{"name": "resnet1d", "output": 8}]})
    jobs = list(jobs_of(config, Machine(CPU, "float32"), 4))
    assert [(name, batch) for name, batch, _ in jobs] == [
        ("pmq on dilated", 4),
        ("fine-tuning on dilated", 4),
        ("pmq on resnet1d", 4),
        ("fine-tuning on resnet1d", 4),
    ]
    for _, _, job in jobs[:2]:
        job()()


def test_a_time_is_a_median_with_its_spread() -> None:
    x = torch.randn(64, 64)
    timing = measure("product", 1, lambda: x @ x, CPU, 0.05)
    assert 0 < timing.milliseconds < 1000
    assert (timing.spread >= 0, timing.gib) == (True, None)


def test_noise_is_the_same_at_each_call_with_several_windows_a_patient() -> None:
    one, again = (random_batch(10, 20, 12, 3, CPU) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(one, again, strict=True))
    assert one.patient.tolist() == [int(one.patient[0])] * 5 + [int(one.patient[5])] * 5
    assert one.text is not None


def test_the_command_prints_updates_preparation_and_hours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(TINY)
    assert main(["speed", "--config", "tiny.yaml", "--quick", "--device", "cpu"]) == OK
    shown = capsys.readouterr().out
    for words in ("speed on cpu", "pmq", "fine-tuning", "recordings of 10 s at 500 Hz per core-second", "estimate for"):
        assert words in shown
