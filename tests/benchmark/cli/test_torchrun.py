"""A grid under torchrun, with two ranks: stopped by a signal to torchrun, and gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmark.training.checkpoint import CHECKPOINT
from tests.basic import TINY

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
CONFIG = TINY.replace("epochs: 1,", "epochs: 12,")
LIMIT = 240


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    (folder / "tiny.yaml").write_text(CONFIG)
    of_torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return subprocess.Popen(
        [sys.executable, *of_torchrun, str(ROOT / "run_benchmark.py"), *words, "--device", "cpu", "--workers", "1"],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def until(so: Callable[[], object]) -> None:
    patience = time.monotonic() + LIMIT
    while not so():
        assert time.monotonic() < patience
        time.sleep(0.05)


def cards(folder: Path) -> dict[str, dict[str, Any]]:
    """Method -> the card of its encoder."""
    found = [json.loads(path.read_text()) for path in (folder / "runs").glob("pretrained/*/*.json")]
    return {card["method"]: card for card in found if "method" in card}


def test_two_ranks_do_a_grid_and_go_on_after_a_signal(tmp_path: Path) -> None:
    first = start(tmp_path, "--config", "tiny.yaml")
    checkpoints = lambda: list((tmp_path / "runs" / "pretrained").glob(f"*/{CHECKPOINT}"))  # noqa: E731
    until(lambda: checkpoints() or first.poll() is not None)
    first.send_signal(signal.SIGTERM)
    said, _ = first.communicate(timeout=LIMIT)
    assert said.count("the pretraining of pmq is saved at update") == 1, said
    assert len(checkpoints()) == 1

    again = start(tmp_path, "--config", "tiny.yaml")
    said, _ = again.communicate(timeout=LIMIT)
    assert again.returncode == 0, said
    assert not checkpoints()
    ours = cards(tmp_path)
    assert ours["pmq"]["key_content"]["mode"]["ranks"] == 2
    assert "mode" not in ours["random"]["key_content"]
    assert len(list((tmp_path / "runs" / "cells").glob("*.json"))) == 2
    assert said.count("2 cells on 2 encoders") == 1, "the second rank prints nothing"

    alike = start(tmp_path, "reproduce", "pmq", "--pretraining")
    said, _ = alike.communicate(timeout=LIMIT)
    assert alike.returncode == 0, said
    assert "equal: the encoder, 6 scores and the predictions of" in said
