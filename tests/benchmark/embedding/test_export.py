"""The ONNX file: any number of windows, equal to torch within the stated tolerance, or no file."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from benchmark.cli import export
from benchmark.cli.export import INPUT, OUTPUT, TOLERANCE, write_onnx
from benchmark.config.errors import ConfigError
from methods.encoders import ENCODERS
from methods.encoders.dilated import Dilated
from methods.parts.masks import Mask
from tests.benchmark.embedding.exported import small_encoder


@pytest.mark.parametrize("missing", ["onnx", "onnxruntime", "onnxscript"])
def test_without_the_extra_it_is_one_line(missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(
        ConfigError, match=rf"--onnx needs onnx, .*ecg-pretrain-bench\[onnx\]' \({missing} is missing\)"
    ):
        write_onnx(small_encoder(), 300, tmp_path / "x.onnx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoder_is_equal_in_onnxruntime_at_any_number_of_windows(name: str, tmp_path: Path) -> None:
    session = pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
    torch.manual_seed(0)
    encoder = ENCODERS[name](ENCODERS[name].Config.small()).eval()
    assert write_onnx(encoder, 300, tmp_path / "x.onnx") <= TOLERANCE
    run = session.InferenceSession(str(tmp_path / "x.onnx"), providers=["CPUExecutionProvider"])
    for count in (1, 5, 33):
        windows = np.random.default_rng(0).normal(size=(count, 300, 12)).astype(np.float32)
        (found,) = run.run([OUTPUT], {INPUT: windows})
        with torch.no_grad():
            expected = encoder.pooled(torch.from_numpy(windows)).numpy()
        assert np.abs(found - expected).max() <= TOLERANCE * np.abs(expected).max()


class Bessel(Dilated):
    """An encoder with an operation that has no form in ONNX."""

    def pooled(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        """(B, S, L) -> (B, K)."""
        return super().pooled(torch.special.bessel_j0(x), mask)  # (B, K)


@pytest.mark.slow
def test_an_encoder_that_onnx_cannot_hold_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
    encoder = Bessel(Dilated.Config.small()).eval()
    with pytest.raises(ConfigError, match=r"^the encoder 'dilated' cannot be written as ONNX: .*\)$"):
        write_onnx(encoder, 300, tmp_path / "x.onnx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_file_that_differs_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
    monkeypatch.setattr(export, "TOLERANCE", 0.0)
    with pytest.raises(ConfigError, match=r"differs from torch by .* more than 0; it is not written"):
        write_onnx(small_encoder(), 300, tmp_path / "x.onnx")
    assert list(tmp_path.iterdir()) == []
