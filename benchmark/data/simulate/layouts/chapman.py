"""Chapman in the PhysioNet form (ecg-arrhythmia 1.0.0): WFDBRecords/NN/NNN/JSnnnnn.{hea,mat} with SNOMED codes.

One recording per patient; rhythms in the four groups SB, AFIB, GSVT and SR as often as in Chapman (Zheng et al. 2020).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from benchmark.data.readers.base import LEADS
from benchmark.data.simulate.layouts.layout import (
    Case,
    CohortSettings,
    Layout,
    Row,
    one_recording,
    ten_seconds,
    write_csv,
)
from benchmark.data.simulate.population import Population
from benchmark.data.simulate.wfdb_files import Units, digitise, write_mat

UNITS = Units(1000, "1000/mV")
RECORDS_PER_FOLDER = 100

CONDITIONS: dict[str, tuple[str, str, str]] = {
    "SB": ("SB", "Sinus Bradycardia", "426177001"),
    "SR": ("SR", "Sinus Rhythm", "426783006"),
    "AFIB": ("AFIB", "Atrial Fibrillation", "164889003"),
    "ST": ("ST", "Sinus Tachycardia", "427084000"),
    "AFL": ("AF", "Atrial Flutter", "164890007"),
    "SA": ("SA", "Sinus Irregularity", "427393009"),
    "SVT": ("SVT", "Supraventricular Tachycardia", "426761007"),
    "AVB1": ("1AVB", "1 degree atrioventricular block", "270492004"),
    "AVB2": ("2AVB1", "2 degree atrioventricular block(Type one)", "54016002"),
    "AVB3": ("3AVB", "3 degree atrioventricular block", "27885002"),
    "LBBB": ("LBBB", "left bundle branch block", "164909002"),
    "RBBB": ("RBBB", "right bundle branch block", "59118001"),
    "LAFB": ("ALS", "Axis left shift", "39732003"),
    "LVH": ("LVH", "left ventricle hypertrophy", "164873001"),
    "RVH": ("RVH", "right ventricle hypertrophy", "89792004"),
    "MI-ANT": ("MIFW", "Myocardial infgraction in the front wall", "164865005"),  # spelt so in the real file
    "MI-INF": ("AQW", "abnormal Q wave", "164917005"),
    "MI-LAT": ("MISW", "Myocardial infraction in the side wall", "164865005"),
    "STD": ("STDD", "ST drop down", "429622005"),
    "STE-ANT": ("STE", "ST extension", "164930006"),
    "STE-INF": ("STE", "ST extension", "164930006"),
    "TWI": ("TWO", "T wave opposite", "59931005"),
    "PAC": ("APB", "atrial premature beats", "284470004"),
    "PVC": ("VPB", "ventricular premature beat", "17338001"),
}
"""Diagnosis -> acronym, name and SNOMED CT code of ConditionNames_SNOMED-CT.csv."""

POPULATION = Population(
    conditions={
        "NORM": 0.52,
        "TWI": 0.18,
        "LVH": 0.08,
        "RBBB": 0.045,
        "LBBB": 0.015,
        "LAFB": 0.035,
        "STD": 0.045,
        "AVB1": 0.020,
        "AVB2": 0.001,
        "AVB3": 0.0002,
        "RVH": 0.001,
        "MI-ANT": 0.003,
        "MI-INF": 0.015,
        "MI-LAT": 0.001,
        "STE-ANT": 0.009,
        "STE-INF": 0.008,
        "PAC": 0.022,
        "PVC": 0.025,
    },
    companion=0.20,
    rhythms={"SB": 0.353, "SR": 0.169, "AFIB": 0.176, "ST": 0.146, "SVT": 0.073, "AFL": 0.046, "SA": 0.037},
)


def write_recording(folder: Path, case: Case, settings: CohortSettings, *, first: int = 1) -> Row:
    """Write a recording; `first` is the number of the dataset's first."""
    number = case.number + first
    name = f"JS{number:05d}"
    group = 10 + (number - 1) // RECORDS_PER_FOLDER
    inside = f"WFDBRecords/{group // 10:02d}/{group:03d}"
    rhythm_first = sorted(
        (diagnosis for diagnosis in case.diagnoses if diagnosis in CONDITIONS), key=list(CONDITIONS).index
    )
    notes = (
        f"Age: {case.person.age}",
        f"Sex: {'Female' if case.person.woman else 'Male'}",
        f"Dx: {','.join(CONDITIONS[diagnosis][2] for diagnosis in rhythm_first)}",
        "Rx: Unknown",
        "Hx: Unknown",
        "Sx: Unknown",
    )
    stem = folder / inside / name
    stem.parent.mkdir(parents=True, exist_ok=True)
    write_mat(stem, digitise(case.recorded.signal, UNITS), LEADS, case.fs, UNITS, notes=notes)
    return {"folder": inside, "record": name}


def write_tables(folder: Path, rows: Sequence[Row]) -> None:
    """Write the lists of records and the table of codes."""
    records = defaultdict(list)
    for row in rows:
        records[str(row["folder"])].append(str(row["record"]))
    for inside, names in records.items():
        (folder / inside / "RECORDS").write_text("\n".join(names), encoding="ascii")
    (folder / "RECORDS").write_text("".join(f"{inside}/\n" for inside in records), encoding="ascii")
    columns = ("AcronymName", "FullName", "Snomed_CT")
    codes = (dict(zip(columns, row, strict=True)) for row in dict.fromkeys(CONDITIONS.values()))
    write_csv(folder / "ConditionNames_SNOMED-CT.csv", columns, codes, bom=True)


LAYOUT = Layout(
    population=POPULATION,
    most_patients=10_646,
    mains_hz=50.0,
    visits=one_recording,
    seconds=ten_seconds,
    write_recording=write_recording,
    write_tables=write_tables,
)
