"""The page of a run: one HTML file, filled from templates, that needs no network.

The script inserts text of a store as text. The same rows give the same bytes.

The page's summary: progress, protocol, warnings, and how the best method stands to the reference rows.

Embeds PNG figures in the page as data URIs, within its size limit.

Text from a store is untrusted: templates escape it, and the Content Security Policy allows the page's own script and
style only.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from struct import unpack
from typing import Any, NamedTuple

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmark.results.metrics import F1_OVER, UNTESTED
from benchmark.results.names import (
    ABLATION,
    EVALUATION_TITLES,
    GATE,
    METHOD,
    OVERALL,
    SWEEP,
    is_untrained,
)
from benchmark.results.store import Plan, labels_of
from reports.page_panels import (
    HEADINGS,
    HEIGHT,
    WIDTH,
    SkippedRecording,
    coverage,
    failures,
    learned,
    matrices,
    read_skipped,
    sources,
)
from reports.results import Results, role_of
from reports.statistics.estimates import LEVEL
from reports.statistics.table import FIGURE, Place, TableStatistics
from reports.tables.render import Block, Line, Table, TextTable
from reports.tables.verdict import EQUIVALENT
from reports.tables.words import progress, signed, unit_text, used_text

ROLES = {
    METHOD: "Methods",
    ABLATION: "Ablations",
    SWEEP: "Sweeps",
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


def statements(run: Results, tables: Sequence[Table]) -> Iterator[Statement]:
    """Cells, protocol and units, whether ECGs are simulated, the warnings of the plan, and its config's own caption."""
    plan = run.plan
    finished, rest = progress(run, {cell.key for cell in plan.cells})
    yield Statement(f"{finished} cells are finished{rest}.", warns=bool(rest))
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


def untested(run: Results) -> Iterator[str]:
    """Classes of a dataset without a test window, and whether its rows are means over different classes."""
    notes: dict[str, dict[str, None]] = {}
    for row in run.rows.values():
        notes.setdefault(row.dataset, {}).update(dict.fromkeys(row.notes))
    for dataset, facts in run.plan.datasets.items():
        own = notes.get(dataset, {})
        differ = len([note for note in own if note.startswith(F1_OVER)]) > 1
        more = "; macro F1 is not over the same classes in every row (see the notes under the table)" if differ else ""
        yield from (f"{facts['title']}: {note}{more}." for note in own if note.startswith(UNTESTED))


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
    words = f"{name}: {signed(own.mean - reference.mean)} points"
    if pairs is None:
        return words
    overall = pairs[(pairs["ratio"] == ratio) & (pairs["metric"] == OVERALL)]
    for sign, first, second in ((1, best.variant, other.variant), (-1, other.variant, best.variant)):
        found = overall[(overall["first"] == first) & (overall["second"] == second)].dropna(subset=["low", "high"])
        for low, high in found[["low", "high"]].itertuples(index=False):
            ends = sorted((100 * sign * low, 100 * sign * high))
            words += f" (95 % interval {signed(ends[0])} to {signed(ends[1])})"
    return words


