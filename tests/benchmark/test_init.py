"""The names for users: imported when they are asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import benchmark
from benchmark.embedding import EcgEmbedder, load_encoder


def test_the_names_are_there_and_importing_the_package_stays_light() -> None:
    assert (benchmark.load_encoder, benchmark.EcgEmbedder) == (load_encoder, EcgEmbedder)
    source = "import sys, benchmark; print(*{'torch', 'numpy', 'sklearn', 'pydantic'} & set(sys.modules))"
    root = Path(__file__).resolve().parents[2]
    shown = subprocess.run([sys.executable, "-c", source], cwd=root, capture_output=True, text=True, check=True)
    assert shown.stdout.split() == []
