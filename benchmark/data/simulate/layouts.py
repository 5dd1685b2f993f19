"""Simulated cohorts are written in the on-disk forms of the five datasets.

PTB-XL: records500/NNNNN/NNNNN_hr.{hea,dat}, ptbxl_database.csv with SCP codes and folds, scp_statements.csv. Folds are
disjoint in patients and balanced over superclasses, as in the real dataset (Wagner et al. 2020, Sci. Data 7:154); about
one patient in eight has more than one recording.

Chapman in the PhysioNet form (ecg-arrhythmia 1.0.0): WFDBRecords/NN/NNN/JSnnnnn.{hea,mat} with SNOMED codes, one
recording per patient; rhythms in the four groups SB, AFIB, GSVT and SR as often as in Chapman (Zheng et al. 2020).

Ningbo in the same form, with the numbers from JS10647 on. Rhythms and conditions are as often as the Challenge 2021
counts them there: more bradycardia and flutter than in Chapman, and no fibrillation.

CPSC2018 in the early Challenge-2020 form: Training_WFDB/Annnn.{hea,mat} with text labels, and REFERENCE.csv; nine
classes, up to three labels a recording, 6 to 60 seconds, no patient identifiers.

MIMIC-IV-ECG: files/pNNNN/pNNNNNNNN/sNNNNNNNN/NNNNNNNN.{hea,dat}, record_list.csv and machine_measurements.csv; several
recordings per patient over years, report lines as an ECG machine prints them, aVF before aVL.
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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS
from benchmark.data.datasets.ptb_xl import SCP_STATEMENTS
from benchmark.data.datasets.registry import SIMULATED_NOTE
from benchmark.data.simulate.machine_reports import machine_report
from benchmark.data.simulate.patient import Person, Population
from benchmark.data.simulate.recording import Simulated

Row = dict[str, Any]
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
    write_recording: Callable[[Path, Case, CohortSettings], Row]
    """Write a recording's files below the folder; returns its table row."""
    write_tables: Callable[[Path, Sequence[Row]], None]
    mains_hz: float = 50.0
    visits: Callable[[np.random.Generator, CohortSettings], int] = lambda rng, settings: 1
    """Number of recordings of a patient."""
    seconds: Callable[[np.random.Generator], float] = lambda rng: 10.0
    tables: int = 0
    """Raised with every change of the tables that alters no signal and no label of the task `default`."""


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]], *, bom: bool = False) -> None:
    """Write rows as CSV with Unix line ends; missing values are empty; `bom` puts a byte-order mark first."""
    with open(path, "w", encoding="utf-8-sig" if bom else "utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, columns, restval="", extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


MATLAB_INT16 = 30
"""MATLAB v4 type number: little-endian, int16, full matrix."""


def write_record(
    stem: Path,
    signal: NDArray[np.float32],
    leads: Sequence[str],
    fs: int,
    *,
    per_mv: int = 1000,
    matlab: bool = False,
    start: str = "",
    notes: Sequence[str] = (),
) -> None:
    """Write a WFDB record of format 16, and its header; the last comment says that the recording is simulated.

    Header and format follow the WFDB specification (signal(5), header(5)). A .mat file is a 24-byte MATLAB level 4
    header of one int16 matrix named `val` in front of the same samples, hence the format `16+24`.

    Args:
        stem: path without extension; its last part is the record's name.
        signal: (n, L) mV; values beyond the 16 bits are saturated.
        leads: L names.
        fs: sampling rate in Hz.
        per_mv: converter steps per mV.
        matlab: write `stem`.mat in place of `stem`.dat.
        start: time and date for the first line, as in '08:44:00 23/07/2180'.
        notes: comment lines without their '#'.
    """
    digital = np.clip(np.rint(signal * per_mv), -32767, 32767).astype("<i2", order="C")  # (n, L)
    samples, count = digital.shape
    total = digital.sum(axis=0, dtype=np.int64)  # (L,)
    stem.parent.mkdir(parents=True, exist_ok=True)
    if matlab:
        head, form, gain, sums = struct.pack("<5i4s", MATLAB_INT16, count, samples, 0, 4, b"val\0"), "16+24", "", "<i2"
    else:
        head, form, gain, sums = b"", "16", ".0(0)", "<u2"
    data = stem.with_name(f"{stem.name}.{'mat' if matlab else 'dat'}")
    data.write_bytes(head + digital.tobytes())
    lines = [f"{stem.name} {count} {fs} {samples} {start}".rstrip()]
    for lead, first, checksum in zip(leads, digital[0], total.astype(sums), strict=True):
        lines.append(f"{data.name} {form} {per_mv}{gain}/mV 16 0 {first} {checksum} 0 {lead}")
    lines += [f"#{note}" for note in (*notes, SIMULATED_NOTE)]
    stem.with_name(f"{stem.name}.hea").write_text("\n".join(lines) + "\n", encoding="ascii", newline="\n")


def shares(text: str) -> dict[str, float]:
    """The shares of a text such as 'NORM 0.4, LVH 0.6', by name."""
    return {name: float(share) for name, share in (pair.split() for pair in text.split(","))}


STATEMENT_COLUMNS = (
    *("", "description", "diagnostic", "form", "rhythm", "diagnostic_class", "diagnostic_subclass"),
    *("Statement Category", "SCP-ECG Statement Description", "AHA code", "aECG REFID", "CDISC Code", "DICOM Code"),
)
_SUPERCLASS = {own.code: own.superclass for own in SCP_STATEMENTS if own.superclass}
_RHYTHM_CODES = {own.code for own in SCP_STATEMENTS if own.kinds == "rhythm"}

CODES = {
    "NORM": ("NORM", "normales ekg"),
    "MI-INF": ("IMI", "alter inferiorer infarkt"),
    "MI-ANT": ("ASMI", "alter anteroseptaler infarkt"),
    "MI-LAT": ("LMI", "alter lateraler infarkt"),
    "RVH": ("RVH", "rechtshypertrophie"),
    "LVH": ("LVH", "linkshypertrophie"),
    "LAFB": ("LAFB", "linksanteriorer hemiblock"),
    "LBBB": ("CLBBB", "kompletter linksschenkelblock"),
    "RBBB": ("CRBBB", "kompletter rechtsschenkelblock"),
    "AVB1": ("1AVB", "av-block i. grades"),
    "AVB2": ("2AVB", "av-block ii. grades, typ wenckebach"),
    "AVB3": ("3AVB", "av-block iii. grades"),
    "TWI": ("NDT INVT", "unspezifisch abnormales t"),
    "STD": ("ISCAL STD_", "st-senkung, anterolaterale ischämie möglich"),
    "STE-ANT": ("INJAS STE_", "st-hebung anteroseptal"),
    "STE-INF": ("INJIN STE_", "st-hebung inferior"),
    "PVC": ("PVC", "ventrikuläre extrasystole(n)"),
    "PAC": ("PAC", "supraventrikuläre extrasystole(n)"),
    "SR": ("SR", "sinusrhythmus"),
    "SB": ("SBRAD", "sinusbradykardie"),
    "ST": ("STACH", "sinustachykardie"),
    "SA": ("SARRH", "sinusarrhythmie"),
    "AFIB": ("AFIB", "vorhofflimmern"),
    "AFL": ("AFLT", "vorhofflattern"),
    "SVT": ("SVTAC", "supraventrikuläre tachykardie"),
}
"""Diagnosis -> SCP codes and words of the (mostly German) report."""
INSTEAD = {
    "MI-INF": shares("ILMI 0.12, IPMI 0.03, IPLMI 0.03, PMI 0.03"),
    "MI-ANT": shares("AMI 0.15, ALMI 0.12, INJAL 0.03, INJLA 0.02"),
    "LAFB": shares("LPFB 0.08, IVCD 0.12"),
    "LBBB": shares("ILBBB 0.10, IVCD 0.10, WPW 0.08"),
    "RBBB": shares("IRBBB 0.40, IVCD 0.05"),
    "STD": shares("ISC_ 0.20, ISCIN 0.10, ISCIL 0.08, ISCAS 0.08, ISCLA 0.05, ISCAN 0.04, NST_ 0.15"),
    "STE-INF": shares("INJIL 0.30"),
    "LVH": shares("SEHYP 0.03"),
    "TWI": shares("LNGQT 0.06, DIG 0.06, ANEUR 0.03, EL 0.03"),
    "SVT": shares("PSVT 0.20, SVARR 0.10"),
}
"""Diagnosis -> codes that stand in place of its first one, and how often; each of the same superclass."""
FURTHER = {
    **dict.fromkeys(("MI-INF", "MI-ANT", "MI-LAT"), shares("QWAVE 0.30, ABQRS 0.20")),
    "TWI": shares("NT_ 0.30, LOWT 0.25, TAB_ 0.06, LVOLT 0.05"),
    "LVH": shares("VCLVH 0.50, HVOLT 0.10, LAO/LAE 0.20"),
    "RVH": shares("RAO/RAE 0.40"),
    **dict.fromkeys(("LBBB", "RBBB"), shares("ABQRS 0.20")),
    "AVB1": shares("LPR 0.40"),
    "AVB3": shares("PACE 0.50"),
    "PVC": shares("BIGU 0.12, TRIGU 0.08, PRC(S) 0.05"),
    "PAC": shares("SVARR 0.15, PRC(S) 0.05"),
}
"""Diagnosis -> codes that stand beside its own, and how often; those that are diagnostic have its superclass."""
LIKELIHOODS = {100.0: 0.70, 80.0: 0.15, 50.0: 0.11, 35.0: 0.04}
"""Percent that a diagnostic code states -> share of the codes."""


def scp_codes(diagnoses: tuple[str, ...], rng: np.random.Generator) -> dict[str, float]:
    """SCP code -> likelihood in percent; forms and rhythms have 0 ('not stated'), as in PTB-XL.

    Which finer codes stand instead of a diagnosis's own or beside it is drawn from a stream of its own, whatever the
    signal shows: superclasses, folds and all other cells of the tables are those of the diagnoses.
    """
    likelihoods = rng.choice(list(LIKELIHOODS), size=len(diagnoses), p=list(LIKELIHOODS.values()))
    (finer,) = rng.spawn(1)  # takes no number of the recording's stream
    own: dict[str, float] = {}
    beside: dict[str, float] = {}
    for name, likelihood in zip(diagnoses, likelihoods.tolist(), strict=True):
        (first, *others), instead = CODES[name][0].split(), INSTEAD.get(name, {})
        drawn = np.searchsorted(np.cumsum(list(instead.values())), finer.random(), side="right")
        further = [code for code, share in FURTHER.get(name, {}).items() if finer.random() < share]
        own |= {code: likelihood if code in _SUPERCLASS else 0.0 for code in ([*instead, first][drawn], *others)}
        beside |= {code: likelihood if code in _SUPERCLASS else 0.0 for code in further}
    return own | {code: likelihood for code, likelihood in beside.items() if code not in own}


def superclasses(codes: Iterable[str]) -> tuple[str, ...]:
    """Diagnostic superclasses of the codes, each once."""
    return tuple(dict.fromkeys(_SUPERCLASS[code] for code in codes if code in _SUPERCLASS))


def german_report(diagnoses: tuple[str, ...]) -> str:
    """Report text: the rhythm first, then the findings."""
    ordered = sorted(diagnoses, key=lambda name: CODES[name][0] not in _RHYTHM_CODES)
    return " ".join(CODES[name][1] for name in ordered)


FOLDS = 10
RARE_FIRST = ("HYP", "CD", "MI", "STTC", "NORM")
DATABASE_COLUMNS = (
    *("ecg_id", "patient_id", "age", "sex", "height", "weight", "nurse", "site", "device", "recording_date", "report"),
    *("scp_codes", "heart_axis", "infarction_stadium1", "infarction_stadium2", "validated_by", "second_opinion"),
    *("initial_autogenerated_report", "validated_by_human", "baseline_drift", "static_noise", "burst_noise"),
    *("electrodes_problems", "extra_beats", "pacemaker", "strat_fold", "filename_lr", "filename_hr"),
)
PTB_XL_POPULATION = Population(
    conditions=shares(
        "NORM 0.440, MI-INF 0.082, MI-ANT 0.082, MI-LAT 0.012, TWI 0.122, STD 0.092, LVH 0.036, RVH 0.005, LAFB 0.040,"
        "RBBB 0.027, LBBB 0.024, AVB1 0.022, AVB2 0.0005, AVB3 0.0005, AFIB 0.010, PVC 0.010, PAC 0.005,"
        "STE-ANT 0.005, STE-INF 0.005"
    ),
    companion=0.45,
    rhythms=shares("SR 0.87, SB 0.035, ST 0.042, SA 0.040, AFIB 0.006, AFL 0.003, SVT 0.004"),
    affinities={
        **{(first, "LVH"): 6.5 for first in ("TWI", "STD")},
        **{("LVH", further): 2.0 for further in ("TWI", "STD")},
        **{(first, further): 3.0 for first in ("MI-ANT", "MI-INF") for further in ("LAFB", "RBBB", "AVB1")},
    },
)
"""Superclasses alone and together about as often as in PTB-XL 1.0.3 (docs/SIMULATOR.md compares them)."""


def _write_ptb_xl_recording(folder: Path, case: Case, settings: CohortSettings) -> Row:
    number = case.number + 1
    group = f"{number // 1000 * 1000:05d}"
    low, high = f"records100/{group}/{number:05d}_lr", f"records500/{group}/{number:05d}_hr"
    signal, leads = case.recorded.signal, [lead.upper() for lead in LEADS]
    write_record(folder / high, signal, leads, case.fs)
    if settings.records100:
        from scipy.signal import resample_poly  # here, because it loads slowly

        write_record(folder / low, resample_poly(signal, 100, case.fs, axis=0, padtype="line"), leads, 100)
    codes = scp_codes(case.diagnoses, case.rng)
    first = datetime(1984, 11, 1) + timedelta(days=case.patient * 37 % 4_000)
    return {
        "ecg_id": number,
        "patient_id": f"{1 + case.patient * 7_919 % 99_991}.0",
        "age": f"{case.person.age + case.visit}.0",
        "sex": int(case.person.woman),
        "nurse": f"{case.rng.integers(0, 12)}.0",
        "site": f"{case.rng.integers(0, 3)}.0",
        "device": str(case.rng.choice(["CS-12   E", "CS100    3", "AT-6 C 5.5"])),
        "recording_date": first + timedelta(days=60 * case.visit, seconds=int(case.rng.integers(8 * 3600, 17 * 3600))),
        "report": german_report(case.diagnoses),
        "scp_codes": codes,
        "second_opinion": False,
        "initial_autogenerated_report": False,
        "validated_by_human": True,
        "filename_lr": low,
        "filename_hr": high,
    }


def _write_ptb_xl_tables(folder: Path, rows: Sequence[Row]) -> None:
    folds = _folds([row for row in rows if "strat_fold" not in row])
    numbered = ({"strat_fold": folds.get(row["patient_id"]), **row} for row in rows)
    write_csv(folder / "ptbxl_database.csv", DATABASE_COLUMNS, numbered)
    statements = (
        {
            "": own.code,
            "description": own.description,
            **dict.fromkeys(own.kinds.split(), "1.0"),
            "diagnostic_class": own.superclass,
            "diagnostic_subclass": own.subclass,
            "SCP-ECG Statement Description": own.description,
        }
        for own in SCP_STATEMENTS
    )
    write_csv(folder / "scp_statements.csv", STATEMENT_COLUMNS, statements)


def _folds(rows: Sequence[Row]) -> dict[str, int]:
    """Patient -> fold; each patient, in order, gets the fold in which their rarest superclass is rarest so far.

    A fold depends only on earlier patients, so a larger cohort keeps it.
    """
    classes: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        classes[row["patient_id"]].update(superclasses(row["scp_codes"]))
    filled: Counter[tuple[str, int]] = Counter()
    folds = {}
    for number, (patient, of_patient) in enumerate(classes.items()):
        rarest = next((name for name in RARE_FIRST if name in of_patient), "none")
        fold = min(range(1, FOLDS + 1), key=lambda f: (filled[rarest, f], filled["all", f], (f + number) % FOLDS))
        folds[patient] = fold
        filled.update((name, fold) for name in {*of_patient, rarest, "all"})
    return folds


CONDITIONS = {
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


def challenge_notes(case: Case, dx: Iterable[str], symptoms: str = "Unknown") -> tuple[str, ...]:
    """Comments of a header of the PhysioNet Challenges."""
    sex = "Female" if case.person.woman else "Male"
    person = (f"Age: {case.person.age}", f"Sex: {sex}", f"Dx: {','.join(dx)}")
    return (*person, "Rx: Unknown", "Hx: Unknown", f"Sx: {symptoms}")


def _write_snomed_recording(folder: Path, case: Case, settings: CohortSettings, *, first: int = 1) -> Row:
    """Write a recording of Chapman or Ningbo; `first` is the number of the dataset's first."""
    number = case.number + first
    name = f"JS{number:05d}"
    group = 10 + (number - 1) // 100
    inside = f"WFDBRecords/{group // 10:02d}/{group:03d}"
    codes = [code for diagnosis, (_, _, code) in CONDITIONS.items() if diagnosis in case.diagnoses]  # rhythms first
    notes = challenge_notes(case, codes)
    write_record(folder / inside / name, case.recorded.signal, LEADS, case.fs, matlab=True, notes=notes)
    return {"folder": inside, "Recording": name}


def _write_snomed_tables(folder: Path, rows: Sequence[Row]) -> None:
    """Write the lists of records and the table of codes."""
    records = defaultdict(list)
    for row in rows:
        records[row["folder"]].append(row["Recording"])
    for inside, names in records.items():
        (folder / inside / "RECORDS").write_text("\n".join(names), encoding="ascii")
    (folder / "RECORDS").write_text("".join(f"{inside}/\n" for inside in records), encoding="ascii")
    columns = ("AcronymName", "FullName", "Snomed_CT")
    codes = (dict(zip(columns, row, strict=True)) for row in dict.fromkeys(CONDITIONS.values()))
    write_csv(folder / "ConditionNames_SNOMED-CT.csv", columns, codes, bom=True)


CLASSES = {
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
REFERENCE_COLUMNS = ("Recording", "First_label", "Second_label", "Third_label")


def _cpsc2018_seconds(rng: np.random.Generator) -> float:
    lengths = ((6, 9.5), (9.5, 15), (15, 35), (35, 60))
    shortest, longest = lengths[int(np.searchsorted([0.02, 0.77, 0.96], rng.random()))]
    return round(2 * rng.uniform(shortest, longest)) / 2


def _write_cpsc2018_recording(folder: Path, case: Case, settings: CohortSettings) -> Row:
    name = f"A{case.number + 1:04d}"
    labels = [CLASSES[diagnosis] for diagnosis in case.diagnoses if diagnosis in CLASSES][:3]
    notes = challenge_notes(case, (text for _, text in labels), "Unknows")  # spelt so in the real files
    stem, start = folder / "Training_WFDB" / name, "05-Feb-2020 11:39:16"
    write_record(stem, case.recorded.signal, LEADS, case.fs, matlab=True, start=start, notes=notes)
    return dict(zip(REFERENCE_COLUMNS, (name, *(code for code, _ in labels)), strict=False))


LEAD_ORDER: tuple[str, ...] = ("I", "II", "III", "aVR", "aVF", "aVL", "V1", "V2", "V3", "V4", "V5", "V6")
MOST_VISITS = 60
REPORT_LINES = 18
NOT_MEASURED = 29999
"""Value of a measurement for an absent wave."""
QRS_ONSET_MS = 200
"""QRS onset in the machine's averaged beat, ms."""
MEASUREMENT_COLUMNS = (
    *("subject_id", "study_id", "cart_id", "ecg_time"),
    *(f"report_{line}" for line in range(REPORT_LINES)),
    *("bandwidth", "filtering", "rr_interval", "p_onset", "p_end", "qrs_onset", "qrs_end", "t_end"),
    *("p_axis", "qrs_axis", "t_axis"),
)


def _write_mimic_recording(folder: Path, case: Case, settings: CohortSettings) -> Row:
    """Write a recording; numbers of subjects and studies are distinct for 100,000 patients of 60 recordings."""
    subject = 10_000_000 + 10 * (case.patient * 61_803 % 100_000) + case.patient % 10
    study = 40_000_000 + (64 * case.patient + case.visit + 1) * 7_368_787 % 9_999_991
    # Dates are shifted into the future, as in MIMIC; intervals between visits grow.
    first = datetime(2110, 1, 1) + timedelta(hours=case.patient * 7_919 % 700_000)
    when = first + timedelta(days=41 * case.visit + case.visit**2, minutes=int(case.rng.integers(0, 12 * 60)))
    path = f"files/p{subject // 10_000}/p{subject}/s{study}/{study}"
    signal = case.recorded.signal[:, [LEADS.index(lead) for lead in LEAD_ORDER]]  # (n, 12)
    start, notes = f"{when:%H:%M:%S %d/%m/%Y}", [f" <subject_id>: {subject}"]
    write_record(folder / path, signal, LEAD_ORDER, case.fs, per_mv=200, start=start, notes=notes)
    lines = machine_report(case.diagnoses, case.recorded.rate, case.rng, settings.report_errors)
    return {
        "subject_id": subject,
        "study_id": study,
        "file_name": study,
        "ecg_time": when,
        "path": path,
        "cart_id": int(6_840_000 + case.rng.integers(0, 40_000)),
        **{f"report_{i}": line for i, line in enumerate(lines[:REPORT_LINES])},
        "bandwidth": "0.005-150 Hz",
        "filtering": "60 Hz notch Baseline filter",
        **_measurements(case.recorded),
    }


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
    by_subject = sorted(rows, key=lambda row: (row["subject_id"], row["ecg_time"]))
    write_csv(folder / "record_list.csv", ("subject_id", "study_id", "file_name", "ecg_time", "path"), by_subject)
    write_csv(folder / "machine_measurements.csv", MEASUREMENT_COLUMNS, by_subject)


CHAPMAN = Layout(
    population=Population(
        conditions=shares(
            "NORM 0.52, TWI 0.18, LVH 0.08, RBBB 0.045, LBBB 0.015, LAFB 0.035, STD 0.045, AVB1 0.020, AVB2 0.001,"
            "AVB3 0.0002, RVH 0.001, MI-ANT 0.003, MI-INF 0.015, MI-LAT 0.001, STE-ANT 0.009, STE-INF 0.008,"
            "PAC 0.022, PVC 0.025"
        ),
        companion=0.20,
        rhythms=shares("SB 0.353, SR 0.169, AFIB 0.176, ST 0.146, SVT 0.073, AFL 0.046, SA 0.037"),
    ),
    most_patients=10_646,
    write_recording=_write_snomed_recording,
    write_tables=_write_snomed_tables,
)
FIRST_OF_NINGBO, LAST_OF_NINGBO = 10_647, 45_551
"""Numbers of its recordings, which go on from Chapman's."""

LAYOUTS: Mapping[str, Layout] = MappingProxyType(  # in this order: a cohort's place seeds its streams
    {
        "mimic-iv-ecg": Layout(
            population=Population(
                conditions=shares(
                    "NORM 0.36, AFIB 0.10, TWI 0.09, STD 0.06, MI-INF 0.065, MI-ANT 0.05, MI-LAT 0.01, LVH 0.07,"
                    "RVH 0.008, RBBB 0.05, LBBB 0.035, LAFB 0.045, AVB1 0.04, AVB2 0.003, AVB3 0.002, PVC 0.03,"
                    "PAC 0.03, STE-ANT 0.01, STE-INF 0.01"
                ),
                companion=0.35,
                rhythms=shares("SR 0.66, SB 0.11, ST 0.15, SA 0.02, AFIB 0.03, AFL 0.015, SVT 0.015"),
            ),
            most_patients=100_000,
            write_recording=_write_mimic_recording,
            write_tables=_write_mimic_tables,
            mains_hz=60.0,
            visits=lambda rng, own: min(MOST_VISITS, int(rng.geometric(1.0 / own.recordings_per_patient))),
        ),
        "ptb-xl": Layout(
            population=PTB_XL_POPULATION,
            most_patients=99_000,
            write_recording=_write_ptb_xl_recording,
            write_tables=_write_ptb_xl_tables,
            visits=lambda rng, settings: 1 + int(np.searchsorted([0.875, 0.975, 0.993], rng.random())),
            tables=1,
        ),
        "chapman": CHAPMAN,
        "cpsc2018": Layout(
            population=Population(  # first labels as in the real REFERENCE.csv; there 7 % have a second label
                conditions=shares(
                    "NORM 918, AFIB 1098, AVB1 704, LBBB 207, RBBB 1695, PAC 574, PVC 653, STD 826, STE-ANT 110,"
                    "STE-INF 92"
                ),
                companion=0.08,
                rhythms={"SR": 1.0},
            ),
            most_patients=9_999,
            write_recording=_write_cpsc2018_recording,
            write_tables=lambda folder, rows: write_csv(folder / "REFERENCE.csv", REFERENCE_COLUMNS, rows),
            seconds=_cpsc2018_seconds,
        ),
        "ningbo": replace(
            CHAPMAN,
            population=Population(
                conditions=shares(
                    "NORM 0.57, TWI 0.22, LVH 0.018, RBBB 0.037, LBBB 0.007, LAFB 0.033, STD 0.036, AVB1 0.025,"
                    "AVB2 0.001, AVB3 0.0002, RVH 0.001, MI-ANT 0.002, MI-INF 0.024, STE-ANT 0.011, STE-INF 0.011,"
                    "PAC 0.030, PVC 0.031"
                ),
                companion=0.15,
                rhythms=shares("SB 0.363, SR 0.181, AFL 0.218, ST 0.163, SA 0.073, SVT 0.004"),
            ),
            most_patients=LAST_OF_NINGBO - FIRST_OF_NINGBO + 1,
            write_recording=partial(_write_snomed_recording, first=FIRST_OF_NINGBO),
        ),
    }
)
