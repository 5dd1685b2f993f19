"""MIMIC-IV-ECG: files/pNNNN/pNNNNNNNN/sNNNNNNNN/NNNNNNNN.{hea,dat}, record_list.csv and machine_measurements.csv.

Several recordings per patient over years, report lines as an ECG machine prints them, aVF before aVL.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from benchmark.data.readers.base import LEADS
from benchmark.data.simulate.layouts.layout import Case, CohortSettings, Layout, Row, ten_seconds, write_csv
from benchmark.data.simulate.layouts.machine_report import machine_report
from benchmark.data.simulate.population import Population
from benchmark.data.simulate.recording import Simulated
from benchmark.data.simulate.wfdb_files import Units, digitise, write_dat

UNITS = Units(200, "200.0(0)/mV")
LEAD_ORDER: tuple[str, ...] = ("I", "II", "III", "aVR", "aVF", "aVL", "V1", "V2", "V3", "V4", "V5", "V6")
MOST_VISITS = 60
REPORT_LINES = 18
NOT_MEASURED = 29999
"""Value of a measurement for an absent wave."""
QRS_ONSET_MS = 200
"""QRS onset in the machine's averaged beat, ms."""

RECORD_COLUMNS = ("subject_id", "study_id", "file_name", "ecg_time", "path")
MEASUREMENT_COLUMNS = (
    *("subject_id", "study_id", "cart_id", "ecg_time"),
    *(f"report_{line}" for line in range(REPORT_LINES)),
    *("bandwidth", "filtering", "rr_interval", "p_onset", "p_end", "qrs_onset", "qrs_end", "t_end"),
    *("p_axis", "qrs_axis", "t_axis"),
)

POPULATION = Population(
    conditions={
        "NORM": 0.36,
        "AFIB": 0.10,
        "TWI": 0.09,
        "STD": 0.06,
        "MI-INF": 0.065,
        "MI-ANT": 0.05,
        "MI-LAT": 0.01,
        "LVH": 0.07,
        "RVH": 0.008,
        "RBBB": 0.05,
        "LBBB": 0.035,
        "LAFB": 0.045,
        "AVB1": 0.04,
        "AVB2": 0.003,
        "AVB3": 0.002,
        "PVC": 0.03,
        "PAC": 0.03,
        "STE-ANT": 0.01,
        "STE-INF": 0.01,
    },
    companion=0.35,
    rhythms={"SR": 0.66, "SB": 0.11, "ST": 0.15, "SA": 0.02, "AFIB": 0.03, "AFL": 0.015, "SVT": 0.015},
)


def _visits(rng: np.random.Generator, settings: CohortSettings) -> int:
    return min(MOST_VISITS, int(rng.geometric(1.0 / settings.recordings_per_patient)))


def _subject(patient: int) -> int:
    """Eight-digit number, spread over p1000-p1099; distinct for 100,000 patients."""
    return 10_000_000 + 10 * (patient * 61_803 % 100_000) + patient % 10


def _study(case: Case) -> int:
    """Eight-digit number; a multiplication modulo a prime keeps (patient, visit) pairs apart."""
    return 40_000_000 + (64 * case.patient + case.visit + 1) * 7_368_787 % 9_999_991


def _write_recording(folder: Path, case: Case, settings: CohortSettings) -> Row:
    subject, study = _subject(case.patient), _study(case)
    inside = f"files/p{subject // 10_000}/p{subject}/s{study}"
    when = _time_of(case)
    stem = folder / inside / str(study)
    stem.parent.mkdir(parents=True)
    ordered = case.recorded.signal[:, [LEADS.index(lead) for lead in LEAD_ORDER]]  # (n, 12)
    start = when.strftime("%H:%M:%S %d/%m/%Y")
    write_dat(stem, digitise(ordered, UNITS), LEAD_ORDER, case.fs, UNITS, start=start, note=f" <subject_id>: {subject}")
    lines = machine_report(case.diagnoses, case.recorded.rate, case.rng, settings.report_errors)
    return {
        "subject_id": subject,
        "study_id": study,
        "file_name": study,
        "ecg_time": when.strftime("%Y-%m-%d %H:%M:%S"),
        "path": f"{inside}/{study}",
        "cart_id": int(6_840_000 + case.rng.integers(0, 40_000)),
        **{f"report_{i}": line for i, line in enumerate(lines[:REPORT_LINES])},
        "bandwidth": "0.005-150 Hz",
        "filtering": "60 Hz notch Baseline filter",
        **_measurements(case.recorded),
    }


def _time_of(case: Case) -> datetime:
    """Dates are shifted into the future, as in MIMIC; intervals between visits grow."""
    first = datetime(2110, 1, 1) + timedelta(hours=case.patient * 7_919 % 700_000)
    return first + timedelta(days=41 * case.visit + case.visit**2, minutes=int(case.rng.integers(0, 12 * 60)))


def _measurements(recorded: Simulated) -> Row:
    p_onset, p_end = NOT_MEASURED, NOT_MEASURED
    if recorded.pr is not None:
        p_onset = max(0, round(QRS_ONSET_MS - 1000 * recorded.pr))
        p_end = p_onset + min(106, QRS_ONSET_MS - p_onset - 8)
    return {
        "rr_interval": round(60_000 / recorded.rate),
        "p_onset": p_onset,
        "p_end": p_end,
        "qrs_onset": QRS_ONSET_MS,
        "qrs_end": QRS_ONSET_MS + round(1000 * recorded.qrs),
        "t_end": QRS_ONSET_MS + round(1000 * recorded.qt),
        **{f"{wave.lower()}_axis": round(recorded.axes.get(wave, NOT_MEASURED)) for wave in ("P", "QRS", "T")},
    }


def _write_tables(folder: Path, rows: Sequence[Row]) -> None:
    by_subject = sorted(rows, key=lambda row: (str(row["subject_id"]), str(row["ecg_time"])))
    write_csv(folder / "record_list.csv", RECORD_COLUMNS, by_subject)
    write_csv(folder / "machine_measurements.csv", MEASUREMENT_COLUMNS, by_subject)


LAYOUT = Layout(
    population=POPULATION,
    most_patients=100_000,
    mains_hz=60.0,
    visits=_visits,
    seconds=ten_seconds,
    write_recording=_write_recording,
    write_tables=_write_tables,
)
