"""Scores of single classes against scikit-learn's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from benchmark.results.store import Predictions
from reports import load
from reports.classes import class_scores, readable


@pytest.fixture
def random_store(store_root: Path) -> Path:
    """The made-up store with one cell of random predictions on 40 windows."""
    results = load(store_root)
    generator = np.random.default_rng(3)
    truth = np.eye(2, dtype=np.int64)[generator.integers(0, 2, 40)]  # (40, 2)
    probability = generator.dirichlet((1, 1), 40).astype(np.float32)  # (40, 2)
    names = np.array([f"r{number}" for number in range(40)])
    row = next(iter(results.rows.values()))
    results.stores[0].save_row(row, Predictions(probability, truth, names, names))
    return store_root


def test_the_scores_of_a_class_are_scikit_learns(random_store: Path) -> None:
    results = load(random_store)
    cell, _ = results.finished[0]
    test = results.predictions(cell.key)
    classes = results.plan.datasets[cell.dataset]["classes"]
    where = (cell.evaluation, "heartbeat", cell.dataset, cell.ratio, classes[1], cell.variant)
    frame = class_scores(results, ["heartbeat"]).set_index(
        ["evaluation", "unit", "dataset", "ratio", "class", "variant"]
    )
    other = results.finished[1][0]  # of the second seed, without an error
    assert (other.variant, other.seed) == (cell.variant, 42)
    truth, probability = test.truth[:, 1], test.probability[:, 1]
    scores = frame.loc[where]
    assert 2 * scores["auroc_mean"] - 1 == pytest.approx(roc_auc_score(truth, probability))
    assert 2 * scores["auprc_mean"] - 1 == pytest.approx(average_precision_score(truth, probability))
    assert 2 * scores["f1_mean"] - 1 == pytest.approx(f1_score(truth, test.probability.argmax(axis=1)))
    assert scores["seeds"] == 2


def test_the_table_to_read_is_at_the_smallest_label_share(random_store: Path) -> None:
    results = load(random_store)
    tables = readable(class_scores(results, ["heartbeat"]), results)
    places = [("Fine-tuned", "PTB-XL", 1), ("Fine-tuned", "Chapman", 1), ("Linear probe", "PTB-XL", 30)]
    titles = [f"{how}, {where}, {share} % of the labels, per heartbeat" for how, where, share in places]
    assert list(tables)[:3] == titles
    first = tables[titles[0]]
    assert list(first.columns) == ["Class", "Method", "AUROC", "AUPRC", "F1"]
    assert first["Class"].iloc[0] == "HYP (50.0 %)"
