"""The page's summary: progress, protocol, warnings, and the highest Overall of each block.

Rows count as lower than the best only where the difference in Overall is significant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from benchmark.results.names import ABLATION, GATE, METHOD, OVERALL, SWEEP
from benchmark.results.plan import Plan
from reports.runs.planned_tables import role_of
from reports.runs.run import Run
from reports.statistics.of_table import TableStatistics
from reports.tables.captions import unit_text
from reports.tables.table import Block, Table

ROLES = {METHOD: "Methods", ABLATION: "Ablations", SWEEP: "Sweeps", GATE: "Gates (reference rows)"}


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
    yield "Pretrained on", str(plan.pretraining.get("title") or plan.pretraining["name"])


def statements(run: Run, tables: Sequence[Table]) -> Iterator[Statement]:
    """Cells, protocol and units, whether ECGs are simulated, the warnings of the plan, and its config's own caption."""
    plan = run.plan
    yield _cells(run)
    units = dict.fromkeys(unit_text(plan, table.unit) for table in tables)
    yield Statement(
        f"Protocol {plan.config['protocol']}, {plan.config['data']['labels']} labels, scores per {' and '.join(units)}."
    )
    simulated = [source for source in (*plan.datasets.values(), plan.pretraining) if source.get("simulated")]
    if simulated:
        some = "Simulated ECGs" if len(simulated) > len(plan.datasets) else "Some of the ECGs are simulated"
        yield Statement(f"{some}: no ranking of methods follows from these numbers.", warns=True)
    yield from (Statement(f"{warning}.", warns=True) for warning in plan.warnings)
    own = str(plan.config.get("caption") or "").strip()
    yield from [Statement(own)] if own else []


def leads(tables: Sequence[Table], statistics: Mapping[str, TableStatistics]) -> Iterator[tuple[str, list[str]]]:
    """Title of each table with statistics, and one sentence per label ratio on its Overall column."""
    for table in tables:
        found = statistics.get(table.name)
        if found and "intervals" in found.frames:
            yield table.title, [lead(block, found.frames["intervals"]) for block in table.blocks]


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


def lead(block: Block, intervals: pd.DataFrame) -> str:
    """The row of a block with the highest Overall, and which others differ from it significantly."""
    lines = {line.variant: line for line in block.lines}
    overall = intervals[(intervals["ratio"] == block.ratio) & (intervals["metric"] == OVERALL)]
    own = overall[overall["variant"].isin(list(lines))]
    groups: dict[str, list[str]] = {"best": [], "tie": [], "behind": [], "none": []}
    for found in own.to_dict("records"):
        kind = "none" if pd.isna(found["mean"]) else "best" if found["best"] else "tie" if found["tie"] else "behind"
        groups[kind].append(found["variant"])
    if not groups["best"]:
        return f"{block.title}: too few rows have all their scores for a comparison of Overall."
    told = {kind: ", ".join(lines[name].title for name in names) for kind, names in groups.items()}
    parts = [
        f"{block.title}: highest Overall {lines[groups['best'][0]].scores[-1].printed}, {told['best']}",
        f"not significantly different: {told['tie']}",
        f"significantly lower: {told['behind']}",
        f"scores missing: {told['none']}",
    ]
    return f"{'; '.join(part for part, names in zip(parts, groups.values(), strict=True) if names)}."
