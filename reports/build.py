"""One call from a results folder to files: results.md, results.tex, results.csv and cells.csv.

The files depend on the rows alone: the same rows give the same bytes, in one run or in many.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmark.store import UNIT_OF_PROTOCOL, write_atomic
from reports.frame import load_results, tidy, wide
from reports.layouts import layouts
from reports.render import latex, long_csv, markdown
from reports.tables import Table, make_table

UNITS = ("heartbeat", "recording")


@dataclass(frozen=True)
class Report:
    """What was made of a results folder."""

    tables: tuple[Table, ...]
    files: tuple[Path, ...]
    problems: tuple[str, ...]
    """One line per row that was left out because it is damaged."""


def build_report(store_root: Path, out: Path, *, plan_key: str | None = None, unit: str | None = None) -> Report:
    """Write the tables of a plan (the latest unless its key is given), one per evaluation and score unit.

    unit: 'heartbeat', 'recording' or 'both'; by default the protocol's own (paper: heartbeat, strict: recording).
    Raises NoResults where there is no plan, ValueError for an unknown unit.
    """
    if unit not in (None, "both", *UNITS):
        raise ValueError(f"score unit {unit!r} is not known: choose {', '.join(UNITS)} or both")
    results = load_results(store_root, plan_key)
    frame = tidy(results)
    own = unit or UNIT_OF_PROTOCOL[results.plan.config["protocol"]]
    tables = tuple(
        make_table(results, frame, layout, evaluation, chosen)
        for evaluation in dict.fromkeys(cell.evaluation for cell in results.plan.cells)
        for layout in layouts(results.plan, evaluation)
        for chosen in (UNITS if own == "both" else (own,))
    )
    contents = {
        "results.md": "# Results\n\n" + "\n".join(map(markdown, tables)),
        "results.tex": latex(tables),
        "results.csv": long_csv(tables),
        "cells.csv": wide(results).to_csv(index=False, lineterminator="\n"),
    }
    for name, text in contents.items():
        write_atomic(out / name, text.encode())
    return Report(tables, tuple(out / name for name in contents), tuple(results.damaged.values()))
