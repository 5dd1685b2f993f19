"""The names for users: imported when they are asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import benchmark
from benchmark.embedding import EcgEmbedder, load_encoder

ROOT = Path(__file__).resolve().parents[2]


def test_importing_the_package_stays_light() -> None:
    source = "import sys, benchmark; print(*{'torch', 'numpy', 'sklearn', 'pydantic'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


def test_the_names_are_there() -> None:
    assert benchmark.load_encoder is load_encoder
    assert benchmark.EcgEmbedder is EcgEmbedder
    with pytest.raises(AttributeError, match="module 'benchmark' has no attribute 'load_encodr'"):
        benchmark.load_encodr  # noqa: B018
