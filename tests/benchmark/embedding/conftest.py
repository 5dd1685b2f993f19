"""An exported encoder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmark.embedding.exported import export_encoder


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """Its folder."""
    return export_encoder(tmp_path / "encoder")
