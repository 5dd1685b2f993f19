"""What the first files of a folder state of their leads, rate and unit: the lines of a card's section `signals`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmark.data.readers.base import LEADS, DatasetError, Unusable
from benchmark.data.readers.cards.card import ARRAYS, NO_UNITS, PATIENT, RECORDING, SUFFIXES, Format, Signals
from benchmark.data.readers.cards.draft.line import Line, asked, told
from benchmark.data.readers.cards.forms.formats import READERS
from benchmark.data.readers.cards.forms.stored import Stored, derivable
from benchmark.data.readers.files.wfdb_record import MILLIVOLTS

LOOKED_AT = 3
"""Files that are read."""
ANY = Signals.model_construct()
"""Of a card that says nothing of its signals."""


def signal_lines(folder: Path, pattern: str, paths: Sequence[str], others: Sequence[str] = ()) -> Iterator[Line]:
    """The lines of `signals`; `others`: suffix in other capitals. Raises DatasetError where none can be read."""
    if others:
        yield asked("files", f"{pattern} finds {len(paths)} files, not {len(others)} such as {others[0]}: rename these")
    elif RECORDING in pattern and len({Path(path).name for path in paths}) < len(paths):
        yield asked("files", f"{pattern} finds several files of one name: use {PATIENT}/{RECORDING}, or narrow it")
    else:
        yield told("files", pattern, f"{len(paths)} files")
    kind = SUFFIXES[Path(paths[0]).suffix.lower()]
    if kind in ARRAYS:
        yield from array_lines(folder, paths)
        return
    READERS[kind].versions(str(folder))
    stored = first_readable(folder, kind, paths)
    yield from lead_lines(stored)
    if stored.fs is None:
        yield asked("rate", "Hz; these files do not state it")
    if kind in NO_UNITS or not stored.units or not all(stored.units):
        largest = float(np.nanmax(np.abs(stored.signal))) if stored.signal.size else 0.0
        yield asked("unit", f"mV, uV, V or nV, or instead gain: steps per millivolt; values go up to {largest:g}")
    elif unknown := sorted({unit for unit in stored.units if unit.lower() not in MILLIVOLTS}):
        yield asked("unit", f"the files state {', '.join(unknown)}, which is no unit of a voltage")


def first_readable(folder: Path, kind: Format, paths: Sequence[str]) -> Stored:
    """The first of a few files that can be read. Raises DatasetError with the reason where none can."""
    for path in paths[:LOOKED_AT]:
        try:
            return READERS[kind].read(folder / path, ANY)
        except Unusable as reason:
            problem = f"{path}: {reason}"
    raise DatasetError(f"{folder}: none of the first {min(LOOKED_AT, len(paths))} files can be read: {problem}")


def lead_lines(stored: Stored) -> Iterator[Line]:
    """`leads` and `derive`, where the names in a file are not those of the twelve leads."""
    if stored.leads is None:
        yield asked("leads", f"names of the {stored.signal.shape[1]} columns in their order, '-' for one not used")
        return
    there = {name.strip().lower() for name in stored.leads}
    if computed := derivable(stored.leads):
        yield told("derive", True, f"the files lack {', '.join(computed)}, which follow from the other limb leads")
    elif any(lead.lower() not in there for lead in LEADS):
        yield asked("leads", f"a map {{name in the files: lead}}; the files have {', '.join(stored.leads)[:300]}")


def array_lines(folder: Path, paths: Sequence[str]) -> Iterator[Line]:
    """Lines of NumPy and HDF5 files, which name nothing."""
    yield asked("rate", "Hz; or rate_name: the name of the entry of the file that holds it")
    yield asked("unit", "mV, uV, V or nV, or instead gain: steps per millivolt")
    yield asked("leads", f"names of the columns in their order, e.g. [{', '.join(LEADS)}], '-' for one not used")
    if not paths[0].lower().endswith(".npz"):
        yield Line("stacked", None, f"true, if a file holds many recordings, a row each; then no {RECORDING} in files")
    if not paths[0].lower().endswith(".npy"):
        yield Line("array", None, "name of the array, if a file has several of two dimensions")
