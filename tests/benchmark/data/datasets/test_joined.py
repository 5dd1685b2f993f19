"""Several datasets as one: their recordings under names that stay apart, read as their datasets read them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.data.datasets.base import Dataset, DatasetError
from benchmark.data.datasets.joined import Joined
from benchmark.data.datasets.registry import source_of
from benchmark.data.prepare import prepare
from benchmark.data.simulate import CohortSettings, write_cohort


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Dataset]:
    folder = tmp_path_factory.mktemp("members")
    for name in ("chapman", "mimic-iv-ecg"):
        write_cohort(name, folder / name, CohortSettings(4, recordings_per_patient=1.0), seed=1)
    return {name: source_of(name)(folder / name) for name in ("chapman", "mimic-iv-ecg")}


def test_recordings_are_those_of_the_datasets(members: dict[str, Dataset], tmp_path: Path) -> None:
    entries = {name: member.listing().entries for name, member in members.items()}
    chosen = {"chapman": entries["chapman"][1:3], "mimic-iv-ecg": entries["mimic-iv-ecg"]}
    joined = Joined("chapman+mimic-iv-ecg", "Chapman + MIMIC-IV-ECG", members, chosen)
    assert (joined.name, joined.title) == ("chapman+mimic-iv-ecg", "Chapman + MIMIC-IV-ECG")
    listed = joined.listing().entries
    assert [own.recording for own in listed[:2]] == [f"chapman/{own.recording}" for own in chosen["chapman"]]
    assert [own.labels for own in listed[:2]] == [own.labels for own in chosen["chapman"]]
    assert listed[-1].report == entries["mimic-iv-ecg"][-1].report != ""
    assert len({own.patient for own in listed}) == 6
    for own, entry in zip(chosen["chapman"], listed, strict=False):
        assert joined.files(entry) == members["chapman"].files(own)
        np.testing.assert_array_equal(joined.read(entry).signal, members["chapman"].read(own).signal)
    prepared = prepare(joined, tmp_path, workers=1)
    assert (prepared.classes, prepared.simulated) == ((), True)
    assert len(prepared.entries) + len(prepared.skipped) == 6
    fewer = prepare(replace(joined, entries=chosen | {"chapman": ()}), tmp_path, workers=1)
    assert fewer.fingerprint != prepared.fingerprint


def test_nothing_to_pretrain_on_is_said(members: dict[str, Dataset]) -> None:
    with pytest.raises(DatasetError, match=r"^Chapman: no recording is left: every one is tested or chosen on$"):
        Joined("chapman", "Chapman", {"chapman": members["chapman"]}, {"chapman": ()}).listing()
