"""PTB-XL 1.0.3 (Wagner et al., Sci Data 2020): its reader, its 71 SCP-ECG statements and its six tasks.

21,799 recordings with diagnostic superclasses and ten official folds: 1-8 train, 9 validates, 10 tests. The tasks are
those of Strodthoff et al. (IEEE JBHI 2021): a recording's labels are the keys of `scp_codes`, of whatever likelihood, 0
included, mapped by the release's table of statements; recordings without a label of the task are dropped.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from benchmark.data.datasets.base import NO_FOLD, DatasetError, Entry, Listing, NamedTask, Unusable, rows_beside
from benchmark.data.datasets.base import labels_of as labels_of
from benchmark.data.datasets.tables import SHOWN, Row, group_rows, make_listing, patient_of, read_table
from benchmark.data.datasets.wfdb_files import WFDBFolder
from benchmark.results.canonical import whole_number

COLUMNS = ("ecg_id", "patient_id", "scp_codes", "report", "strat_fold", "filename_lr", "filename_hr")
FORMS = {"records500": "filename_hr", "records100": "filename_lr"}
"""Form -> column of its file names, the preferred first. A dataset has one sampling rate: forms are never pooled."""


class Statement(NamedTuple):
    """A row of the release's scp_statements.csv."""

    code: str
    kinds: str
    """Kinds of the statement ('diagnostic', 'form', 'rhythm'), separated by blanks."""
    superclass: str
    """Column diagnostic_class; '' for a statement that is not diagnostic."""
    subclass: str
    """Column diagnostic_subclass; '' for a statement that is not diagnostic."""


SCP_STATEMENTS = tuple(Statement(**row) for row in rows_beside(__file__, "ptb_xl_statements.csv"))
"""The statements in the order of the release."""
SUPERCLASS_OF_CODE = {statement.code: statement.superclass for statement in SCP_STATEMENTS}


def class_of_code(task: str) -> dict[str, str]:
    """Map the SCP codes that count for a task to classes."""
    kind = "diagnostic" if task.endswith("diagnostic") else task
    column = {"subdiagnostic": "subclass", "superdiagnostic": "superclass"}.get(task, "code")
    statements = [statement for statement in SCP_STATEMENTS if task == "all" or kind in statement.kinds.split()]
    return {statement.code: getattr(statement, column) for statement in statements if getattr(statement, column)}


def task_of(name: str, about: str) -> NamedTask:
    """Return a task with its classes in the order of their names."""
    class_of = class_of_code(name)
    return NamedTask(about, tuple(sorted({*class_of.values()})), class_of)


TASKS = {
    "all": "every statement",
    "diagnostic": "diagnostic statements",
    "subdiagnostic": "subclasses of the diagnostic statements",
    "superdiagnostic": "superclasses of the diagnostic statements",
    "form": "statements on the form of the ECG",
    "rhythm": "statements on the rhythm",
}
"""Task -> what its classes are."""


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
    tasks: ClassVar[Mapping[str, NamedTask]] = {name: task_of(name, about) for name, about in TASKS.items()}

    def listing(self) -> Listing:
        """List every row of the table; labels are the diagnostic superclasses of its codes, of any likelihood.

        The form with the more recordings is read, records500 where both have as many.
        """
        table = read_table(self, self.root / "ptbxl_database.csv", COLUMNS)
        count = {form: len(list((self.root / form).glob("*/[0-9]*.hea"))) for form in FORMS}
        form = max(FORMS, key=count.__getitem__)
        if not count[form]:
            raise DatasetError(
                f"{self.title}: no recording of ptbxl_database.csv is in {self.root}: "
                f"looked for their headers in {' and '.join(f'{form}/' for form in FORMS)}. {self.how_to_get}"
            )
        rows, skipped = group_rows(table, "ecg_id", whole_number)
        return make_listing(rows, lambda name, same: self._entry(name, same[0], FORMS[form]), form, skipped)

    def _entry(self, name: str, row: Row, path: str) -> Entry:
        try:
            codes = [*ast.literal_eval(row["scp_codes"])]
            superclasses = dict.fromkeys(SUPERCLASS_OF_CODE[code] for code in codes)
        except (SyntaxError, ValueError, TypeError, KeyError):
            raise Unusable(f"scp_codes are no known codes: {row['scp_codes'][:SHOWN]!r}") from None
        fold = whole_number(row["strat_fold"])
        return Entry(
            recording=name,
            patient=patient_of(row["patient_id"]) or f"unknown-{name}",
            path=row[path],
            labels=tuple(self.classes.index(superclass) for superclass in superclasses if superclass),
            report=row["report"],
            fold=int(fold or NO_FOLD),
            statements="\n".join(codes),
        )
