"""`report --compare A B` on files and on a terminal: compare.md and compare.csv."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.results.files.write import write_atomic
from benchmark.results.metrics import METRICS
from benchmark.results.names import EVALUATION_TITLES
from benchmark.results.plain_text import csv_text
from reports.compare.find import Comparison, Pair, Side, compare
from reports.runs.open import open_results
from reports.tables.captions import ratio_text
from reports.tables.terminal import Sheet
from reports.tables.text import literal, pipe_table
from reports.tables.values import DASH

ON_TERMINAL = 20
"""Numbers shown on a terminal; the files have all."""
CSV_HEADER = (
    "evaluation", "unit", "ratio", "variant", "dataset", "metric", "a_mean", "a_std", "a_seeds", "b_mean", "b_std",
    "b_seeds", "difference", "equal_cells",
)  # fmt: skip


@dataclass(frozen=True)
class Compared:
    """A comparison and its files."""

    comparison: Comparison
    files: tuple[Path, ...]
    said: tuple[str, ...]
    """Messages on the sources' other runs and left-out rows, one line each."""


def compare_results(first: str, second: str, out: Path, *, unit: str | None = None) -> Compared:
    """Compare two runs, named as in reports.runs.open, and write compare.md and compare.csv under `out`.

    unit: 'heartbeat' or 'recording'; by default that of the first run's protocol. Raises NoResults.
    """
    with open_results([first]) as one, open_results([second]) as two:
        found = compare(one.run, two.run, unit)
        said = tuple(dict.fromkeys([*one.said, *two.said]))
    contents = {"compare.md": markdown(found), "compare.csv": long_csv(found)}
    for name, text in contents.items():
        write_atomic(out / name, text.encode())
    return Compared(found, tuple(out / name for name in contents), said)


def markdown(found: Comparison) -> str:
    """Summary, settings that differ, and the numbers of both runs whose cells are not all equal to the bit."""
    parts = ["# Two runs compared", "\n".join(f"- {literal(text)}" for text in words(found))]
    if found.settings:
        rows = [[literal(cell) for cell in row] for row in found.settings]
        parts += ["## Settings that differ", pipe_table(["Setting", "A", "B"], rows)]
    rows = [
        [
            literal(pair.method), EVALUATION_TITLES.get(pair.evaluation, pair.evaluation), literal(pair.corpus),
            ratio_text(pair.ratio, pair.evaluation), METRICS[pair.metric].title,
            side_text(pair.first), side_text(pair.second),
            difference_text(pair), _equal_text(pair),
        ]
        for pair in found.pairs if pair.shared and not pair.same
    ]  # fmt: skip
    if rows:
        header = ["Method", "Evaluation", "Dataset", "Labels", "Metric", "A", "B", "B − A", "Equal cells"]
        parts += ["## Numbers, the largest difference first", pipe_table(header, rows)]
    return "\n\n".join(parts) + "\n"


def words(found: Comparison) -> Iterator[str]:
    """The runs, and how many of their cells and numbers agree, one line each."""
    yield f"A: {found.names[0]}"
    yield f"B: {found.names[1]}"
    counts = ", ".join(f"{number} {what}" for what, number in found.cells.items())
    yield f"Finished cells: {counts}. Equal: the same scores and predictions to the bit."
    yield f"Numbers: percent, scored per {found.unit}, mean±std over the seeds that both runs have."
    both = [pair for pair in found.pairs if pair.shared]
    same = sum(pair.same for pair in both)
    yield f"{same} of {len(both)} numbers have equal cells only and are left out below."
    yield from alone("A", [pair for pair in found.pairs if pair.second is None])
    yield from alone("B", [pair for pair in found.pairs if pair.first is None])
    if found.reasons:
        yield f"The two are not comparable in one table: in B {'; '.join(found.reasons)}."


def alone(name: str, pairs: Sequence[Pair]) -> Iterator[str]:
    """What only one of the runs has, in one line; nothing where the other has all of it."""
    if pairs:
        kinds = {
            "methods": dict.fromkeys(pair.method for pair in pairs),
            "datasets": dict.fromkeys(pair.corpus for pair in pairs),
            "labels": dict.fromkeys(
                ratio_text(pair.ratio, pair.evaluation) for pair in sorted(pairs, key=lambda pair: -pair.ratio)
            ),
            "evaluations": dict.fromkeys(EVALUATION_TITLES.get(pair.evaluation, pair.evaluation) for pair in pairs),
        }
        places = "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds.items())
        yield f"{len(pairs)} numbers are in {name} alone, left out below, and in compare.csv: {places}."


def side_text(side: Side | None) -> str:
    """'70.1±0.8', or a dash where there is no number."""
    if side is None:
        return DASH
    return f"{side.mean:.1f}" + ("" if side.std is None else f"±{side.std:.1f}")


def difference_text(pair: Pair) -> str:
    """'+1.2', or a dash."""
    return DASH if pair.difference is None else f"{pair.difference:+.1f}"


def _equal_text(pair: Pair) -> str:
    """'1 of 2': how many cells of a number are equal to the bit."""
    return f"{pair.equal} of {max(len(side.seeds) for side in (pair.first, pair.second) if side)}"


def long_csv(found: Comparison) -> str:
    """One line per number that either run has, in percent, unrounded."""
    return csv_text(CSV_HEADER, (_csv_line(pair, found.unit) for pair in found.pairs))


def _csv_line(pair: Pair, unit: str) -> tuple[object, ...]:
    place = (pair.evaluation, unit, pair.ratio, pair.variant, pair.dataset, pair.metric)
    return (*place, *_csv_side(pair.first), *_csv_side(pair.second), pair.difference, pair.equal)


def _csv_side(side: Side | None) -> tuple[object, ...]:
    return ("", "", "") if side is None else (side.mean, side.std, " ".join(map(str, side.seeds)))


def comparison_sheet(found: Comparison) -> Sheet:
    """Summary, settings that differ and the largest differences."""
    settings = [f"{name}: {one} in A, {two} in B" for name, one, two in found.settings]
    rows = [pair for pair in found.pairs if pair.shared and not pair.same]
    more = len(rows) - ON_TERMINAL
    return Sheet(
        above=(("Two runs compared", "title"), *((text, "faint") for text in [*words(found), *settings])),
        columns=(("", "Number", "label"), ("", "A", "right"), ("", "B", "right"), ("", "B − A", "right")),
        blocks=(tuple(tuple([(text, "")] for text in _cells(pair)) for pair in rows[:ON_TERMINAL]),),
        below=((f"and {more} more in compare.md", "faint"),) if more > 0 else (),
    )


def _cells(pair: Pair) -> tuple[str, ...]:
    how = EVALUATION_TITLES.get(pair.evaluation, pair.evaluation).lower()
    label = (
        f"{pair.method}, {pair.corpus} {ratio_text(pair.ratio, pair.evaluation)}, {METRICS[pair.metric].title}, {how}"
    )
    return label, side_text(pair.first), side_text(pair.second), difference_text(pair)
