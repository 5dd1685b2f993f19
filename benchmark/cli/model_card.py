"""The model card of an exported encoder: README.md, with the front matter that hubs of models read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from benchmark.cli.main import version
from benchmark.cli.pretrained import Pretrained
from benchmark.config.load import yaml_text
from benchmark.data.datasets import DATASETS
from benchmark.embedding import Description
from benchmark.results.metrics import RECALLS, TITLES
from benchmark.results.names import (
    EVALUATION_TITLES,
    INSTALLED,
    OVERALL,
    RECORDING,
    RETRIEVAL,
    UNIT_OF_PROTOCOL,
    UNTRAINED,
    is_untrained,
    name_on,
    visible,
)
from benchmark.results.store import PlannedCell
from reports.columns import score_columns
from reports.inference import intervals
from reports.results import coordinates
from reports.words import escape_markdown, markdown_table, ratio_text, unit_text

TEMPLATE = "model_card.md.j2"
LICENCE = {
    "license": "other",
    "license_name": "as-its-data",
    "license_link": "README.md",
}
"""Licence of the weights in the front matter: it follows from that of the data."""


class ScoreTable(NamedTuple):
    """The scores of one evaluation."""

    evaluation: str
    unit: str
    """Unit that is scored, in words."""
    lines: pd.DataFrame
    """A line per label share, dataset ('' for the headline) and metric: ratio, dataset, metric, mean, low and high in
    [0, 1], seeds, and `untrained`, the mean of the untrained encoder on the same cells."""


def model_card(pretrained: Pretrained, description: Description) -> str:
    """Write the text of the model card."""
    plan, record = pretrained.run.plan, pretrained.record
    corpus = plan.pretraining if record.get("updates") else {}
    datasets = {corpus["name"]: corpus} if corpus else {}
    for cell in pretrained.cells:
        datasets.setdefault(cell.dataset, plan.datasets[cell.dataset])
    environment = Environment(
        loader=PackageLoader("benchmark.cli", "."), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"md": lambda value: escape_markdown(str(value)), "plain": plain}
    text = environment.get_template(TEMPLATE).render(
        front=yaml_text(front_matter(pretrained, datasets)),
        about=description,
        version=version(),
        record=record,
        choice=pretrained.choice,
        corpus=corpus,
        datasets=datasets,
        readers=DATASETS,
        cards=plan.config["data"]["cards"],
        twin=plan.variants.get(twin_of(pretrained), ""),
        scores={table_title(table): table_text(pretrained, table) for table in score_tables(pretrained)},
    )
    return visible(text)


def plain(values: Mapping[str, Any]) -> str:
    """Return 'queue_size 16, momentum 0.99': the values that are no sections, without digests."""
    shown = []
    for name, value in values.items():
        if name != "source" and not isinstance(value, dict | list):
            shown.append(f"{name} {value}")
    return ", ".join(shown)


def front_matter(pretrained: Pretrained, datasets: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the card's metadata by the names of model hubs; simulated datasets are named as a tag alone."""
    real = {str(facts.get("of", name)): None for name, facts in datasets.items() if not facts["simulated"]}
    tags = ["ecg", "feature-extraction", "contrastive-pretraining", pretrained.record["method"]]
    if len(real) < len(datasets):
        tags.append("simulated")
    front: dict[str, Any] = {"library_name": INSTALLED, "tags": list(dict.fromkeys(tags)), **LICENCE}
    if real:
        front["datasets"] = list(real)
    return front


def twin_of(pretrained: Pretrained) -> str:
    """Return the row of the untrained encoder of the same kind; '' for an untrained one, or where the run has none."""
    _, _, encoder = pretrained.variant.partition("+")
    twin = name_on(UNTRAINED, encoder)
    there = twin in pretrained.run.plan.variants and not is_untrained(pretrained.variant)
    return twin if there else ""


def twin_cells(pretrained: Pretrained) -> list[PlannedCell]:
    """List the finished cells of the untrained twin on what the encoder was evaluated on."""
    twin = twin_of(pretrained)
    wanted = {coordinates(cell)._replace(variant=twin) for cell in pretrained.cells}
    return [cell for cell, _ in pretrained.run.finished if coordinates(cell) in wanted]


def score_tables(pretrained: Pretrained) -> Iterator[ScoreTable]:
    """Yield the scores of each evaluation: means over the row's seeds with 95 % intervals."""
    run = pretrained.run
    headline, unit = run.plan.headline, UNIT_OF_PROTOCOL[run.plan.config["protocol"]]
    every = [*pretrained.cells, *twin_cells(pretrained)]
    for evaluation in dict.fromkeys(cell.evaluation for cell in pretrained.cells):
        cells = [cell for cell in every if cell.evaluation == evaluation]
        metrics, scored = (RECALLS, RECORDING) if evaluation == RETRIEVAL else (headline.columns, unit)
        summary = intervals(list(score_columns(run, cells, metrics, scored))).dropna(subset=["mean"])
        lines = summary[summary["variant"] == pretrained.variant]
        columns = ["ratio", "dataset", "metric"]
        twin = summary[summary["variant"] != pretrained.variant].set_index(columns)["mean"].rename("untrained")
        yield ScoreTable(evaluation, unit_text(run.plan, scored), lines.join(twin, on=columns))


def table_title(table: ScoreTable) -> str:
    """Return 'Linear probe, scored per recording'."""
    return f"{EVALUATION_TITLES[table.evaluation]}, scored per {table.unit}"


def table_text(pretrained: Pretrained, table: ScoreTable) -> str:
    """Write the scores of an evaluation, in percent, as a Markdown table."""
    plan, lines = pretrained.run.plan, table.lines
    numbers = ["mean", "low", "high", "untrained"] if twin_of(pretrained) else ["mean", "low", "high"]
    texts = {
        "labels": lines["ratio"].map(ratio_text),
        "dataset": [plan.titles.get(name, "all") for name in lines["dataset"]],
        "score": lines["metric"].map(TITLES | {OVERALL: plan.headline.title}),
        **{name: (100 * lines[name]).map("{:.1f}".format, na_action="ignore").fillna("–") for name in numbers},
        "seeds": lines["seeds"].map("{:.0f}".format),
    }
    return markdown_table(pd.DataFrame(texts))
