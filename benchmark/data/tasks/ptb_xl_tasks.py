"""The six tasks of PTB-XL (Strodthoff et al., IEEE JBHI 2021): which statements make which classes.

A recording's labels are the keys of `scp_codes`, of whatever likelihood, 0 included, mapped through
`scp_statements.csv`; recordings without a label of the task are dropped. Folds 1-8 train, 9 validates, 10 tests.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmark.data.readers.scp import SCP_STATEMENTS, Statement

if TYPE_CHECKING:
    import pandas as pd

PTB_XL_TASKS: dict[str, str] = {
    "all": "every statement",
    "diagnostic": "diagnostic statements",
    "subdiagnostic": "subclasses of the diagnostic statements",
    "superdiagnostic": "superclasses of the diagnostic statements",
    "form": "statements on the form of the ECG",
    "rhythm": "statements on the rhythm",
}
"""Task -> what its classes are."""


def class_of_code(task: str, statements: Iterable[Statement] = SCP_STATEMENTS) -> dict[str, str]:
    """SCP code -> class, of the codes that count for a task. Raises ValueError for an unknown task."""
    if task not in PTB_XL_TASKS:
        raise ValueError(f"unknown task {task!r} of PTB-XL: there are {', '.join(PTB_XL_TASKS)}")
    if task == "all":
        return {own.code: own.code for own in statements}
    if task in ("form", "rhythm"):
        return {own.code: own.code for own in statements if task in own.kinds.split()}
    diagnostic = [own for own in statements if "diagnostic" in own.kinds.split()]
    if task == "diagnostic":
        return {own.code: own.code for own in diagnostic}
    if task == "subdiagnostic":
        return {own.code: own.subclass for own in diagnostic if own.subclass}
    return {own.code: own.superclass for own in diagnostic if own.superclass}


def statements(
    table: pd.DataFrame, scp_statements: pd.DataFrame, task: str
) -> tuple[NDArray[np.int64], tuple[str, ...], NDArray[np.int64]]:
    """A task's labels from the dataset's two tables, by the official rule.

    table: ptbxl_database.csv, its `ecg_id` a column or the index, `scp_codes` as text or as dicts. scp_statements:
    scp_statements.csv, its codes the first column or the index.

    Returns the `ecg_id` of the recordings kept (R,), the names of the classes that they have in the official order,
    which is that of the characters, and multi-hot labels (R, C). Raises ValueError for an unknown task.
    """
    of_code = class_of_code(task, map(_statement, *_columns(scp_statements)))
    ids = table["ecg_id"] if "ecg_id" in table.columns else table.index
    found = [labels_of(_codes(stated), of_code, others=task == "all") for stated in table["scp_codes"]]
    kept = [place for place, labels in enumerate(found) if labels]
    classes = tuple(sorted({label for place in kept for label in found[place]}))
    column = {name: index for index, name in enumerate(classes)}
    labels = np.zeros((len(kept), len(classes)), np.int64)
    for row, place in zip(labels, kept, strict=True):
        row[[column[label] for label in found[place]]] = 1
    return np.asarray(ids, np.int64)[kept], classes, labels


def labels_of(codes: Iterable[str], of_code: Mapping[str, str], *, others: bool = False) -> tuple[str, ...]:
    """The classes of some codes, each once, sorted. others: a code that has no class is one of its own."""
    return tuple(sorted({of_code.get(code, code) for code in codes if others or code in of_code}))


def _codes(stated: str | Mapping[str, float]) -> Iterable[str]:
    codes: Mapping[str, float] = ast.literal_eval(stated) if isinstance(stated, str) else stated
    return codes


def _columns(table: pd.DataFrame) -> list[list[Any]]:
    """Code, the three kinds, class and subclass of each row of scp_statements.csv."""
    named = table.set_index(table.columns[0]) if table.index.inferred_type == "integer" else table
    kinds = ("diagnostic", "form", "rhythm", "diagnostic_class", "diagnostic_subclass")
    return [named.index.tolist(), *(named[kind].tolist() for kind in kinds)]


def _statement(code: str, diagnostic: object, form: object, rhythm: object, *classes: object) -> Statement:
    marked = {"diagnostic": diagnostic, "form": form, "rhythm": rhythm}
    kinds = " ".join(kind for kind, mark in marked.items() if mark == 1)
    superclass, subclass = (name if isinstance(name, str) else "" for name in classes)
    return Statement(code, kinds, superclass, subclass, "")
