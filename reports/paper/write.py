"""`verify-paper` on files and on a terminal: verify-paper.md, and beside a store verify-paper.csv and its figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.results.files.write import write_atomic
from benchmark.results.plain_text import csv_text
from reports.paper.figure import paper_and_store
from reports.paper.printed import METRICS
from reports.paper.replication import Beside
from reports.paper.sections import Section, Verification, verification
from reports.paper.verdicts import REFUTED, SUPPORTED, Judgement
from reports.tables.terminal import Sheet, Span
from reports.tables.text import literal, pipe_table

CSV_HEADER = (
    "variant", "ratio", "dataset", "metric", "paper_mean", "paper_std", "store_mean", "store_std", "store_seeds",
    "difference", "inside_joint_spread",
)  # fmt: skip
SHOWN = ("Verdict", "Claims")
"""Prefixes of the section titles shown on a terminal; the files have all sections."""
ROLES = {SUPPORTED: "best", REFUTED: "block"}


@dataclass(frozen=True)
class Verified:
    """A verification and its files."""

    verification: Verification
    files: tuple[Path, ...]


def verify_paper(out: Path, results: Path | None = None) -> Verified:
    """Verify the paper, and compare it with the store in `results`, if any; write the files under `out`."""
    found = verification(results)
    write_atomic(out / "verify-paper.md", markdown(found).encode())
    files = [out / "verify-paper.md"]
    if found.beside:
        write_atomic(out / "verify-paper.csv", long_csv(found.beside).encode())
        files += [out / "verify-paper.csv", *_figures(found, out)]
    return Verified(found, tuple(files))


def markdown(found: Verification) -> str:
    """All sections."""
    parts = ["# The PMQ paper, verified"]
    for section in found.sections:
        parts.append(f"## {literal(section.title)}")
        if section.said:
            parts.append("\n".join(f"- {literal(text)}" for text in section.said))
        if section.judgements:
            parts.append("\n".join(map(_md_judgement, section.judgements)))
        if section.rows:
            parts.append(pipe_table(section.header, [[literal(cell) for cell in row] for row in section.rows]))
    return "\n\n".join(parts) + "\n"


def _md_judgement(judgement: Judgement) -> str:
    claim = judgement.claim
    lines = [f"- **{judgement.verdict}**: {literal(claim.text)} ({_lines_of(judgement)})", literal(judgement.text)]
    return "  \n  ".join([*lines, *([f"*{literal(judgement.remark)}*"] if judgement.remark else [])])


def _lines_of(judgement: Judgement) -> str:
    return f"{'lines' if ',' in judgement.claim.lines else 'line'} {judgement.claim.lines}"


def long_csv(pairs: Sequence[Beside]) -> str:
    """One line per cell that paper and store both have, in percent, unrounded."""
    return csv_text(CSV_HEADER, map(_csv_line, pairs))


def _csv_line(pair: Beside) -> tuple[object, ...]:
    numbers = (pair.paper.mean, pair.paper.std, pair.ours.mean, pair.ours.std, pair.ours.seeds, pair.difference)
    return (*pair.place, *numbers, "" if pair.inside is None else int(pair.inside))


def _figures(found: Verification, out: Path) -> Iterator[Path]:
    """One figure per metric, as PNG and PDF."""
    for metric in METRICS:
        shown = [pair for pair in found.beside if pair.place.metric == metric]
        if shown:
            yield from paper_and_store(shown, out / f"verify-paper-{metric}", simulated=found.simulated)


def verification_sheet(found: Verification) -> Sheet:
    """Verdict and judgements for a terminal."""
    shown = [section for section in found.sections if section.title.startswith(SHOWN)]
    return Sheet(above=tuple(span for section in shown for span in _paragraphs(section)))


def _paragraphs(section: Section) -> Iterator[Span]:
    yield from (("", ""), (section.title, "title"), *((text, "") for text in section.said))
    for judgement in section.judgements:
        yield from (("", ""), (judgement.verdict, ROLES.get(judgement.verdict, "faint")))
        yield f"  {judgement.claim.text} ({_lines_of(judgement)})", ""
        yield from ((f"  {text}", "faint") for text in (judgement.text, judgement.remark) if text)
