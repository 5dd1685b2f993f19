"""A physiological ECG simulator, and cohorts of its recordings as datasets (docs/DATA.md).

    dataset = SimulatedDataset("ptb-xl", patients=500, seed=7)
    signal = simulate("LBBB", seed=1)   # (5000, 12) mV

`heart`: waves of a beat and their projection to the leads; `patient`: anatomy, diagnoses and how they change the heart;
`recording`: rhythm, conduction and noise; `machine_reports`: report lines; `cohorts`: datasets.
"""

from benchmark.data.simulate.cohorts import COHORTS, SIMULATOR_VERSION, SimulatedDataset
from benchmark.data.simulate.patient import DIAGNOSES
from benchmark.data.simulate.recording import simulate

__all__ = ["COHORTS", "DIAGNOSES", "SIMULATOR_VERSION", "SimulatedDataset", "simulate"]
