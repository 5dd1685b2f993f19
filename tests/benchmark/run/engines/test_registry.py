"""Every engine that a command line may name is there."""

from __future__ import annotations

from pathlib import Path

from benchmark.config.sections.engine import EngineSection
from benchmark.results.names import ENGINES as NAMES
from benchmark.run.engines.local import Local
from benchmark.run.engines.registry import ENGINES, Asked


def test_the_registry_has_the_names_of_the_flag_and_of_the_config() -> None:
    assert tuple(ENGINES) == NAMES
    assert EngineSection.model_json_schema()["properties"]["name"]["enum"] == list(NAMES)


def test_local_has_the_jobs_and_devices_that_were_asked_for() -> None:
    asked = Asked(EngineSection(), 4, ("0", "1"), Path("runs"), [], detach=False)
    assert ENGINES["local"](asked) == Local(4, ("0", "1"))
