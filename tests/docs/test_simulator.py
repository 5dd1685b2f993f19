"""docs/DATA.md says what the simulator does."""

from __future__ import annotations

from dataclasses import fields

import pytest

from benchmark.data.simulate import DIAGNOSES, SIMULATOR_VERSION, SimulatedDataset
from tests.docs.pages import text_of

TEXT = text_of("DATA.md", "## The simulator")


@pytest.mark.parametrize("name", DIAGNOSES)
def test_every_diagnosis_is_described_with_its_codes(name: str) -> None:
    assert f"| {name} | {DIAGNOSES[name].description} | {DIAGNOSES[name].scp.replace(' ', ', ')} |" in TEXT


def test_the_simulators_settings_are_documented() -> None:
    documented = {field.name for field in fields(SimulatedDataset)} - {"name", "patients", "seed"}
    assert [name for name in documented if f"`{name}`" not in TEXT] == []
    assert f"(now {SIMULATOR_VERSION})" in TEXT
