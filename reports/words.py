"""The words of reports: numbers, seeds, rows, cells and sources as texts, Markdown, and the files that hold texts.

No text has a time or a path, so that a resumed run prints the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmark.results.files import write_atomic
from benchmark.results.names import HEARTBEAT, TFIDF, counted, visible
from benchmark.results.store import Plan, PlannedCell
from reports.layouts import role_of
from reports.results import Run

SIMULATED = "Simulated ECGs: no ranking of methods follows."
ONE_PATIENT = "all positive recordings are of one patient, and no interval says what another patient would change"
"""Remark on a class whose positive recordings are all of one patient."""


def ratio_text(ratio: float) -> str:
    """Return '30 %' for 0.3, '0.5 %' for 0.005."""
    return f"{100 * ratio:g} %"


def labels_text(ratio: float) -> str:
    """Return '30 % of the labels'."""
    return f"{ratio_text(ratio)} of the labels"


def unit_text(plan: Plan, unit: str) -> str:
    """Return the unit of a score: 'window' instead of 'heartbeat' where recordings were cut into crops."""
    is_cropped = plan.config["data"]["segmentation"]["kind"] == "recordings"
    if is_cropped and unit == HEARTBEAT:
        return "window"
    return unit


def seeds_text(seeds: Collection[int]) -> str:
    """Return 'seeds 41 to 45', or 'seed 41'."""
    return f"seed{'s' * (len(seeds) != 1)} {seeds_named(seeds)}"


def seeds_named(seeds: Collection[int]) -> str:
    """Return '41 to 45', or '41, 43, 44' where some are left out."""
    ordered = sorted(seeds)
    first, last = ordered[0], ordered[-1]
    if len(ordered) > 2 and last - first == len(ordered) - 1:
        return f"{first} to {last}"
    return ", ".join(map(str, ordered))


def mean_text(mean: float, std: float = np.nan) -> str:
    """Return '70.1±0.8' for percents; '–' where there is no mean, nothing behind it where there is no deviation."""
    if np.isnan(mean):
        return "–"
    if np.isnan(std):
        return f"{mean:.1f}"
    return f"{mean:.1f}±{std:.1f}"


def and_text(names: Sequence[str]) -> str:
    """Return 'PMQ, MoCo and BYOL'."""
    *others, last = names
    if not others:
        return last
    return f"{', '.join(others)} and {last}"


def row_title(plan: Plan, variant: str) -> str:
    """Return the title of a row, with the embedding of the reports where its method reads them."""
    title = plan.variants[variant]
    if role_of(plan, variant).get("reads_reports"):
        embedder = plan.config["pretrain"]["text_embedder"]
        words = "TF-IDF" if embedder == TFIDF else embedder.rpartition("/")[2]
        return f"{title} ({words} of reports)"
    return title


def cell_names(plan: Plan, cells: Sequence[PlannedCell]) -> list[str]:
    """Return 'PMQ (Chapman, 1 %, seeds 41, 42)': cells, grouped by variant, dataset and ratio."""
    seeds: dict[str, set[int]] = {}
    for cell in cells:
        name = f"{plan.variants[cell.variant]} ({plan.titles[cell.dataset]}, {ratio_text(cell.ratio)}"
        seeds.setdefault(name, set()).add(cell.seed)
    return [f"{name}, {seeds_text(seeds[name])})" for name in seeds]


def source_text(facts: Mapping[str, Any]) -> str:
    """Return 'PTB-XL (simulated)' for the facts of a dataset or of the pretraining corpus."""
    source = "simulated" if facts["simulated"] else "real"
    if "parts" in facts:
        how = "each tested by encoders of the others" if facts.get("crossfitted") else "not pretrained on"
        source += f", cross-validated in {facts['parts']} parts by patient, {how}"
    return f"{facts['title']} ({source})"


def simulated_text(plan: Plan, datasets: Iterable[str]) -> list[str]:
    """Return `SIMULATED` where the pretraining corpus or one of the datasets is simulated; else nothing."""
    sources = [plan.datasets[name] for name in datasets]
    sources.append(plan.pretraining)
    return [SIMULATED] if any(source["simulated"] for source in sources) else []


def tested_text(results: Run, datasets: Collection[str]) -> str:
    """Return 'PTB-XL 54, Chapman 70': the test patients of datasets."""
    patients = {row.dataset: row.counts["test_patients"] for row in results.rows.values()}
    tested = [name for name in results.plan.titles if name in datasets and name in patients]
    return ", ".join(f"{results.plan.titles[name]} {patients[name]}" for name in tested)


def escape_markdown(text: str) -> str:
    """Return text on one line whose characters have no meaning in Markdown."""
    escaped = re.sub(r"([\\|*`<\[$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))", r"\\\1", text)
    return " ".join(escaped.split())


def markdown_table(frame: pd.DataFrame) -> str:
    """Return a frame of texts as a Markdown table, its first column to the left and the others to the right."""
    escaped = frame.map(escape_markdown).rename(columns=escape_markdown)
    align = ["left"] + ["right"] * (len(frame.columns) - 1)
    return str(escaped.to_markdown(index=False, disable_numparse=True, colalign=align))


def write_files(out: Path, contents: Mapping[str, str]) -> list[Path]:
    """Write texts into a folder by their names; return the files. Tables for programs (.csv) have names as they are."""
    for name, text in contents.items():
        content = text if name.endswith(".csv") else visible(text)
        write_atomic(out / name, content.encode())
    return [out / name for name in contents]


def replicates_text(plan: Plan, cells: Sequence[PlannedCell]) -> str:
    """Return '8 seeds on 1 labelled subset', '5 seeds with 5 labelled subsets each' under `strict`."""
    seeds = counted(len({cell.seed for cell in cells}), "seed")
    subsets = counted(1 + max(cell.subset for cell in cells), "labelled subset")
    return f"{seeds} with {subsets} each" if plan.config["protocol"] == "strict" else f"{seeds} on {subsets}"


def subsets_text(cells: Iterable[PlannedCell]) -> str:
    """Return ', each the mean of 5 labelled subsets'; '' for one subset."""
    subsets = 1 + max(cell.subset for cell in cells)
    return f", each the mean of {subsets} labelled subsets" if subsets > 1 else ""
