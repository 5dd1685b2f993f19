"""PTB-XL 1.0.3 (Wagner et al., Sci Data 2020): 21,799 recordings, diagnostic superclasses, ten official folds."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import ClassVar

from benchmark.data.base import DatasetError, Entry, Listing, Recording
from benchmark.data.tables import read_table
from benchmark.data.wfdb_record import read_recording, record_files

COLUMNS = ("ecg_id", "patient_id", "scp_codes", "report", "strat_fold", "filename_lr", "filename_hr")
FORMS = {"records500": "filename_hr", "records100": "filename_lr"}
"""Form -> column of its file names, the preferred first. A dataset has one sampling rate: forms are never pooled."""


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
        table = read_table(self, self.root / "ptbxl_database.csv", COLUMNS)
        superclass = self._superclass_of_code()
        form = self._form({form: table[column].tolist() for form, column in FORMS.items()})
        entries = tuple(
            Entry(
                recording=ecg_id,
                patient=patient.removesuffix(".0") or f"unknown-{ecg_id}",
                path=paths[form],
                labels=self._labels(ecg_id, codes, superclass),
                report=report,
                fold=int(fold),
            )
            for ecg_id, patient, codes, report, fold, low, high in table.itertuples(index=False)
            for paths in [{"records100": low, "records500": high}]
        )
        return Listing(entries, form=form)

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """Header and signal file."""
        return record_files(self.root / entry.path, ".dat")

    def read(self, entry: Entry) -> Recording:
        """The signal in mV; raises Unusable."""
        return read_recording(self.root / entry.path)

    def _form(self, names: dict[str, list[str]]) -> str:
        """The form that holds most of the listed recordings; records500 where both hold as many."""
        held = {form: sum((self.root / f"{name}.hea").is_file() for name in listed) for form, listed in names.items()}
        form = max(held, key=lambda form: held[form])
        if held[form] == 0:
            raise DatasetError(
                f"{self.title}: no recording of ptbxl_database.csv is in {self.root}: "
                f"looked for their headers in {' and '.join(f'{form}/' for form in names)}. {self.how_to_get}"
            )
        return form

    def _superclass_of_code(self) -> dict[str, int]:
        """SCP code -> index into `classes`, for the diagnostic codes."""
        path = self.root / "scp_statements.csv"
        columns = ("Unnamed: 0", "diagnostic", "diagnostic_class")  # the column of the codes has no name
        table = read_table(self, path, columns)
        diagnostic = table[table["diagnostic"].isin(["1", "1.0"])]
        unknown = sorted(set(diagnostic["diagnostic_class"]) - set(self.classes))
        if unknown:
            raise DatasetError(f"{self.title}: {path} has the unknown diagnostic_class {', '.join(unknown)}")
        return {row[0]: self.classes.index(row[2]) for row in diagnostic.itertuples(index=False)}

    def _labels(self, ecg_id: str, codes: str, superclass: dict[str, int]) -> tuple[int, ...]:
        try:
            stated = dict(ast.literal_eval(codes))
        except (SyntaxError, ValueError, TypeError):
            raise DatasetError(
                f"{self.title}: ptbxl_database.csv, ecg_id {ecg_id}: scp_codes {codes!r} is no dictionary of codes"
            ) from None
        return tuple(dict.fromkeys(superclass[code] for code in stated if code in superclass))
