"""The figures of a run, drawn anew only where they would differ from the files that are there.

Without a new drawing matplotlib is not loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from reports.figures.files import FOLDER, Figures
from reports.runs.kept import Kept, file_digest
from reports.runs.run import Run
from reports.statistics.further.classes import ClassTable
from reports.statistics.of_table import TableStatistics


def figures_in(
    run: Run,
    out: Path,
    staged: Path,
    units: Sequence[str],
    statistics: Mapping[str, TableStatistics],
    kept: Kept,
    classes: Sequence[ClassTable] = (),
) -> Figures:
    """The figures under `out`/figures if they were drawn from the run's content, else new ones under `staged`."""
    known = kept.get(FOLDER, *units)
    folder = out / FOLDER
    if known and all(file_digest(folder / name) == digest for name, digest in known):
        return Figures(tuple(folder / name for name, _ in known), ())
    from reports.figures.choose import write_figures  # here, because matplotlib loads slowly

    drawn = write_figures(run, staged, units, statistics, classes)
    if not drawn.problems:
        kept.put([[file.name, file_digest(file)] for file in drawn.files], FOLDER, *units)
    return drawn
