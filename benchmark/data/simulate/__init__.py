"""A physiological ECG simulator, and cohorts of its recordings as datasets.

    dataset = SimulatedDataset("ptb-xl", CohortSettings(patients=500, seed=7))
    signal = simulate("LBBB", seed=1)   # (5000, 12) mV

In: a diagnosis or cohort settings, and a seed. Out: signals in mV, or datasets that draw them.
Modules: `heart` (waves of a beat, and their projection to the leads), `patient` (anatomy, diagnoses and how they change
the heart), `recording` (rhythm, conduction and noise of one ECG), `machine_reports` (report lines), `cohorts`
(datasets). Documentation: docs/DATA.md.
"""

from __future__ import annotations

from benchmark.data.simulate.cohorts import COHORTS, SIMULATOR_VERSION, CohortSettings, SimulatedDataset
from benchmark.data.simulate.patient import DIAGNOSES
from benchmark.data.simulate.recording import Simulated, record, simulate

__all__ = [
    "COHORTS",
    "DIAGNOSES",
    "SIMULATOR_VERSION",
    "CohortSettings",
    "Simulated",
    "SimulatedDataset",
    "record",
    "simulate",
]
