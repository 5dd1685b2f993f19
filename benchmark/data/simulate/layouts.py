"""Simulated cohorts are written in the on-disk forms of the five datasets.

PTB-XL: records500/NNNNN/NNNNN_hr.{hea,dat}, ptbxl_database.csv with SCP codes and folds, scp_statements.csv.

Folds are disjoint in patients and balanced over superclasses, as in the real dataset (Wagner et al. 2020, Sci. Data
7:154); about one patient in eight has more than one recording.

Chapman in the PhysioNet form (ecg-arrhythmia 1.0.0): WFDBRecords/NN/NNN/JSnnnnn.{hea,mat} with SNOMED codes.

One recording per patient; rhythms in the four groups SB, AFIB, GSVT and SR as often as in Chapman (Zheng et al. 2020).

Ningbo in the PhysioNet form, as Chapman, with the numbers from JS10647 on.

Rhythms and conditions are as often as the Challenge 2021 counts them in Ningbo: more bradycardia and flutter than in
Chapman, and no fibrillation.

CPSC2018 in the early Challenge-2020 form: Training_WFDB/Annnn.{hea,mat} with text labels, and REFERENCE.csv.

Nine classes, up to three labels a recording, 6 to 60 seconds, no patient identifiers.

MIMIC-IV-ECG: files/pNNNN/pNNNNNNNN/sNNNNNNNN/NNNNNNNN.{hea,dat}, record_list.csv and machine_measurements.csv.

Several recordings per patient over years, report lines as an ECG machine prints them, aVF before aVL.

Write WFDB records as the four datasets do: text header, and 16-bit samples (.dat) or a MATLAB v4 matrix (.mat).

Format 16 and the header's columns follow the WFDB specification (signal(5), header(5)); a .mat file is a 24-byte
MATLAB level 4 header of one int16 matrix named `val` in front of the same samples, hence the format `16+24`.
Every header ends with a comment that says that the recording is simulated.
"""

from __future__ import annotations

import csv
import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS
from benchmark.data.datasets.ptb_xl import SCP_STATEMENTS
from benchmark.data.datasets.registry import SIMULATED_NOTE
from benchmark.data.simulate.machine_reports import machine_report
from benchmark.data.simulate.patient import Person, Population
from benchmark.data.simulate.recording import Simulated

Row = dict[str, object]
"""One recording in the dataset's tables: column -> value."""


@dataclass(frozen=True)
class CohortSettings:
    """Size and difficulty of a cohort."""

    patients: int
    recordings_per_patient: float = 3.0
    """Mean recordings per patient (geometric). mimic-iv-ecg only: patients of chapman and cpsc2018 have one, one in
    eight of ptb-xl has more."""
    noise: float = 1.0
    """Scale of all noise: 0 none, 1 a routine hospital recording."""
    anatomy: float = 1.0
    """Scale of the differences between patients: 0 none, 1 realistic."""
    severity: float = 1.0
    """Scale of disease changes of a beat's shape: 0 none, 1 as drawn, at most 2. Rhythms and premature beats are not
    scaled."""
    persistence: float = 1.0
    """Share of a patient's later recordings that show conditions of his own; the others show newly drawn ones. 0: no
    finding says whose recording it is, 1: as in patients."""
    report_errors: float = 1.0
    """Scale of error and hedging rates of machine reports: 0 none, 1 as published. mimic-iv-ecg only."""
    records100: bool = False
    """ptb-xl only: also write the recordings at 100 Hz, as the real dataset does."""


@dataclass(frozen=True)
class Case:
    """A simulated recording to write."""

    number: int
    """Position in the cohort, from 0."""
    patient: int
    """Patient's number, from 0."""
    visit: int
    """Number of the patient's recording, from 0."""
    person: Person
    diagnoses: tuple[str, ...]
    recorded: Simulated
    fs: int
    rng: np.random.Generator
    """The recording's random stream, for the writer."""


