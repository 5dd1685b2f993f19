"""The page of a run: one HTML file that needs no network and answers first which rows beat an untrained encoder.

Headline, figure of the differences, one table; all else is folded. Templates escape what comes from a store.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmark.results.names import MEASURES, collapsed
from reports.results import Record, Results
from reports.score_tables import DASH, Style, Table, wide
from reports.words import commits_text, labels_text, progress, row_title, seeds_named, source_text

TEMPLATES = Path(__file__).parent / "templates"
HTML = Style(
    text=escape, bold="<strong>{}</strong>", italic="<em>{}</em>", spread="<small>±{}</small>", tie=" ≈",
    mark="<sup>{}</sup>",
)  # fmt: skip


class Figure(NamedTuple):
    """A drawn figure."""

    png: Path
    caption: str
    answers: bool = False
    """Shown beside the verdict, not among the further figures."""


class Chapter(NamedTuple):
    """A folded part of the page."""

    title: str
    text: str
    tables: Mapping[str, str]
    """Heading -> table."""


def render_page(
    results: Results,
    tables: Sequence[Table],
    figures: Sequence[Figure],
    classes: Mapping[str, pd.DataFrame],
    costs: pd.DataFrame,
    problems: Sequence[str],
) -> str:
    """Render the page of a run. classes: heading -> table; costs: of `costs_table`; problems: one line each."""
    sections = [
        Chapter("Scores by class", "At the smallest label share; in brackets the prevalence; mean±std over seeds.", {
            title: html(frame) for title, frame in classes.items()
        }),
        Chapter("Pretrainings", HEALTH_TEXT, {"": html(pretrainings_table(results))}),
        Chapter("Costs of the pretrainings", "The mean where a row has several pretrainings.", {"": html(costs)}),
        Chapter("Data", "", {"": html(data_table(results))}),
    ]  # fmt: skip
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("report.html").render(
        style=(TEMPLATES / "report.css").read_text(),
        name=results.plan.config.get("name", ""),
        head=list(head_lines(results)),
        warnings=results.plan.warnings,
        tables=[(table, blocks(table)) for table in tables],
        answers=[embedded(figure) for figure in figures if figure.answers],
        figures=[embedded(figure) for figure in figures if not figure.answers],
        sections=[section for section in sections if any(section.tables.values())],
        problems=problems,
    )  # fmt: skip


def html(frame: pd.DataFrame) -> str:
    """Return a frame of texts as a table; '' for an empty one."""
    if frame.empty:
        return ""
    return str(frame.to_html(index=False, border=0, na_rep=DASH, float_format="{:,.6g}".format))


def blocks(table: Table) -> list[tuple[str, str]]:
    """Return title and table of each label share."""
    return [
        (labels_text(ratio), wide(table, ratio, HTML).to_html(escape=False, border=0, index_names=False))
        for ratio in table.layout.ratios
    ]


def embedded(figure: Figure) -> tuple[str, str]:
    """Return the data URI of a figure and its caption."""
    return f"data:image/png;base64,{b64encode(figure.png.read_bytes()).decode()}", figure.caption


def head_lines(results: Results) -> Iterator[str]:
    """Yield cells with commit, then protocol and data."""
    plan, keys = results.plan, {cell.key for cell in results.plan.cells}
    finished, rest = progress(results, keys)
    yield f"{finished} cells{rest}{commits_text(results, keys)}."
    tested = ", ".join(map(source_text, plan.datasets.values()))
    yield f"Protocol {plan.config['protocol']}. Tested on {tested}. Pretrained on {source_text(plan.pretraining)}."


HEALTH_TEXT = (
    "From the untrained encoder to the last epoch. Retrieval: share of the held-out windows whose nearest window is of "
    "the same patient; chance: if it were drawn at random. Positives: of a query in the last batch, its own pair "
    "included; beyond the pair: share of the queries that have more, for methods with patients."
)
HEALTH_COLUMNS = MEASURES | {
    "retrieval_chance": "Chance", "positives": "Positives", "beyond_pair": "Beyond the pair",
}  # fmt: skip
"""Measure -> column."""


def pretrainings_table(results: Results) -> pd.DataFrame:
    """Return loss and health of each pretraining, by row and seed; the untrained encoders of a row are one line."""
    lines, seen = [], set[str]()
    for variant, records in results.pretrainings.items():
        new = [record for key, record in records.items() if key not in seen]
        trained, untrained = ([record for record in new if bool(record.get("loss")) is it] for it in (True, False))
        groups = [*([record] for record in trained), untrained]
        lines += [pretraining_line(row_title(results.plan, variant), group) for group in groups if group]
        seen |= records.keys()
    return pd.DataFrame(lines)


def pretraining_line(title: str, records: Sequence[Record]) -> dict[str, str]:
    """Return the texts of one pretraining, or the means of several encoders that were not trained."""
    record, loss = records[0], records[0].get("loss")
    health = pd.DataFrame([epoch for of in records for epoch in of.get("health") or [{}]], columns=list(HEALTH_COLUMNS))
    health = health.astype(float)
    ends = health.iloc[[0, -1]] if loss else health.mean().to_frame().T
    training = "untrained"
    if loss:
        seconds = f", {record['seconds']:.0f} s" if record.get("seconds") else ""
        training = f"{len(loss)} epochs, {record.get('updates', 0)} updates{seconds}"
    if collapsed(ends["effective_rank"].iloc[-1], ends["mean_cosine"].iloc[-1]):
        training += "; collapsed" if loss else "; features hardly differ between windows"
    line = {"Pretraining": title, "Seed": seeds_named([of.get("seed", 0) for of in records]), "Training": training}
    line["Loss"] = course([loss[0], loss[-1]] if loss else [])
    return line | {heading: course(ends[measure].dropna()) for measure, heading in HEALTH_COLUMNS.items()}


def course(values: Iterable[float]) -> str:
    """Return '6.70 → 2.30'; a dash where there is no value."""
    return " → ".join(f"{value:.2f}" for value in values) or DASH


def data_table(results: Results) -> pd.DataFrame:
    """Return sizes and skipped recordings of the datasets and of the pretraining corpus."""
    plan = results.plan
    return pd.DataFrame(
        {
            "Dataset": facts.get("title") or name, "Kind": "simulated" if facts.get("simulated") else "real",
            "Recordings": facts["recordings"], "Patients": facts["patients"],
            "Skipped": sum((facts.get("skipped") or {}).values()), "Why": counts_text(facts.get("skipped") or {}),
        }
        for name, facts in ({str(plan.pretraining["name"]): plan.pretraining} | plan.datasets).items()
    )  # fmt: skip


def counts_text(counts: Mapping[str, int]) -> str:
    """Return 'too short: 2, flat: 1', the most frequent first."""
    return ", ".join(f"{what}: {number}" for what, number in Counter(counts).most_common()) or DASH
