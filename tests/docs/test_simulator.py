"""docs/SIMULATOR.md and its sheets say what the simulator does."""

from __future__ import annotations

import importlib.util
from dataclasses import fields
from pathlib import Path

import matplotlib.image
import pytest

from benchmark.data.simulate import DIAGNOSES, SIMULATOR_VERSION, CohortSettings
from tests.docs.pages import DOCS, text_of

TEXT = text_of("SIMULATOR.md")


@pytest.mark.parametrize("name", DIAGNOSES)
def test_every_diagnosis_is_described_and_drawn(name: str) -> None:
    assert f"| [{name}](#{name.lower()}) | {DIAGNOSES[name]} |" in TEXT
    assert f"(simulator/{name}.png)" in TEXT
    assert (DOCS / "simulator" / f"{name}.png").is_file()


def test_dials_and_version_are_documented() -> None:
    dials = {field.name for field in fields(CohortSettings)} - {"patients", "seed", "test_patients"}
    assert all(f"| `{dial}` |" in TEXT for dial in dials)
    assert f"(now {SIMULATOR_VERSION})" in TEXT


def test_a_sheet_can_be_drawn_anew(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("draw", DOCS / "simulator" / "draw.py")
    assert spec is not None
    assert spec.loader is not None
    draw = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(draw)
    draw.draw(tmp_path, ["AVB3"])
    image = matplotlib.image.imread(tmp_path / "AVB3.png")
    assert image.shape[1] == draw.WIDTH
    assert image[..., :3].max(axis=2).min() < 0.3  # the trace kept its black
    assert (tmp_path / "AVB3.png").stat().st_size < 150_000
