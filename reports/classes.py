"""Scores of single classes: prevalence, AUROC, AUPRC and F1 of each class against the rest.

A class without a positive or a negative test sample has no AUROC and no AUPRC. No interval is computed: the tables of
scores test their macro means.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from benchmark.results.metrics import class_auprc, class_auroc, class_f1, per_recording
from benchmark.results.names import HEARTBEAT
from reports.results import Results
from reports.words import evaluation_text, ratio_text, row_title

PLACE = ["evaluation", "unit", "dataset", "ratio", "class", "variant"]


def class_scores(results: Results, units: Sequence[str]) -> pd.DataFrame:
    """Score each class of each finished cell: `PLACE`, prevalence, and mean, deviation and seeds of each metric.

    Scores and prevalences are in [0, 1]; lines are in the order of the tables.
    """
    lines = []
    for cell, row in results.finished:
        predictions = results.predictions(cell.key)
        if not len(predictions.truth):
            continue
        for unit in units:
            probability, truth = predictions.probability, predictions.truth  # (n, C)
            if unit != HEARTBEAT:
                probability, truth, _ = per_recording(probability, truth, predictions.recording, results.plan.pool)
            f1 = class_f1(truth, probability, row.labels == "multi")
            scores = (class_auroc(truth, probability), class_auprc(truth, probability), f1)
            for number, name in enumerate(results.plan.datasets[cell.dataset]["classes"]):
                place = (cell.evaluation, unit, cell.dataset, cell.ratio, name, cell.variant)
                values = [of_class[number] for of_class in scores]
                lines.append((*place, cell.seed, truth[:, number].mean(), *values))
    frame = pd.DataFrame(lines, columns=[*PLACE, "seed", "prevalence", "auroc", "auprc", "f1"])
    by_seed = frame.groupby([*PLACE, "seed"], sort=False).mean().reset_index()  # over labelled subsets
    how = {f"{metric}_{name}": (metric, name) for metric in ("auroc", "auprc", "f1") for name in ("mean", "std")}
    grouped = by_seed.groupby(PLACE, sort=False)
    return grouped.agg(prevalence=("prevalence", "mean"), seeds=("seed", "nunique"), **how).reset_index()


def readable(frame: pd.DataFrame, results: Results) -> dict[str, pd.DataFrame]:
    """Return title -> table in percent, one per dataset and evaluation, at its smallest label share."""
    tables = {}
    for place, group in frame.groupby(["evaluation", "unit", "dataset"], sort=False):
        evaluation, unit, dataset = map(str, place)
        ratio = group["ratio"].min()
        shown = group[group["ratio"] == ratio]
        table = pd.DataFrame(
            {
                "Class": [
                    f"{name} ({100 * p:.1f} %)" for name, p in zip(shown["class"], shown["prevalence"], strict=True)
                ],
                "Method": [row_title(results.plan, variant) for variant in shown["variant"]],
            }
        )
        for metric, title in (("auroc", "AUROC"), ("auprc", "AUPRC"), ("f1", "F1")):
            pairs = zip(shown[f"{metric}_mean"], shown[f"{metric}_std"], strict=True)
            table[title] = ["–" if np.isnan(mean) else f"{100 * mean:.1f}{spread(std)}" for mean, std in pairs]
        facts = results.plan.datasets[dataset]
        title = f"{evaluation_text(evaluation)}, {facts['title']}, {ratio_text(ratio)} of the labels, per {unit}"
        tables[title] = table.sort_values("Class", kind="stable")
    return tables


def spread(std: float) -> str:
    """Return '±0.8', or nothing where there is no deviation."""
    return f"±{100 * std:.1f}" if std > 1e-11 else ""
