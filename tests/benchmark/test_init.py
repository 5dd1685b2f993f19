"""The name for users: imported when it is asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import benchmark
from benchmark.embedding import load_encoder


def test_importing_the_package_stays_light() -> None:
    assert benchmark.load_encoder is load_encoder
    source = "import sys, benchmark; print(*{'torch', 'numpy', 'sklearn', 'pydantic'} & set(sys.modules))"
    root = Path(__file__).resolve().parents[2]
    shown = subprocess.run([sys.executable, "-c", source], cwd=root, capture_output=True, text=True, check=True)
    assert shown.stdout.split() == []
