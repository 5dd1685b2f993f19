"""PTB-XL 1.0.3 (Wagner et al., Sci Data 2020): 21,799 recordings, diagnostic superclasses, ten official folds."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import ClassVar

from benchmark.data.readers.base import DatasetError, Entry, Listing, Recording, Unusable
from benchmark.data.readers.tables import Row, keyed, listing_of, path_within, read_table, whole_number
from benchmark.data.readers.wfdb_record import read_recording, record_files

COLUMNS = ("ecg_id", "patient_id", "scp_codes", "report", "strat_fold", "filename_lr", "filename_hr")
FORMS = {"records500": "filename_hr", "records100": "filename_lr"}
"""Form -> column of its file names, the preferred first. A dataset has one sampling rate: forms are never pooled."""
FOLDS = range(1, 11)
NO_PATIENT = ("", "nan", "-1", "-1.0")
"""Values of patient_id for an unknown patient, in lower case."""


class PTBXL:
    """The folder with ptbxl_database.csv, scp_statements.csv and records500/ or records100/."""

    name: ClassVar[str] = "ptb-xl"
    title: ClassVar[str] = "PTB-XL"
    classes: ClassVar[tuple[str, ...]] = ("NORM", "MI", "STTC", "CD", "HYP")
    first_label_counts: ClassVar[bool] = False
    how_to_get: ClassVar[str] = "Get PTB-XL 1.0.3 from https://physionet.org/content/ptb-xl/1.0.3/"
    folders: ClassVar[tuple[str, ...]] = (
        "ptb-xl",
        "ptbxl",
        "ptb-xl-a-large-publicly-available-electrocardiography-dataset-1.0.3",
        "physionet.org/files/ptb-xl/1.0.3",
    )

    def __init__(self, root: Path) -> None:
        self.root = root

    def listing(self) -> Listing:
        """Every row of the table; labels are the diagnostic superclasses of its codes, of any likelihood."""
        table = keyed(read_table(self, self.root / "ptbxl_database.csv", COLUMNS), whole_number)
        superclass = self._superclass_of_code()
        form, *others = self._forms(table.rows)
        return listing_of(table, lambda row: self._entry(row, form, superclass), form=form, others=others)

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """Header and signal file."""
        return record_files(self.root / entry.path, ".dat")

    def read(self, entry: Entry) -> Recording:
        """The signal in mV; raises Unusable."""
        return read_recording(self.root / entry.path)

    def _forms(self, rows: list[Row]) -> list[str]:
        """Forms with a listed recording, the most complete first; records500 on a tie."""
        held = {form: sum(self._is_here(row[COLUMNS.index(column)]) for row in rows) for form, column in FORMS.items()}
        forms = sorted((form for form in held if held[form]), key=lambda form: -held[form])
        if not forms:
            raise DatasetError(
                f"{self.title}: no recording of ptbxl_database.csv is in {self.root}: "
                f"looked for their headers in {' and '.join(f'{form}/' for form in FORMS)}. {self.how_to_get}"
            )
        return forms

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
        for code, diagnostic, name in keyed(read_table(self, path, columns), lambda code: code or None).rows:
            if diagnostic not in ("1", "1.0"):
                superclass[code] = None
            elif name in self.classes:
                superclass[code] = self.classes.index(name)
            else:
                raise DatasetError(f"{self.title}: {path}, {code}: unknown diagnostic_class {name!r}")
        if not any(index is not None for index in superclass.values()):
            raise DatasetError(f"{self.title}: {path} has no diagnostic code. {self.how_to_get}")
        return superclass

    def _entry(self, row: Row, form: str, superclass: dict[str, int | None]) -> Entry:
        cell = dict(zip(COLUMNS, row, strict=True))
        fold = whole_number(cell["strat_fold"])
        if fold is None or int(fold) not in FOLDS:
            raise Unusable(f"no official fold: {cell['strat_fold']!r}")
        return Entry(
            recording=cell["ecg_id"],
            patient=_patient(cell),
            path=path_within(cell[FORMS[form]]),
            labels=_labels(cell["scp_codes"], superclass),
            report=cell["report"],
            fold=int(fold),
        )


def _patient(cell: dict[str, str]) -> str:
    """The patient; a recording of an unknown patient gets one of its own."""
    if cell["patient_id"].lower() in NO_PATIENT:
        return f"unknown-{cell['ecg_id']}"
    patient = whole_number(cell["patient_id"])
    if patient is None:
        raise Unusable(f"no patient: {cell['patient_id']!r}")
    return patient


def _labels(codes: str, superclass: dict[str, int | None]) -> tuple[int, ...]:
    try:
        stated = ast.literal_eval(codes)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        stated = None
    if not isinstance(stated, dict):
        raise Unusable(f"scp_codes is no dictionary: {codes[:60]!r}")
    unknown = [str(code) for code in stated if code not in superclass]
    if unknown:  # its superclass may be any, or none
        raise Unusable(f"unknown SCP code: {', '.join(unknown)[:60]}")
    return tuple(dict.fromkeys(index for code in stated if (index := superclass[code]) is not None))
