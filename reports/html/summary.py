"""The page's summary: progress, protocol, warnings, and how the best method stands to the reference rows.

Gates are not tested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from benchmark.results.macro_classes import F1_OVER, UNTESTED
from benchmark.results.names import ABLATION, GATE, METHOD, OVERALL, PRESET, SNAPSHOT, SWEEP, is_untrained
from benchmark.results.plan import Plan, labels_of
from reports.runs.planned_tables import role_of
from reports.runs.run import Run
from reports.statistics.of_table import TableStatistics
from reports.tables.captions import unit_text, used_text
from reports.tables.values import Block, Line, Table

ROLES = {
    METHOD: "Methods",
    ABLATION: "Ablations",
    SWEEP: "Sweeps",
    SNAPSHOT: "Snapshots",
    PRESET: "Presets",
    GATE: "Gates (reference rows)",
}


class Statement(NamedTuple):
    """One sentence or two."""

    text: str
    warns: bool = False


def compared(plan: Plan) -> Iterator[tuple[str, str]]:
    """('Methods', 'MoCo, PMQ') and so on: the rows of a plan by role, then its data."""
    for role, words in ROLES.items():
        titles = [title for name, title in plan.variants.items() if role_of(plan, name)["role"] == role]
        if titles:
            yield words, ", ".join(titles)
    yield "Datasets", ", ".join(str(facts["title"]) for facts in plan.datasets.values())
    yield "Pretrained on", f"{plan.pretraining.get('title') or plan.pretraining['name']}{used_text(plan)}"


def statements(run: Run, tables: Sequence[Table]) -> Iterator[Statement]:
    """Cells, protocol and units, whether ECGs are simulated, the warnings of the plan, and its config's own caption."""
    plan = run.plan
    yield _cells(run)
    units = dict.fromkeys(unit_text(plan, table.unit) for table in tables)
    yield Statement(f"Protocol {plan.config['protocol']}, {labels_of(plan)} labels, scores per {' and '.join(units)}.")
    simulated = [source for source in (*plan.datasets.values(), plan.pretraining) if source.get("simulated")]
    if simulated:
        some = "Simulated ECGs" if len(simulated) > len(plan.datasets) else "Some of the ECGs are simulated"
        yield Statement(f"{some}: no ranking of methods follows from these numbers.", warns=True)
    yield from (Statement(f"{warning}.", warns=True) for warning in plan.warnings)
    yield from (Statement(text, warns=True) for text in untested(run))
    own = str(plan.config.get("caption") or "").strip()
    yield from [Statement(own)] if own else []


def against_gates(
    tables: Sequence[Table], statistics: Mapping[str, TableStatistics]
) -> Iterator[tuple[str, list[str]]]:
    """Title of each table with statistics, and per label ratio how its best method stands to the reference rows."""
    for table in tables:
        found = statistics.get(table.name)
        if found and "intervals" in found.frames:
            pairs = found.frames.get("pairwise")
            yield table.title, [sentence for block in table.blocks for sentence in references(block, pairs)]


def untested(run: Run) -> Iterator[str]:
    """Classes of a dataset without a test window, and whether its rows are means over different classes."""
    notes: dict[str, dict[str, None]] = {}
    for row in run.rows.values():
        notes.setdefault(row.dataset, {}).update(dict.fromkeys(row.notes))
    for dataset, facts in run.plan.datasets.items():
        own = notes.get(dataset, {})
        differ = len([note for note in own if note.startswith(F1_OVER)]) > 1
        more = "; macro F1 is not over the same classes in every row (see the notes under the table)" if differ else ""
        yield from (f"{facts['title']}: {note}{more}." for note in own if note.startswith(UNTESTED))


def _cells(run: Run) -> Statement:
    keys = {cell.key for cell in run.plan.cells}
    counts = {
        "failed": len(keys & run.failures.keys()),
        "damaged": len(keys & run.damaged.keys()),
    }
    done = len(keys & run.rows.keys())
    counts["not run"] = len(keys) - done - sum(counts.values())
    rest = "".join(f", {count} {what}" for what, count in counts.items() if count)
    return Statement(f"{done} of {len(keys)} cells are finished{rest}.", warns=done < len(keys))


def references(block: Block, pairs: pd.DataFrame | None) -> Iterator[str]:
    """How the method with the highest Overall stands to Random and to each gate: difference in points, and its 95 %
    interval where it was computed (`pairwise`)."""
    scored = [line for line in block.lines if line.scores[-1].mean is not None]
    gates = [line for line in scored if _is_reference(line)]
    methods = [line for line in scored if not _is_reference(line)]
    if not gates:
        return
    if not methods:
        named = "; ".join(f"{line.title} {line.scores[-1].printed}{line.scores[-1].spread}" for line in gates)
        yield f"{block.title}: Overall of the reference rows: {named}."
        return
    best = max(methods, key=lambda line: (line.scores[-1].n, line.scores[-1].mean))
    told = "; ".join(_difference(best, line, block.ratio, pairs) for line in gates)
    yield f"{block.title}: {best.title}, {best.scores[-1].printed}{best.scores[-1].spread}, against {told}."


def _is_reference(line: Line) -> bool:
    return line.gate or is_untrained(line.variant)


def _difference(best: Line, other: Line, ratio: float, pairs: pd.DataFrame | None) -> str:
    """'Random, 59.3: +2.1 points (95 % interval −0.4 to +4.6)': the difference in Overall of two lines."""
    own, reference = best.scores[-1], other.scores[-1]
    name = f"{other.title}, {reference.printed}{reference.spread}"
    if own.mean is None or reference.mean is None or own.n != reference.n:
        return f"{name}: not over the same columns"
    words = f"{name}: {_points(own.mean - reference.mean)} points"
    if pairs is None:
        return words
    overall = pairs[(pairs["ratio"] == ratio) & (pairs["metric"] == OVERALL)]
    for sign, first, second in ((1, best.variant, other.variant), (-1, other.variant, best.variant)):
        found = overall[(overall["first"] == first) & (overall["second"] == second)].dropna(subset=["low", "high"])
        for low, high in found[["low", "high"]].itertuples(index=False):
            ends = sorted((100 * sign * low, 100 * sign * high))
            words += f" (95 % interval {_points(ends[0])} to {_points(ends[1])})"
    return words


def _points(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")
