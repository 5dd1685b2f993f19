"""PTB-XL 1.0.3 (Wagner et al., Sci Data 2020): its reader, its 71 SCP-ECG statements and its six tasks.

21,799 recordings with diagnostic superclasses and ten official folds: 1-8 train, 9 validates, 10 tests. The tasks are
those of Strodthoff et al. (IEEE JBHI 2021): a recording's labels are the keys of `scp_codes`, of whatever likelihood, 0
included, mapped through `scp_statements.csv`; recordings without a label of the task are dropped.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from benchmark.data.datasets.base import DatasetError, Entry, Listing, Recording, Unusable
from benchmark.data.datasets.tables import (
    SHOWN,
    Row,
    Table,
    keyed,
    listing_of,
    path_within,
    read_table,
    spelt_apart,
    truth,
    whole_number,
)
from benchmark.data.datasets.wfdb_files import WFDBFolder

COLUMNS = ("ecg_id", "patient_id", "scp_codes", "report", "strat_fold", "filename_lr", "filename_hr")
FORMS = {"records500": "filename_hr", "records100": "filename_lr"}
"""Form -> column of its file names, the preferred first. A dataset has one sampling rate: forms are never pooled."""
RATES = {"records500": 500, "records100": 100}
"""Form -> sampling rate of its files in Hz."""
FILE_NUMBER = re.compile(r"(\d{1,18})\D*", re.ASCII)
"""The recording in a file's name, 7 in '00007_hr'."""
FOLDS = range(1, 11)
NO_PATIENT = ("", "nan", "-1", "-1.0")
"""Values of patient_id for an unknown patient, in lower case."""


