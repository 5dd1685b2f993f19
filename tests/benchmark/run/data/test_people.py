"""Groups of recordings kept beside a store, by a run and by a later look at the data."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.config.errors import ConfigError
from benchmark.data.readers.base import Dataset
from benchmark.data.readers.registry import DATASETS
from benchmark.data.simulate import CohortSettings, write_cohort
from benchmark.results.people.stored import people_file, read_people
from benchmark.run.data.people import add_people, keep_people


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    write_cohort("chapman", tmp_path / "chapman", CohortSettings(patients=4), seed=1)
    return DATASETS["chapman"](tmp_path / "chapman")


def test_a_run_keeps_the_groups_once(dataset: Dataset, tmp_path: Path) -> None:
    entries = dataset.listing().entries
    keep_people(dataset, entries, tmp_path / "runs", "f00d")
    assert read_people(tmp_path / "runs", "f00d").keys() == {entry.recording for entry in entries}
    people_file(tmp_path / "runs", "f00d").write_text("{}")
    keep_people(dataset, entries, tmp_path / "runs", "f00d")
    assert people_file(tmp_path / "runs", "f00d").read_text() == "{}"


def test_they_are_added_to_rows_of_the_same_recordings_alone(dataset: Dataset, tmp_path: Path) -> None:
    patients = {entry.recording: entry.patient for entry in dataset.listing().entries[:2]}
    assert add_people(dataset, {"a": patients, "b": patients}, tmp_path) == 4
    assert read_people(tmp_path, "a") == read_people(tmp_path, "b")
    assert len(read_people(tmp_path, "a")) == 4
    with pytest.raises(ConfigError, match="1 of 1 test recordings are not in"):
        add_people(dataset, {"c": {next(iter(patients)): "another"}}, tmp_path)
    assert read_people(tmp_path, "c") == {}
