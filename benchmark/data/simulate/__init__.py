"""A physiological ECG simulator that writes cohorts in the on-disk forms of the four real datasets.

    write_cohort("ptb-xl", Path("data/ptb-xl"), CohortSettings(patients=500), seed=7)
    signal = simulate("LBBB", seed=1)   # (5000, 12) mV

In: a diagnosis or cohort settings, and a seed. Out: signals in mV, or dataset folders.
Modules: `heart` (waves of a beat, and their projection to the leads), `patient` (anatomy, diagnoses and how they change
the heart), `recording` (rhythm, conduction and noise of one ECG), `machine_reports` (report lines), `layouts` (file
forms), `cohort` (dataset folders). Documentation: docs/SIMULATOR.md.
"""

from __future__ import annotations

from benchmark.data.simulate.cohort import COHORTS, SIMULATOR_VERSION, read_sums, versions_of, write_cohort
from benchmark.data.simulate.layouts import CohortSettings
from benchmark.data.simulate.patient import DIAGNOSES
from benchmark.data.simulate.recording import Simulated, record, simulate

__all__ = [
    "COHORTS",
    "DIAGNOSES",
    "SIMULATOR_VERSION",
    "CohortSettings",
    "Simulated",
    "read_sums",
    "record",
    "simulate",
    "versions_of",
    "write_cohort",
]
