"""PTB-XL 1.0.3 (Wagner et al., Sci Data 2020): its reader, its 71 SCP-ECG statements and its six tasks.

21,799 recordings with diagnostic superclasses and ten official folds: 1-8 train, 9 validates, 10 tests. The tasks are
those of Strodthoff et al. (IEEE JBHI 2021): a recording's labels are the keys of `scp_codes`, of whatever likelihood, 0
included, mapped by the release's table of statements; recordings without a label of the task are dropped.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from benchmark.data.datasets.base import DatasetError, Entry, Listing, Unusable
from benchmark.data.datasets.tables import (
    SHOWN,
    keyed,
    listing_of,
    patient_of,
    read_table,
    spelling_warnings,
    whole_number,
)
from benchmark.data.datasets.wfdb_files import WFDBFolder

COLUMNS = ("ecg_id", "patient_id", "scp_codes", "report", "strat_fold", "filename_lr", "filename_hr")
FORMS = {"records500": "filename_hr", "records100": "filename_lr"}
"""Form -> column of its file names, the preferred first. A dataset has one sampling rate: forms are never pooled."""
FOLDS = range(1, 11)


class PTBXL(WFDBFolder):
    """The folder with ptbxl_database.csv and records500/ or records100/."""

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
        """List every row of the table; labels are the diagnostic superclasses of its codes, of any likelihood."""
        table = keyed(read_table(self, self.root / "ptbxl_database.csv", COLUMNS), whole_number)
        form, others, warnings = self._forms(len(table.rows))
        return listing_of(
            table,
            lambda row: self._entry(dict(zip(COLUMNS, row, strict=True)), form),
            form=form,
            others=others,
            warnings=[*warnings, *spelling_warnings(row[COLUMNS.index("patient_id")] for row in table.rows)],
        )

    def _forms(self, rows: int) -> tuple[str, list[str], list[str]]:
        """The form to read, the others that are there, and a warning where it is not the preferred one.

        records500 is read unless it lacks most of the listed recordings and records100 has more of them.
        """
        count = {form: sum(1 for _ in (self.root / form).glob("*/[0-9]*.hea")) for form in FORMS}
        if not any(count.values()):
            raise DatasetError(
                f"{self.title}: no recording of ptbxl_database.csv is in {self.root}: "
                f"looked for their headers in {' and '.join(f'{form}/' for form in FORMS)}. {self.how_to_get}"
            )
        high, low = count
        if count[low] <= count[high] or 2 * count[high] >= rows:
            return high, [low] if count[low] else [], []
        if not count[high]:
            return low, [], []
        warning = f"{high} has {count[high]} of the {rows} listed recordings, {low} has {count[low]}"
        return low, [high], [f"{warning}: {low} is read"]

    def _entry(self, cell: Mapping[str, str], form: str) -> Entry:
        fold = whole_number(cell["strat_fold"])
        if fold is None or int(fold) not in FOLDS:
            raise Unusable(f"no official fold: {cell['strat_fold']!r}")
        codes = _codes(cell["scp_codes"])
        superclasses = dict.fromkeys(SUPERCLASS_OF_CODE[code] for code in codes)
        return Entry(
            recording=cell["ecg_id"],
            patient=patient_of(cell["patient_id"]) or f"unknown-{cell['ecg_id']}",
            path=cell[FORMS[form]],
            labels=tuple(self.classes.index(name) for name in superclasses if name),
            report=cell["report"],
            fold=int(fold),
            statements=codes,
        )


def _codes(cell: str) -> tuple[str, ...]:
    """The codes of a cell of scp_codes, of any likelihood."""
    try:
        codes = ast.literal_eval(cell)
    except (SyntaxError, ValueError):
        codes = None
    if not isinstance(codes, dict):
        raise Unusable(f"scp_codes is no dictionary: {cell[:SHOWN]!r}")
    unknown = [str(code) for code in codes if code not in SUPERCLASS_OF_CODE]
    if unknown:  # its superclass may be any, or none
        raise Unusable(f"unknown SCP code: {', '.join(unknown)[:SHOWN]}")
    return tuple(codes)


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
SUPERCLASS_OF_CODE = {statement.code: statement.superclass for statement in SCP_STATEMENTS}
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
    """Map the SCP codes that count for a task to classes; raise ValueError for an unknown task."""
    if task not in PTB_XL_TASKS:
        raise ValueError(f"unknown task {task!r} of PTB-XL: there are {', '.join(PTB_XL_TASKS)}")
    kind = "diagnostic" if task.endswith("diagnostic") else task
    column = {"subdiagnostic": "subclass", "superdiagnostic": "superclass"}.get(task, "code")
    statements = [statement for statement in SCP_STATEMENTS if task == "all" or kind in statement.kinds.split()]
    return {statement.code: getattr(statement, column) for statement in statements if getattr(statement, column)}


def labels_of(codes: Iterable[str], of_code: Mapping[str, str]) -> tuple[str, ...]:
    """Return the classes of some codes, each once, sorted."""
    return tuple(sorted({of_code[code] for code in codes if code in of_code}))