@dataclass(frozen=True)
class Layout:
    """One dataset's on-disk form."""

    population: Population
    most_patients: int
    """Limit of the dataset's numbering scheme."""
    mains_hz: float
    visits: Callable[[np.random.Generator, CohortSettings], int]
    """Number of recordings of a patient."""
    seconds: Callable[[np.random.Generator], float]
    write_recording: Callable[[Path, Case, CohortSettings], Row]
    """Write a recording's files below the folder; returns its table row."""
    write_tables: Callable[[Path, Sequence[Row]], None]
    tables: int = 0
    """Raised with every change of the tables that alters no signal and no label of the task `default`."""


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]], *, bom: bool = False) -> None:
    """Write rows as CSV with Unix line ends; missing values are empty; `bom` puts a byte-order mark first."""
    with open(path, "w", encoding="utf-8-sig" if bom else "utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, columns, restval="", extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def one_recording(rng: np.random.Generator, settings: CohortSettings) -> int:
    """One recording per patient."""
    return 1


def ten_seconds(rng: np.random.Generator) -> float:
    """Length of a standard resting ECG, seconds."""
    return 10.0


STATEMENT_COLUMNS = (
    *("", "description", "diagnostic", "form", "rhythm", "diagnostic_class", "diagnostic_subclass"),
    *("Statement Category", "SCP-ECG Statement Description", "AHA code", "aECG REFID", "CDISC Code", "DICOM Code"),
)


STATEMENTS: tuple[dict[str, str], ...] = tuple(
    {
        "": own.code,
        "description": own.description,
        **{kind: "1.0" for kind in own.kinds.split()},
        "diagnostic_class": own.superclass,
        "diagnostic_subclass": own.subclass,
        "SCP-ECG Statement Description": own.description,
    }
    for own in SCP_STATEMENTS
)
"""Rows of scp_statements.csv."""
_SUPERCLASS = {own.code: own.superclass for own in SCP_STATEMENTS if own.superclass}
_LIKELIHOODS, _LIKELIHOOD_SHARES = (100.0, 80.0, 50.0, 35.0), (0.70, 0.15, 0.11, 0.04)

CODES: dict[str, tuple[tuple[str, ...], str]] = {
    "NORM": (("NORM",), "normales ekg"),
    "MI-INF": (("IMI",), "alter inferiorer infarkt"),
    "MI-ANT": (("ASMI",), "alter anteroseptaler infarkt"),
    "MI-LAT": (("LMI",), "alter lateraler infarkt"),
    "RVH": (("RVH",), "rechtshypertrophie"),
    "LVH": (("LVH",), "linkshypertrophie"),
    "LAFB": (("LAFB",), "linksanteriorer hemiblock"),
    "LBBB": (("CLBBB",), "kompletter linksschenkelblock"),
    "RBBB": (("CRBBB",), "kompletter rechtsschenkelblock"),
    "AVB1": (("1AVB",), "av-block i. grades"),
    "AVB2": (("2AVB",), "av-block ii. grades, typ wenckebach"),
    "AVB3": (("3AVB",), "av-block iii. grades"),
    "TWI": (("NDT", "INVT"), "unspezifisch abnormales t"),
    "STD": (("ISCAL", "STD_"), "st-senkung, anterolaterale ischämie möglich"),
    "STE-ANT": (("INJAS", "STE_"), "st-hebung anteroseptal"),
    "STE-INF": (("INJIN", "STE_"), "st-hebung inferior"),
    "PVC": (("PVC",), "ventrikuläre extrasystole(n)"),
    "PAC": (("PAC",), "supraventrikuläre extrasystole(n)"),
    "SR": (("SR",), "sinusrhythmus"),
    "SB": (("SBRAD",), "sinusbradykardie"),
    "ST": (("STACH",), "sinustachykardie"),
    "SA": (("SARRH",), "sinusarrhythmie"),
    "AFIB": (("AFIB",), "vorhofflimmern"),
    "AFL": (("AFLT",), "vorhofflattern"),
    "SVT": (("SVTAC",), "supraventrikuläre tachykardie"),
}
"""Diagnosis -> SCP codes and words of the (mostly German) report."""
_RHYTHM_CODES = {own.code for own in SCP_STATEMENTS if own.kinds == "rhythm"}
INSTEAD: dict[str, tuple[tuple[str, float], ...]] = {
    "MI-INF": (("ILMI", 0.12), ("IPMI", 0.03), ("IPLMI", 0.03), ("PMI", 0.03)),
    "MI-ANT": (("AMI", 0.15), ("ALMI", 0.12), ("INJAL", 0.03), ("INJLA", 0.02)),
    "LAFB": (("LPFB", 0.08), ("IVCD", 0.12)),
    "LBBB": (("ILBBB", 0.10), ("IVCD", 0.10), ("WPW", 0.08)),
    "RBBB": (("IRBBB", 0.40), ("IVCD", 0.05)),
    "STD": (
        *(("ISC_", 0.20), ("ISCIN", 0.10), ("ISCIL", 0.08), ("ISCAS", 0.08), ("ISCLA", 0.05), ("ISCAN", 0.04)),
        *(("NST_", 0.15),),
    ),
    "STE-INF": (("INJIL", 0.30),),
    "LVH": (("SEHYP", 0.03),),
    "TWI": (("LNGQT", 0.06), ("DIG", 0.06), ("ANEUR", 0.03), ("EL", 0.03)),
    "SVT": (("PSVT", 0.20), ("SVARR", 0.10)),
}
"""Diagnosis -> codes that stand in place of its first one, and how often; each of the same superclass."""
FURTHER: dict[str, tuple[tuple[str, float], ...]] = {
    **{name: (("QWAVE", 0.30), ("ABQRS", 0.20)) for name in ("MI-INF", "MI-ANT", "MI-LAT")},
    "TWI": (("NT_", 0.30), ("LOWT", 0.25), ("TAB_", 0.06), ("LVOLT", 0.05)),
    "LVH": (("VCLVH", 0.50), ("HVOLT", 0.10), ("LAO/LAE", 0.20)),
    "RVH": (("RAO/RAE", 0.40),),
    **{name: (("ABQRS", 0.20),) for name in ("LBBB", "RBBB")},
    "AVB1": (("LPR", 0.40),),
    "AVB3": (("PACE", 0.50),),
    "PVC": (("BIGU", 0.12), ("TRIGU", 0.08), ("PRC(S)", 0.05)),
    "PAC": (("SVARR", 0.15), ("PRC(S)", 0.05)),
}
"""Diagnosis -> codes that stand beside its own, and how often; those that are diagnostic have its superclass."""


def scp_codes(diagnoses: tuple[str, ...], rng: np.random.Generator) -> dict[str, float]:
    """SCP code -> likelihood in percent; forms and rhythms have 0 ('not stated'), as in PTB-XL.

    Which finer codes stand instead of a diagnosis's own or beside it is drawn from a stream of its own, whatever the
    signal shows: superclasses, folds and all other cells of the tables are those of the diagnoses.
    """
    likelihoods = rng.choice(_LIKELIHOODS, size=len(diagnoses), p=_LIKELIHOOD_SHARES)
    (finer,) = rng.spawn(1)  # takes no number of the recording's stream
    own: dict[str, float] = {}
    beside: dict[str, float] = {}
    for name, likelihood in zip(diagnoses, likelihoods, strict=True):
        (first, *others), instead = CODES[name][0], dict(INSTEAD.get(name, ()))
        drawn = np.searchsorted(np.cumsum(list(instead.values())), finer.random(), side="right")
        for code in ([*instead, first][drawn], *others):
            own[code] = float(likelihood) if code in _SUPERCLASS else 0.0
        for code, share in FURTHER.get(name, ()):
            if finer.random() < share:
                beside[code] = float(likelihood) if code in _SUPERCLASS else 0.0
    return own | {code: likelihood for code, likelihood in beside.items() if code not in own}


def superclasses(codes: dict[str, float]) -> tuple[str, ...]:
    """Diagnostic superclasses of the codes, each once."""
    return tuple(dict.fromkeys(_SUPERCLASS[code] for code in codes if code in _SUPERCLASS))


def german_report(diagnoses: tuple[str, ...]) -> str:
    """Report text: the rhythm first, then the findings."""
    ordered = sorted(diagnoses, key=lambda name: CODES[name][0][0] not in _RHYTHM_CODES)
    return " ".join(CODES[name][1] for name in ordered)


MATLAB_INT16 = 30
"""MATLAB v4 type number: little-endian, int16, full matrix."""


class Units(NamedTuple):
    """Digital units of a dataset."""

    per_mv: int
    text: str
    """Gain field of the header, e.g. '1000.0(0)/mV'."""


def digitise(signal: NDArray[np.float32], units: Units) -> NDArray[np.int16]:
    """Signal in mV -> converter steps, (n, L) int16, saturated."""
    return np.clip(np.rint(signal * units.per_mv), -32767, 32767).astype("<i2", order="C")


def write_dat(
    stem: Path,
    digital: NDArray[np.int16],
    leads: Sequence[str],
    fs: int,
    units: Units,
    *,
    start: str = "",
    note: str = "",
) -> None:
    """Write `stem`.dat and `stem`.hea.

    Args:
        stem: path without extension; its last part is the record's name.
        digital: (n, L) int16.
        leads: L names.
        fs: sampling rate in Hz.
        units: gain.
        start: time and date for the first line, as in '08:44:00 23/07/2180'.
        note: comment line without its '#'.
    """
    stem.with_name(f"{stem.name}.dat").write_bytes(digital.tobytes())
    sums = digital.sum(axis=0, dtype=np.int64) & 0xFFFF  # unsigned in these datasets
    file = f"{stem.name}.dat 16"
    lines = _header(stem.name, file, digital, sums.tolist(), leads, fs, units, start)
    _write_header(stem, [*lines, *([f"#{note}"] if note else [])])


def write_mat(
    stem: Path,
    digital: NDArray[np.int16],
    leads: Sequence[str],
    fs: int,
    units: Units,
    *,
    start: str = "",
    notes: Sequence[str],
) -> None:
    """Write `stem`.mat and `stem`.hea; arguments as in `write_dat`, `notes` are comment lines without their '#'."""
    shape = struct.pack("<5i4s", MATLAB_INT16, digital.shape[1], digital.shape[0], 0, 4, b"val\0")
    stem.with_name(f"{stem.name}.mat").write_bytes(shape + digital.tobytes())
    sums = digital.sum(axis=0, dtype=np.int64).astype(np.int16)  # signed in these datasets
    file = f"{stem.name}.mat 16+24"
    lines = _header(stem.name, file, digital, sums.tolist(), leads, fs, units, start)
    _write_header(stem, [*lines, *(f"#{note}" for note in notes)])


def _header(
    record: str,
    file: str,
    digital: NDArray[np.int16],
    sums: Sequence[int],
    leads: Sequence[str],
    fs: int,
    units: Units,
    start: str,
) -> list[str]:
    samples, count = digital.shape
    first = digital[0].tolist()
    lines = [f"{record} {count} {fs} {samples} {start}".rstrip()]
    for lead, value, total in zip(leads, first, sums, strict=True):
        lines.append(f"{file} {units.text} 16 0 {value} {total} 0 {lead}")
    return lines


def _write_header(stem: Path, lines: Sequence[str]) -> None:
    text = "\n".join([*lines, f"#{SIMULATED_NOTE}"]) + "\n"
    stem.with_name(f"{stem.name}.hea").write_text(text, encoding="ascii", newline="\n")


PTB_XL_UNITS = Units(1000, "1000.0(0)/mV")
LEAD_NAMES = tuple(lead.upper() for lead in LEADS)
FOLDS = 10
RARE_FIRST = ("HYP", "CD", "MI", "STTC", "NORM")

DATABASE_COLUMNS = (
    *("ecg_id", "patient_id", "age", "sex", "height", "weight", "nurse", "site", "device", "recording_date", "report"),
    *("scp_codes", "heart_axis", "infarction_stadium1", "infarction_stadium2", "validated_by", "second_opinion"),
    *("initial_autogenerated_report", "validated_by_human", "baseline_drift", "static_noise", "burst_noise"),
    *("electrodes_problems", "extra_beats", "pacemaker", "strat_fold", "filename_lr", "filename_hr"),
)

PTB_XL_POPULATION = Population(
    conditions={
        "NORM": 0.440,
        "MI-INF": 0.082,
        "MI-ANT": 0.082,
        "MI-LAT": 0.012,
        "TWI": 0.122,
        "STD": 0.092,
        "LVH": 0.036,
        "RVH": 0.005,
        "LAFB": 0.040,
        "RBBB": 0.027,
        "LBBB": 0.024,
        "AVB1": 0.022,
        "AVB2": 0.0005,
        "AVB3": 0.0005,
        "AFIB": 0.010,
        "PVC": 0.010,
        "PAC": 0.005,
        "STE-ANT": 0.005,
        "STE-INF": 0.005,
    },
    companion=0.45,
    rhythms={"SR": 0.87, "SB": 0.035, "ST": 0.042, "SA": 0.040, "AFIB": 0.006, "AFL": 0.003, "SVT": 0.004},
    affinities={
        **{(first, "LVH"): 6.5 for first in ("TWI", "STD")},
        **{("LVH", further): 2.0 for further in ("TWI", "STD")},
        **{(first, further): 3.0 for first in ("MI-ANT", "MI-INF") for further in ("LAFB", "RBBB", "AVB1")},
    },
)
"""Superclasses alone and together about as often as in PTB-XL 1.0.3 (docs/SIMULATOR.md compares them)."""


def _ptb_xl_visits(rng: np.random.Generator, settings: CohortSettings) -> int:
    return 1 + int(np.searchsorted([0.875, 0.975, 0.993], rng.random()))


def _write_ptb_xl_recording(folder: Path, case: Case, settings: CohortSettings) -> Row:
    number = case.number + 1
    group = f"{number // 1000 * 1000:05d}"
    low, high = f"records100/{group}/{number:05d}_lr", f"records500/{group}/{number:05d}_hr"
    signal = case.recorded.signal
    _write_signal(folder / high, signal, case.fs)
    if settings.records100:
        from scipy.signal import resample_poly  # here, because it loads slowly

        _write_signal(folder / low, resample_poly(signal, 100, case.fs, axis=0, padtype="line"), 100)
    codes = scp_codes(case.diagnoses, case.rng)
    return {
        "ecg_id": number,
        "patient_id": f"{1 + case.patient * 7_919 % 99_991}.0",
        "age": f"{case.person.age + case.visit}.0",
        "sex": int(case.person.woman),
        "nurse": f"{case.rng.integers(0, 12)}.0",
        "site": f"{case.rng.integers(0, 3)}.0",
        "device": str(case.rng.choice(["CS-12   E", "CS100    3", "AT-6 C 5.5"])),
        "recording_date": _date_of(case),
        "report": german_report(case.diagnoses),
        "scp_codes": repr(codes),
        "validated_by": "",
        "second_opinion": False,
        "initial_autogenerated_report": False,
        "validated_by_human": True,
        "filename_lr": low,
        "filename_hr": high,
        "superclasses": " ".join(superclasses(codes)),
    }


def _write_signal(stem: Path, signal: NDArray[np.float32], fs: int) -> None:
    stem.parent.mkdir(parents=True, exist_ok=True)
    write_dat(stem, digitise(signal, PTB_XL_UNITS), LEAD_NAMES, fs, PTB_XL_UNITS)


def _date_of(case: Case) -> str:
    first = datetime(1984, 11, 1) + timedelta(days=case.patient * 37 % 4_000)
    return str(first + timedelta(days=60 * case.visit, seconds=int(case.rng.integers(8 * 3600, 17 * 3600))))


def _write_ptb_xl_tables(folder: Path, rows: Sequence[Row]) -> None:
    folds = _folds(rows)
    numbered = ({**row, "strat_fold": folds[str(row["patient_id"])]} for row in rows)
    write_csv(folder / "ptbxl_database.csv", DATABASE_COLUMNS, numbered)
    write_csv(folder / "scp_statements.csv", STATEMENT_COLUMNS, STATEMENTS)


def _folds(rows: Sequence[Row]) -> dict[str, int]:
    """Patient -> fold; each patient, in order, gets the fold in which their rarest superclass is rarest so far.

    A fold depends only on earlier patients, so a larger cohort keeps it.
    """
    classes: dict[str, set[str]] = {}
    for row in rows:
        classes.setdefault(str(row["patient_id"]), set()).update(str(row["superclasses"]).split())
    filled: Counter[tuple[str, int]] = Counter()
    folds = {}
    for number, (patient, found_classes) in enumerate(classes.items()):
        rarest = next((name for name in RARE_FIRST if name in found_classes), "none")
        fold = min(range(1, FOLDS + 1), key=lambda f: (filled[rarest, f], filled["all", f], (f + number) % FOLDS))
        folds[patient] = fold
        filled.update((name, fold) for name in {*found_classes, rarest, "all"})
    return folds


PTB_XL_LAYOUT = Layout(
    population=PTB_XL_POPULATION,
    most_patients=99_000,
    mains_hz=50.0,
    visits=_ptb_xl_visits,
    seconds=ten_seconds,
    write_recording=_write_ptb_xl_recording,
    write_tables=_write_ptb_xl_tables,
    tables=1,
)


CHAPMAN_UNITS = Units(1000, "1000/mV")
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

CHAPMAN_POPULATION = Population(
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
    write_mat(stem, digitise(case.recorded.signal, CHAPMAN_UNITS), LEADS, case.fs, CHAPMAN_UNITS, notes=notes)
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


CHAPMAN_LAYOUT = Layout(
    population=CHAPMAN_POPULATION,
    most_patients=10_646,
    mains_hz=50.0,
    visits=one_recording,
    seconds=ten_seconds,
    write_recording=write_recording,
    write_tables=write_tables,
)


FIRST, LAST = 10_647, 45_551

NINGBO_POPULATION = Population(
    conditions={
        "NORM": 0.57,
        "TWI": 0.22,
        "LVH": 0.018,
        "RBBB": 0.037,
        "LBBB": 0.007,
        "LAFB": 0.033,
        "STD": 0.036,
        "AVB1": 0.025,
        "AVB2": 0.001,
        "AVB3": 0.0002,
        "RVH": 0.001,
        "MI-ANT": 0.002,
        "MI-INF": 0.024,
        "STE-ANT": 0.011,
        "STE-INF": 0.011,
        "PAC": 0.030,
        "PVC": 0.031,
    },
    companion=0.15,
    rhythms={"SB": 0.363, "SR": 0.181, "AFL": 0.218, "ST": 0.163, "SA": 0.073, "SVT": 0.004},
)

NINGBO_LAYOUT = replace(
    CHAPMAN_LAYOUT,
    population=NINGBO_POPULATION,
    most_patients=LAST - FIRST + 1,
    write_recording=partial(write_recording, first=FIRST),
)


CPSC2018_UNITS = Units(1000, "1000/mV")
CLASSES: dict[str, tuple[int, str]] = {
    "NORM": (1, "Normal"),
    "AFIB": (2, "AF"),
    "AVB1": (3, "I-AVB"),
    "LBBB": (4, "LBBB"),
    "RBBB": (5, "RBBB"),
    "PAC": (6, "PAC"),
    "PVC": (7, "PVC"),
    "STD": (8, "STD"),
    "STE-ANT": (9, "STE"),
    "STE-INF": (9, "STE"),
}
"""Diagnosis -> code in REFERENCE.csv and label in the header."""

CPSC2018_POPULATION = Population(
    conditions={
        "NORM": 918,
        "AFIB": 1098,
        "AVB1": 704,
        "LBBB": 207,
        "RBBB": 1695,
        "PAC": 574,
        "PVC": 653,
        "STD": 826,
        "STE-ANT": 110,
        "STE-INF": 92,
    },
    companion=0.08,
    rhythms={"SR": 1.0},
)
"""First labels as often as in the real REFERENCE.csv, where 7 % of the recordings have a second label."""


def _seconds(rng: np.random.Generator) -> float:
    shortest, longest = ((6, 9.5), (9.5, 15), (15, 35), (35, 60))[
        int(np.searchsorted([0.02, 0.77, 0.96], rng.random()))
    ]
    return round(2 * rng.uniform(shortest, longest)) / 2


def _write_cpsc2018_recording(folder: Path, case: Case, settings: CohortSettings) -> Row:
    name = f"A{case.number + 1:04d}"
    labels = [CLASSES[diagnosis] for diagnosis in case.diagnoses if diagnosis in CLASSES][:3]
    notes = (
        f"Age: {case.person.age}",
        f"Sex: {'Female' if case.person.woman else 'Male'}",
        f"Dx: {','.join(text for _, text in labels)}",
        "Rx: Unknown",
        "Hx: Unknown",
        "Sx: Unknows",  # spelt so in the real files
    )
    stem = folder / "Training_WFDB" / name
    stem.parent.mkdir(parents=True, exist_ok=True)
    digital = digitise(case.recorded.signal, CPSC2018_UNITS)  # (n, 12)
    write_mat(stem, digital, LEADS, case.fs, CPSC2018_UNITS, start="05-Feb-2020 11:39:16", notes=notes)
    columns = ("First_label", "Second_label", "Third_label")
    return {"Recording": name, **{column: code for column, (code, _) in zip(columns, labels, strict=False)}}


def _write_cpsc2018_tables(folder: Path, rows: Sequence[Row]) -> None:
    write_csv(folder / "REFERENCE.csv", ("Recording", "First_label", "Second_label", "Third_label"), rows)


CPSC2018_LAYOUT = Layout(
    population=CPSC2018_POPULATION,
    most_patients=9_999,
    mains_hz=50.0,
    visits=one_recording,
    seconds=_seconds,
    write_recording=_write_cpsc2018_recording,
    write_tables=_write_cpsc2018_tables,
)


MIMIC_UNITS = Units(200, "200.0(0)/mV")
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

MIMIC_POPULATION = Population(
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


def _mimic_visits(rng: np.random.Generator, settings: CohortSettings) -> int:
    return min(MOST_VISITS, int(rng.geometric(1.0 / settings.recordings_per_patient)))


def _subject(patient: int) -> int:
    """Eight-digit number, spread over p1000-p1099; distinct for 100,000 patients."""
    return 10_000_000 + 10 * (patient * 61_803 % 100_000) + patient % 10


def _study(case: Case) -> int:
    """Eight-digit number; a multiplication modulo a prime keeps (patient, visit) pairs apart."""
    return 40_000_000 + (64 * case.patient + case.visit + 1) * 7_368_787 % 9_999_991


def _write_mimic_recording(folder: Path, case: Case, settings: CohortSettings) -> Row:
    subject, study = _subject(case.patient), _study(case)
    inside = f"files/p{subject // 10_000}/p{subject}/s{study}"
    when = _time_of(case)
    stem = folder / inside / str(study)
    stem.parent.mkdir(parents=True)
    ordered = case.recorded.signal[:, [LEADS.index(lead) for lead in LEAD_ORDER]]  # (n, 12)
    start = when.strftime("%H:%M:%S %d/%m/%Y")
    write_dat(
        stem,
        digitise(ordered, MIMIC_UNITS),
        LEAD_ORDER,
        case.fs,
        MIMIC_UNITS,
        start=start,
        note=f" <subject_id>: {subject}",
    )
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


def _write_mimic_tables(folder: Path, rows: Sequence[Row]) -> None:
    by_subject = sorted(rows, key=lambda row: (str(row["subject_id"]), str(row["ecg_time"])))
    write_csv(folder / "record_list.csv", RECORD_COLUMNS, by_subject)
    write_csv(folder / "machine_measurements.csv", MEASUREMENT_COLUMNS, by_subject)


MIMIC_LAYOUT = Layout(
    population=MIMIC_POPULATION,
    most_patients=100_000,
    mains_hz=60.0,
    visits=_mimic_visits,
    seconds=ten_seconds,
    write_recording=_write_mimic_recording,
    write_tables=_write_mimic_tables,
)


LAYOUTS: Mapping[str, Layout] = MappingProxyType(  # in this order: a cohort's place seeds its streams
    {
        "mimic-iv-ecg": MIMIC_LAYOUT,
        "ptb-xl": PTB_XL_LAYOUT,
        "chapman": CHAPMAN_LAYOUT,
        "cpsc2018": CPSC2018_LAYOUT,
        "ningbo": NINGBO_LAYOUT,
    }
)
