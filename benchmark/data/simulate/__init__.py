"""A physiological ECG simulator that writes cohorts in the on-disk forms of the four real datasets.

    write_cohort("ptb-xl", Path("data/ptb-xl"), CohortSettings(patients=500), seed=7)
    signal = simulate("LBBB", seed=1)   # (5000, 12) mV

In: a diagnosis or cohort settings, and a seed. Out: signals in mV, or dataset folders.
Modules: `dipole` (waves to leads), `heart` (a healthy beat), `pathology` (changes by disease), `anatomy` (a patient),
`rhythm` and `conduction` (beat times), `noise`, `recording` (one ECG), `population` (prevalences), `layouts` (file
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
