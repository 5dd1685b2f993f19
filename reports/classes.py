"""Scores of single classes: prevalence, AUROC, AUPRC and F1 of each class against the rest.

A class without a positive or a negative test sample has no AUROC and no AUPRC. No interval is computed: the tables of
scores test their macro means.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmark.results.metrics import TITLES, class_f1
from benchmark.results.names import EVALUATION_TITLES
from reports.results import Results
from reports.words import labels_text, mean_text, row_title

IDENTITY = ["evaluation", "unit", "dataset", "ratio", "class", "variant"]


def class_scores(results: Results, units: Sequence[str]) -> pd.DataFrame:
    """Score each class of each finished cell: `IDENTITY`, prevalence, and mean, deviation and seeds of each metric.

    Scores and prevalences are in [0, 1]; lines are in the order of the tables.
    """
    lines = []
    for cell, row in results.finished:
        for unit in units if row.counts.get("test_windows") else ():
            probability, truth = results.test_outputs(cell.key, unit)  # (n, C)
            f1 = class_f1(truth, probability, row.labels == "multi")
            ranked = [ranking_scores(*columns) for columns in zip(truth.T, probability.T, strict=True)]
            for number, name in enumerate(results.plan.datasets[cell.dataset]["classes"]):
                coordinates = (cell.evaluation, unit, cell.dataset, cell.ratio, name, cell.variant)
                lines.append((*coordinates, cell.seed, truth[:, number].mean(), *ranked[number], f1[number]))
    frame = pd.DataFrame(lines, columns=[*IDENTITY, "seed", "prevalence", "auroc", "auprc", "f1"])
    by_seed = frame.groupby([*IDENTITY, "seed"], sort=False).mean().reset_index()  # over labelled subsets
    how = {f"{metric}_{name}": (metric, name) for metric in ("auroc", "auprc", "f1") for name in ("mean", "std")}
    grouped = by_seed.groupby(IDENTITY, sort=False)
    return grouped.agg(prevalence=("prevalence", "mean"), seeds=("seed", "nunique"), **how).reset_index()


def ranking_scores(truth: NDArray[np.int64], probability: NDArray[np.float32]) -> tuple[float, float]:
    """Return AUROC and average precision of one class from n samples, (n,) and (n,); NaN without both signs.

    Those of scikit-learn, which spends most of its time on checks of its input.
    """
    order = np.argsort(-probability, kind="stable")  # (n,)
    last = np.append(np.flatnonzero(np.diff(probability[order])), len(order) - 1)  # (T,) of each distinct probability
    hits = np.append(0, np.cumsum(truth[order])[last])  # (T + 1,)
    misses = np.append(0, last + 1) - hits  # (T + 1,)
    if not hits[-1] or not misses[-1]:
        return np.nan, np.nan
    auroc = np.trapezoid(hits, misses) / hits[-1] / misses[-1]
    return float(auroc), float((np.diff(hits) * hits[1:] / (last + 1)).sum() / hits[-1])


def readable(frame: pd.DataFrame, results: Results) -> dict[str, pd.DataFrame]:
    """Return title -> table in percent, one per dataset and evaluation, at its smallest label share."""
    tables = {}
    for identity, group in frame.groupby(["evaluation", "unit", "dataset"], sort=False):
        evaluation, unit, dataset = map(str, identity)
        ratio = group["ratio"].min()
        shown = group[group["ratio"] == ratio].sort_values("class", kind="stable")
        columns = {
            "Class": [f"{name} ({100 * p:.1f} %)" for name, p in zip(shown["class"], shown["prevalence"], strict=True)],
            "Method": [row_title(results.plan, variant) for variant in shown["variant"]],
        }
        for metric in ("auroc", "auprc", "f1"):
            pairs = zip(100 * shown[f"{metric}_mean"], 100 * shown[f"{metric}_std"], strict=True)
            columns[TITLES[metric]] = [mean_text(*pair) for pair in pairs]
        title = f"{EVALUATION_TITLES[evaluation]}, {results.plan.datasets[dataset]['title']}, {labels_text(ratio)}"
        tables[f"{title}, per {unit}"] = pd.DataFrame(columns)
    return tables
