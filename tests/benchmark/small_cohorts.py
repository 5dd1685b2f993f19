"""Sizes of the small simulated cohorts that are prepared once for all tests."""

from __future__ import annotations

from benchmark.data.simulate import SimulatedDataset

PATIENTS = {"mimic-iv-ecg": 6, "ptb-xl": 60, "chapman": 40, "cpsc2018": 40}


def small_cohort(name: str) -> SimulatedDataset:
    """The dataset of a small cohort."""
    return SimulatedDataset(name, PATIENTS[name], recordings_per_patient=2.0)
