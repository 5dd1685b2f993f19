"""The file of a checkpoint; what resuming from it gives is in test_pretrain.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from benchmark.results.files.seals import seal
from benchmark.training.checkpoint import load_checkpoint


def test_a_checkpoint_of_others_executes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Hostile:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "acted",)

    torch.save({"method": Hostile()}, tmp_path / "file")
    (tmp_path / "file").write_bytes(seal(tmp_path.name, (tmp_path / "file").read_bytes()))
    assert load_checkpoint(tmp_path / "file") is None
    assert "training begins with the first epoch" in caplog.text
    assert not (tmp_path / "acted").exists()