def dotted(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """('pretrain.epochs', '3') for each value of a nested config."""
    for name, value in config.items():
        if isinstance(value, Mapping) and value:
            yield from dotted(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value if isinstance(value, str) else json.dumps(value)


def interval_texts(statistics: TableStatistics | None) -> dict[Place, str]:
    """Ratio, dataset, metric and variant -> '54.9 to 57.2 at 95 %' (percent), for numbers with an interval."""
    if statistics is None or "intervals" not in statistics.frames:
        return {}
    known = statistics.frames["intervals"].dropna(subset=["low", "high"])
    columns = ["ratio", "dataset", "metric", "variant", "low", "high"]
    return {
        (float(ratio), str(dataset), str(metric), str(variant)): (
            f"{100 * low:z.1f} to {100 * high:z.1f} at {100 * (1 - LEVEL):g} %"
        )
        for ratio, dataset, metric, variant, low, high in known[columns].itertuples(index=False, name=None)
    }


SIGNATURE = b"\x89PNG\r\n\x1a\n"
SIZE_AT = slice(16, 24)
"""Bytes of a PNG file with width and height."""
DRAWN_AT = 200 / 120
"""Pixels of a figure (200 dpi) per pixel of the page; text is then a quarter larger than in print."""


class Picture(NamedTuple):
    """A figure to embed."""

    title: str
    file: Path


@dataclass(frozen=True)
class Embedded:
    """A figure in a page."""

    name: str
    """Of its file, without ending."""
    title: str
    source: str
    """Its data URI."""
    width: int
    height: int
    """In pixels of the page."""


def titles_in_names(plan: Plan) -> dict[str, str]:
    """Dataset or row of a plan, as it stands in the names of figures -> its title."""
    titles = {name: str(facts["title"]) for name, facts in plan.datasets.items()} | dict(plan.variants)
    return {name.replace("_", "-").replace(" ", "-"): title for name, title in titles.items()}


def pictures_of(files: Iterable[Path], titles: Mapping[str, str]) -> list[Picture]:
    """The PNG files among some figures, titled by their names: 'Fine-tuned, per heartbeat: confusion, PTB-XL'.

    titles: `titles_in_names`.
    """
    return [Picture(_title(file.stem, titles), file) for file in files if file.suffix == ".png"]


def _title(stem: str, titles: Mapping[str, str]) -> str:
    evaluation = next((name for name in EVALUATION_TITLES if stem.startswith(f"{name}-")), "")
    unit, _, what = stem.removeprefix(f"{evaluation}-").partition("-")
    if not evaluation or not what:
        return stem.replace("-", " ").capitalize()
    return f"{EVALUATION_TITLES[evaluation]}, per {unit}: {_words(what, titles)}"


def _words(what: str, titles: Mapping[str, str]) -> str:
    """'confusion-ptb-xl' -> 'confusion, PTB-XL'; the longest known name in it is the one meant."""
    for name in sorted(titles, key=len, reverse=True):
        before, found, after = f"-{what}-".partition(f"-{name}-")
        if found:
            parts = [before.replace("-", " ").strip(), titles[name], after.replace("-", " ").strip()]
            return ", ".join(filter(None, parts))
    return what.replace("-", " ")


def embedded(pictures: Sequence[Picture], room: int) -> Iterator[Embedded | str]:
    """Each figure embedded, or one sentence why it is left out. room: bytes for all figures."""
    for title, file in pictures:
        try:
            content = file.read_bytes()
        except OSError as problem:
            yield f"{title}: {file.name} cannot be read ({problem.strerror})."
            continue
        if not content.startswith(SIGNATURE) or len(content) < SIZE_AT.stop:
            yield f"{title}: {file.name} is no PNG file."
            continue
        source = f"data:image/png;base64,{b64encode(content).decode()}"
        if len(source) > room:
            yield f"{title}: left out for the size of this page; it is in {file.name}."
            continue
        room -= len(source)
        width, height = unpack(">II", content[SIZE_AT])
        yield Embedded(file.stem, title, source, round(width / DRAWN_AT), round(height / DRAWN_AT))


TEMPLATES = Path(__file__).resolve().parent / "templates"


def rendered(name: str, content: Mapping[str, Any], *, scripts: Sequence[str]) -> str:
    """The page of a template, with the style of all pages and the files `scripts` as one script."""
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    script = "\n".join((TEMPLATES / file).read_text(encoding="utf-8") for file in scripts)
    return _environment().get_template(name).render(content, style=style, script=script)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = {
        "separators": (",", ":"),
        "allow_nan": False,
        "ensure_ascii": False,
    }
    return environment


MAX_BYTES = 8_000_000
FRAME = 1000
"""Bytes reserved per figure for markup, title or the sentence of one left out."""
LISTED = 100
"""Most skipped recordings of a dataset that are listed."""
FIGURES_OF = {
    "confusion": "classes",
    "classes": "classes",
    "training": "health",
}
"""First word of a figure's name -> the section that it explains; other figures of a table stand below that."""
FEW = 10
"""Most cells of one error that are shown without a click."""


def report_html(
    run: Results,
    tables: Sequence[Table],
    statistics: Mapping[str, TableStatistics],
    *,
    skipped: Sequence[SkippedRecording] = (),
    pictures: Sequence[Picture] = (),
    texts: Mapping[str, Sequence[TextTable]] | None = None,
    problems: Sequence[str] = (),
) -> str:
    """The report of a run as one page; figures that would exceed `MAX_BYTES` are left out.

    statistics: by table name. skipped: lines of skipped.csv (`read_skipped`), listed where they match the plan's
    counts. texts: section -> its tables of texts; none for an empty one. problems: further errors, one line each.
    """
    plan = run.plan
    content: dict[str, Any] = {
        "name": str(plan.config.get("name") or "without a name"),
        "key": plan.key,
        "compared": list(compared(plan)),
        "config": list(dotted(plan.config)),
        "verdict": tables[0].verdict if tables else (),
        "statements": list(statements(run, tables)),
        "gates": list(against_gates(tables, statistics)),
        "tables": [_shown(table, statistics.get(table.name)) for table in tables],
        "texts": [(title.lower().replace(" ", "-"), title, own) for title, own in (texts or {}).items() if own],
        "learned": list(learned(run.pretrainings, plan.variants)),
        "sources": list(sources(plan, skipped)),
        "coverage": list(coverage(run)),
        "failures": list(failures(run)),
        "problems": problems,
    }
    room = MAX_BYTES - len(_render(content, []).encode()) - FRAME * len(pictures)
    return _render(content, list(embedded(pictures, room)))


def section_of(figure: str, tables: Sequence[Table]) -> str:
    """The anchor of the section that a figure stands in: that of what it explains, 'figures' if there is none."""
    if tables and figure == f"{tables[0].name}-{FIGURE}":
        return "verdict"
    for number, table in enumerate(tables, start=1):
        if figure.startswith(f"{table.name}-"):
            kind = figure.removeprefix(f"{table.name}-").partition("-")[0]
            return FIGURES_OF.get(kind, f"table-{number}")
    return FIGURES_OF.get(figure.partition("-")[0], "figures")


def _shown(table: Table, statistics: TableStatistics | None) -> dict[str, Any]:
    """A table with its column groups (title, span), intervals and matrices of paired differences."""
    groups = groupby(table.columns, key=lambda column: column.group)
    pairs = statistics.frames.get("pairwise") if statistics else None
    return {
        "table": table,
        "groups": [(group, len(list(columns))) for group, columns in groups],
        "intervals": interval_texts(statistics),
        "matrices": [] if pairs is None else list(matrices(table, pairs)),
    }


def _render(content: Mapping[str, Any], figures: Sequence[Embedded | str]) -> str:
    sections = list(_sections(content))
    anchors = {anchor for anchor, _ in sections}
    placed: dict[str, list[Embedded]] = {}
    for figure in figures:
        if isinstance(figure, Embedded):
            place = section_of(figure.name, [shown["table"] for shown in content["tables"]])
            placed.setdefault(place if place in anchors else "figures", []).append(figure)
    left_out = [sentence for sentence in figures if isinstance(sentence, str)]
    if left_out or "figures" in placed:
        sections.insert([anchor for anchor, _ in sections].index("data"), ("figures", "Figures"))
    shown = {
        "figures": placed,
        "left_out": left_out,
        "measures": HEADINGS,
        "size": {"width": WIDTH, "height": HEIGHT},
        "sections": sections,
        "equivalent": EQUIVALENT,
        "listed": LISTED,
        "few": FEW,
    }
    return rendered("report.html", {**content, **shown}, scripts=("sort.js", "report.js"))


def _sections(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(anchor, title) of each section with content."""
    yield "verdict", "Verdict"
    yield "summary", "Summary"
    tables = enumerate(content["tables"], start=1)
    yield from ((f"table-{number}", shown["table"].title) for number, shown in tables)
    yield from ((anchor, title) for anchor, title, _ in content["texts"])
    if content["learned"]:
        yield "health", "Pretrainings"
    if content["coverage"]:
        yield "coverage", "Coverage"
    yield "data", "Data"
    if content["failures"] or content["problems"]:
        yield "failures", "Failures"


__all__ = ["Picture", "SkippedRecording", "pictures_of", "read_skipped", "report_html", "titles_in_names"]
