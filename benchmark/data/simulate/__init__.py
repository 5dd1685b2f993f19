"""A physiological ECG simulator that writes cohorts in the on-disk forms of the four real datasets.

    write_cohort("ptb-xl", Path("data/ptb-xl"), CohortSettings(patients=500), seed=7)
    signal = simulate("LBBB", seed=1)   # (5000, 12) mV

From the dipole outwards: `dipole` (waves to leads), `heart` (one healthy beat), `pathology` (what diseases change),
`anatomy` (one patient), `rhythm` and `conduction` (when atria and ventricles beat), `noise`, `recording` (all of it in
one ECG), `population` (who has what), `layouts` (how each dataset is written), `cohort` (patients to folders).
docs/SIMULATOR.md shows all of it.
"""

from __future__ import annotations

from benchmark.data.simulate.cohort import COHORTS, SIMULATOR_VERSION, write_cohort
from benchmark.data.simulate.diagnoses import DIAGNOSES
from benchmark.data.simulate.layouts.layout import CohortSettings
from benchmark.data.simulate.recording import Simulated, record, simulate

__all__ = [
    "COHORTS",
    "DIAGNOSES",
    "SIMULATOR_VERSION",
    "CohortSettings",
    "Simulated",
    "record",
    "simulate",
    "write_cohort",
]