class PTBXL(WFDBFolder):
    """The folder with ptbxl_database.csv, scp_statements.csv and records500/ or records100/."""

    name = "ptb-xl"
    title = "PTB-XL"
    classes = ("NORM", "MI", "STTC", "CD", "HYP")
    first_label_counts = False
    how_to_get = "Get PTB-XL 1.0.3 from https://physionet.org/content/ptb-xl/1.0.3/"
    licence = "Creative Commons Attribution 4.0, https://physionet.org/content/ptb-xl/view-license/1.0.3/"
    cite = "Wagner et al., Sci Data 2020, https://doi.org/10.13026/kfzx-aw45"
    folders = (
        "ptb-xl",
        "ptbxl",
        "ptb-xl-a-large-publicly-available-electrocardiography-dataset-1.0.3",
        "physionet.org/files/ptb-xl/1.0.3",
    )

    suffix = ".dat"

    def listing(self) -> Listing:
        """Every row of the table; labels are the diagnostic superclasses of its codes, of any likelihood."""
        table = keyed(read_table(self, self.root / "ptbxl_database.csv", COLUMNS), whole_number)
        superclass = self._superclass_of_code()
        form, others, warnings = self._forms(table.rows)
        self._check_file_names(table, form)
        patients = (row[COLUMNS.index("patient_id")] for row in table.rows)
        return listing_of(
            table,
            lambda row: self._entry(row, form, superclass),
            form=form,
            others=others,
            warnings=[*warnings, *spelt_apart("patient", patients)],
        )

    def read(self, entry: Entry) -> Recording:
        """The signal in mV; raises Unusable, also for another sampling rate than its folder's."""
        recording = super().read(entry)
        for form in RATES.keys() & set(PurePosixPath(entry.path).parts):
            if recording.fs != RATES[form]:
                raise Unusable(f"sampling rate is not its folder's: {recording.fs:g} Hz in {form}")
        return recording

    def _forms(self, rows: list[Row]) -> tuple[str, list[str], list[str]]:
        """The form to read, the others that are there, and a warning where it is not the preferred one.

        records500 is read unless it lacks most of the listed recordings and records100 has more of them.
        """
        held = {form: sum(self._is_here(row[COLUMNS.index(column)]) for row in rows) for form, column in FORMS.items()}
        if not any(held.values()):
            raise DatasetError(
                f"{self.title}: no recording of ptbxl_database.csv is in {self.root}: "
                f"looked for their headers in {' and '.join(f'{form}/' for form in FORMS)}. {self.how_to_get}"
            )
        high, low = held
        if held[low] <= held[high] or 2 * held[high] >= len(rows):
            return high, [low] if held[low] else [], []
        if not held[high]:
            return low, [], []
        warning = f"{high} has {held[high]} of the {len(rows)} listed recordings, {low} has {held[low]}"
        return low, [high], [f"{warning}: {low} is read, {RATES[low]} Hz"]

    def _check_file_names(self, table: Table, form: str) -> None:
        """Raise DatasetError where a file name has another recording's number: the labels of its row are not its own.

        A name without a number says nothing.
        """
        column = COLUMNS.index(FORMS[form])
        wrong = [
            (line, row[0], row[column])
            for row, line in zip(table.rows, table.lines, strict=True)
            if (number := _file_number(row[column])) is not None and number != int(row[0])
        ]
        if wrong:
            line, recording, name = wrong[0]
            raise DatasetError(
                f"{self.title}: {self.root / 'ptbxl_database.csv'} line {line}: recording {recording} has the "
                f"{FORMS[form]} of another recording, {name[:SHOWN]!r} ({len(wrong)} of {len(table.rows)} rows): is a "
                f"column shifted by a row? {self.how_to_get}"
            )

    def _is_here(self, path: str) -> bool:
        try:
            return (self.root / f"{path_within(path)}.hea").is_file()
        except Unusable:
            return False

    def _superclass_of_code(self) -> dict[str, int | None]:
        """SCP code -> index into `classes`; None for a code that is not diagnostic."""
        path = self.root / "scp_statements.csv"
        columns = ("", "diagnostic", "diagnostic_class")  # the column of the codes has no name
        superclass: dict[str, int | None] = {}
        table = keyed(read_table(self, path, columns), lambda code: code or None)
        for (code, diagnostic, name), line in zip(table.rows, table.lines, strict=True):
            place = f"{self.title}: {path} line {line}, {code}"
            is_diagnostic = truth(diagnostic) if diagnostic else False  # blank, as in the official file
            if is_diagnostic is None:
                raise DatasetError(
                    f"{place}: diagnostic is {diagnostic[:SHOWN]!r}, not 1.0 or blank. {self.how_to_get}"
                )
            if is_diagnostic and name not in self.classes:
                raise DatasetError(f"{place}: unknown diagnostic_class {name!r}")
            if name and not is_diagnostic:
                raise DatasetError(
                    f"{place}: diagnostic is {diagnostic or 'blank'}, but diagnostic_class is {name[:SHOWN]!r}: its "
                    f"labels would be lost. {self.how_to_get}"
                )
            superclass[code] = self.classes.index(name) if is_diagnostic else None
        if not any(index is not None for index in superclass.values()):
            raise DatasetError(f"{self.title}: {path} has no diagnostic code. {self.how_to_get}")
        return superclass

    def _entry(self, row: Row, form: str, superclass: dict[str, int | None]) -> Entry:
        cell = dict(zip(COLUMNS, row, strict=True))
        fold = whole_number(cell["strat_fold"])
        if fold is None or int(fold) not in FOLDS:
            raise Unusable(f"no official fold: {cell['strat_fold']!r}")
        patient, path = _patient(cell), path_within(cell[FORMS[form]])
        codes = _codes(cell["scp_codes"], superclass)
        return Entry(
            recording=cell["ecg_id"],
            patient=patient,
            path=path,
            labels=tuple(dict.fromkeys(index for code in codes if (index := superclass[code]) is not None)),
            report=cell["report"],
            fold=int(fold),
            statements=codes,
        )


def _file_number(path: str) -> int | None:
    """The number at the end of a path's file name; None where there is none."""
    numbers = FILE_NUMBER.findall(PurePosixPath(path).name)
    return int(numbers[-1]) if numbers else None


def _patient(cell: dict[str, str]) -> str:
    """The patient; a recording of an unknown patient gets one of its own."""
    if cell["patient_id"].lower() in NO_PATIENT:
        return f"unknown-{cell['ecg_id']}"
    patient = whole_number(cell["patient_id"])
    if patient is None:
        raise Unusable(f"no patient: {cell['patient_id']!r}")
    return patient


