"""ECGBench's references to signals, and text files with a line a lead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.data.readers.base import LEADS, Unusable
from benchmark.data.readers.cards.ecgbench.package import config_of
from benchmark.data.readers.cards.ecgbench.signals import Reference, meaning_of, read_signal, reference_of


@pytest.mark.parametrize(
    ("text", "form", "reference"),
    [
        ("training/g1/A0001.mat", "wfdb", Reference("training/g1/A0001.hea")),
        ("data/1", "wfdb", Reference("data/1.hea")),
        ("files/x.y/1.2", "wfdb", Reference("files/x.y/1.2.hea")),
        ("records/A1.h5", "hdf5", Reference("records/A1.h5")),
        ("records/A1.h5:ecg", "hdf5", Reference("records/A1.h5", "ecg")),
        ("parts.hdf5:tracings:417", "hdf5", Reference("parts.hdf5", "tracings", 417)),
        ("many.npy:7", "npy", Reference("many.npy", None, 7)),
        ("a:b/1.csv", "csv", Reference("a:b/1.csv")),
    ],
)
def test_references(text: str, form: str, reference: Reference) -> None:
    assert reference_of(text, form) == reference


@pytest.mark.parametrize(("name", "kind"), [("code15", "hdf5"), ("medalcare_xl", "numpy"), ("sph", "hdf5")])
def test_files_are_of_the_form_that_the_package_says(name: str, kind: str) -> None:
    assert meaning_of(config_of(name)).kind == kind


def test_a_line_a_lead_without_names(tmp_path: Path, make_ecg: Callable[..., Any]) -> None:
    ecg = make_ecg(seconds=2.0)
    np.savetxt(tmp_path / "run.csv", ecg.T, delimiter=",")
    meaning = meaning_of(config_of("medalcare_xl"))
    recording = read_signal(tmp_path, Reference("run.csv"), "csv_lead_rows", meaning)
    np.testing.assert_allclose(recording.signal, ecg, atol=1e-6)
    (tmp_path / "run.csv").write_text("1,2,3\n")
    with pytest.raises(Unusable, match="array has not one axis"):
        read_signal(tmp_path, Reference("run.csv"), "csv_lead_rows", meaning)
    (tmp_path / "run.csv").write_text("a,b\n")
    with pytest.raises(Unusable, match="unreadable or not numbers"):
        read_signal(tmp_path, Reference("run.csv"), "csv_lead_rows", meaning)


def test_a_lead_of_another_name_is_not_used() -> None:
    config = replace(config_of("ikem"), lead_names=["I", "ii", "X", "V1"])
    assert meaning_of(config).leads == ["I", "II", "-", "V1"]


def test_eight_leads_determine_the_others(tmp_path: Path, make_ecg: Callable[..., Any]) -> None:
    ecg = make_ecg(seconds=2.0)
    stored = ecg[:, [6, 7, 8, 9, 10, 11, 1, 0]] * 1000  # V1 to V6, II, I in microvolts, as IKEM stores them
    np.save(tmp_path / "many.npy", stored[None])
    recording = read_signal(tmp_path, Reference("many.npy", None, 0), "npy", meaning_of(config_of("ikem")))
    np.testing.assert_allclose(recording.signal[:, [0, 1, 6, 11]], ecg[:, [0, 1, 6, 11]], atol=1e-6)
    np.testing.assert_allclose(recording.signal[:, 2], ecg[:, 1] - ecg[:, 0], atol=1e-6)


def test_limb_electrodes_and_raw_copies_are_not_taken_for_leads(
    tmp_path: Path, make_ecg: Callable[..., Any], write_record: Callable[..., Path]
) -> None:
    config = config_of("wctecgdb")
    ecg = make_ecg(seconds=2.0, fs=800)
    column = {name: LEADS.index(name) for name in config.lead_names if name in LEADS}
    channels = [ecg[:, column[name]] if name in column else ecg[:, 5] * 3 for name in config.lead_names]
    write_record(tmp_path / "seg01", np.stack(channels, axis=1), fs=800, leads=config.lead_names)
    signal = read_signal(tmp_path, Reference("seg01.hea"), "wfdb", meaning_of(config)).signal  # (n, 12)
    measured = list(column.values())
    assert len(measured) == 9
    np.testing.assert_allclose(signal[:, measured], ecg[:, measured], atol=2e-3)
    np.testing.assert_allclose(signal[:, 3], -(signal[:, 0] + signal[:, 1]) / 2, atol=1e-6)