def _codes(codes: str, superclass: dict[str, int | None]) -> tuple[str, ...]:
    """The codes of a cell of scp_codes, of any likelihood."""
    try:
        stated = ast.literal_eval(codes)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        stated = None
    if not isinstance(stated, dict):
        raise Unusable(f"scp_codes is no dictionary: {codes[:SHOWN]!r}")
    odd = [f"{code} {value!r}" for code, value in stated.items() if not _is_likelihood(value)]
    if odd:
        raise Unusable(f"likelihood is no number from 0 to 100: {', '.join(odd)[:SHOWN]}")
    unknown = [str(code) for code in stated if code not in superclass]
    if unknown:  # its superclass may be any, or none
        raise Unusable(f"unknown SCP code: {', '.join(unknown)[:SHOWN]}")
    return tuple(stated)


def _is_likelihood(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 100


class Statement(NamedTuple):
    """A row of scp_statements.csv."""

    code: str
    kinds: str
    """Of 'diagnostic', 'form' and 'rhythm' those that it is, separated by blanks."""
    superclass: str
    """Column diagnostic_class; '' for a statement that is not diagnostic."""
    subclass: str
    """Column diagnostic_subclass; '' for a statement that is not diagnostic."""
    description: str


SCP_STATEMENTS: tuple[Statement, ...] = tuple(
    Statement(*map(str.strip, line.split("|")))
    for line in """\
NDT     | diagnostic form | STTC | STTC      | non-diagnostic T abnormalities
NST_    | diagnostic form | STTC | NST_      | non-specific ST changes
DIG     | diagnostic form | STTC | STTC      | digitalis-effect
LNGQT   | diagnostic form | STTC | STTC      | long QT-interval
NORM    | diagnostic      | NORM | NORM      | normal ECG
IMI     | diagnostic      | MI   | IMI       | inferior myocardial infarction
ASMI    | diagnostic      | MI   | AMI       | anteroseptal myocardial infarction
LVH     | diagnostic      | HYP  | LVH       | left ventricular hypertrophy
LAFB    | diagnostic      | CD   | LAFB/LPFB | left anterior fascicular block
ISC_    | diagnostic      | STTC | ISC_      | non-specific ischemic
IRBBB   | diagnostic      | CD   | IRBBB     | incomplete right bundle branch block
1AVB    | diagnostic      | CD   | _AVB      | first degree AV block
IVCD    | diagnostic      | CD   | IVCD      | non-specific intraventricular conduction disturbance (block)
ISCAL   | diagnostic      | STTC | ISCA      | ischemic in anterolateral leads
CRBBB   | diagnostic      | CD   | CRBBB     | complete right bundle branch block
CLBBB   | diagnostic      | CD   | CLBBB     | complete left bundle branch block
ILMI    | diagnostic      | MI   | IMI       | inferolateral myocardial infarction
LAO/LAE | diagnostic      | HYP  | LAO/LAE   | left atrial overload/enlargement
AMI     | diagnostic      | MI   | AMI       | anterior myocardial infarction
ALMI    | diagnostic      | MI   | AMI       | anterolateral myocardial infarction
ISCIN   | diagnostic      | STTC | ISCI      | ischemic in inferior leads
INJAS   | diagnostic      | MI   | AMI       | subendocardial injury in anteroseptal leads
LMI     | diagnostic      | MI   | LMI       | lateral myocardial infarction
ISCIL   | diagnostic      | STTC | ISCI      | ischemic in inferolateral leads
LPFB    | diagnostic      | CD   | LAFB/LPFB | left posterior fascicular block
ISCAS   | diagnostic      | STTC | ISCA      | ischemic in anteroseptal leads
INJAL   | diagnostic      | MI   | AMI       | subendocardial injury in anterolateral leads
ISCLA   | diagnostic      | STTC | ISCA      | ischemic in lateral leads
RVH     | diagnostic      | HYP  | RVH       | right ventricular hypertrophy
ANEUR   | diagnostic      | STTC | STTC      | ST-T changes compatible with ventricular aneurysm
RAO/RAE | diagnostic      | HYP  | RAO/RAE   | right atrial overload/enlargement
EL      | diagnostic      | STTC | STTC      | electrolytic disturbance or drug (former EDIS)
WPW     | diagnostic      | CD   | WPW       | Wolf-Parkinson-White syndrome
ILBBB   | diagnostic      | CD   | ILBBB     | incomplete left bundle branch block
IPLMI   | diagnostic      | MI   | IMI       | inferoposterolateral myocardial infarction
ISCAN   | diagnostic      | STTC | ISCA      | ischemic in anterior leads
IPMI    | diagnostic      | MI   | IMI       | inferoposterior myocardial infarction
SEHYP   | diagnostic      | HYP  | SEHYP     | septal hypertrophy
INJIN   | diagnostic      | MI   | IMI       | subendocardial injury in inferior leads
INJLA   | diagnostic      | MI   | AMI       | subendocardial injury in lateral leads
PMI     | diagnostic      | MI   | PMI       | posterior myocardial infarction
3AVB    | diagnostic      | CD   | _AVB      | third degree AV block
INJIL   | diagnostic      | MI   | IMI       | subendocardial injury in inferolateral leads
2AVB    | diagnostic      | CD   | _AVB      | second degree AV block
ABQRS   | form            |      |           | abnormal QRS
PVC     | form            |      |           | ventricular premature complex
STD_    | form            |      |           | non-specific ST depression
VCLVH   | form            |      |           | voltage criteria (QRS) for left ventricular hypertrophy
QWAVE   | form            |      |           | Q waves present
LOWT    | form            |      |           | low amplitude T-waves
NT_     | form            |      |           | non-specific T-wave changes
PAC     | form            |      |           | atrial premature complex
LPR     | form            |      |           | prolonged PR interval
INVT    | form            |      |           | inverted T-waves
LVOLT   | form            |      |           | low QRS voltages in the frontal and horizontal leads
HVOLT   | form            |      |           | high QRS voltage
TAB_    | form            |      |           | T-wave abnormality
STE_    | form            |      |           | non-specific ST elevation
PRC(S)  | form            |      |           | premature complex(es)
SR      | rhythm          |      |           | sinus rhythm
AFIB    | rhythm          |      |           | atrial fibrillation
STACH   | rhythm          |      |           | sinus tachycardia
SARRH   | rhythm          |      |           | sinus arrhythmia
SBRAD   | rhythm          |      |           | sinus bradycardia
PACE    | rhythm          |      |           | normal functioning artificial pacemaker
SVARR   | rhythm          |      |           | supraventricular arrhythmia
BIGU    | rhythm          |      |           | bigeminal pattern (unknown origin, SV or Ventricular)
AFLT    | rhythm          |      |           | atrial flutter
SVTAC   | rhythm          |      |           | supraventricular tachycardia
PSVT    | rhythm          |      |           | paroxysmal supraventricular tachycardia
TRIGU   | rhythm          |      |           | trigeminal pattern (unknown origin, SV or Ventricular)
""".splitlines()
)
"""In the order of the release."""


PTB_XL_TASKS: dict[str, str] = {
    "all": "every statement",
    "diagnostic": "diagnostic statements",
    "subdiagnostic": "subclasses of the diagnostic statements",
    "superdiagnostic": "superclasses of the diagnostic statements",
    "form": "statements on the form of the ECG",
    "rhythm": "statements on the rhythm",
}
"""Task -> what its classes are."""


def class_of_code(task: str) -> dict[str, str]:
    """SCP code -> class, of the codes that count for a task. Raises ValueError for an unknown task."""
    if task not in PTB_XL_TASKS:
        raise ValueError(f"unknown task {task!r} of PTB-XL: there are {', '.join(PTB_XL_TASKS)}")
    kind = "diagnostic" if task.endswith("diagnostic") else task
    column = {"subdiagnostic": "subclass", "superdiagnostic": "superclass"}.get(task, "code")
    counting = [own for own in SCP_STATEMENTS if task == "all" or kind in own.kinds.split()]
    return {own.code: getattr(own, column) for own in counting if getattr(own, column)}


def labels_of(codes: Iterable[str], of_code: Mapping[str, str]) -> tuple[str, ...]:
    """The classes of some codes, each once, sorted."""
    return tuple(sorted({of_code[code] for code in codes if code in of_code}))
