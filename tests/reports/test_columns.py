"""The columns of a table are scores of cells with the same test windows, and Overall is of the rows that have all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from benchmark.results.names import OVERALL
from reports import load
from reports.columns import ScoreColumn, UnequalTestSets, overall_rows, score_columns
from reports.inference import intervals
from tests.reports.conftest import Scatter, simulated_predictions

WritePredictions = Callable[..., Path]
PARTS = {"a.x": (0.1, 0.2), "b@a.y": (0.4, 0.8), "b": (1.6, 3.2)}


def test_cells_that_were_tested_on_other_windows_are_not_compared(write_predictions: WritePredictions) -> None:
    one, other = (
        simulated_predictions(np.random.default_rng(seed), methods=1, seeds=1, patients=20, scatter=Scatter())[0, 0]
        for seed in (1, 2)
    )
    root = write_predictions({("random", "ptb-xl", 0.1, 41): one, ("pmq", "ptb-xl", 0.1, 41): other})
    results = load(root)
    with pytest.raises(UnequalTestSets, match=r"different windows of ptb-xl \(truth differs\)"):
        list(score_columns(results, results.plan.cells, ["f1"], "recording"))


def test_a_cell_without_a_test_window_has_no_score(write_predictions: WritePredictions) -> None:
    (outputs,) = simulated_predictions(
        np.random.default_rng(1), methods=1, seeds=1, patients=20, scatter=Scatter()
    ).values()
    results = load(write_predictions({(row, "ptb-xl", 0.1, 41): outputs for row in ("random", "pmq")}))
    (first, *_), rows = results.plan.cells, dict(results.rows)
    rows[first.key] = replace(rows[first.key], counts={"test_windows": 0, "test_patients": 0})
    columns = list(score_columns(replace(results, rows=rows), results.plan.cells, ["f1"], "recording"))
    assert [list(column.rows) for column in columns] == [["pmq"], ["pmq"]]


def test_overall_is_crossfitted_where_a_dataset_that_it_averages_is(write_predictions: WritePredictions) -> None:
    """A row that lacks the dataset is not part of Overall, and does not hide it."""
    random = np.random.default_rng(5)
    predictions = {}
    for dataset in ("ptb-xl", "chapman"):
        simulated = simulated_predictions(random, methods=2, seeds=1, patients=20, scatter=Scatter())
        predictions |= {(name, dataset, 0.1, 41): simulated[row, 0] for row, name in enumerate(("random", "pmq"))}
    results = load(write_predictions(predictions, not_run=[("pmq", "chapman", 0.1, 41)]))
    for dataset, is_crossfitted in (("chapman", True), ("none", False)):
        datasets = {name: facts | {"crossfitted": name == dataset} for name, facts in results.plan.datasets.items()}
        changed = replace(results, plan=replace(results.plan, datasets=datasets))
        *_, overall = score_columns(changed, changed.plan.cells, ["f1"], "recording")
        assert (overall.metric, list(overall.rows), overall.is_crossfitted) == (OVERALL, ["random"], is_crossfitted)


def test_a_class_of_one_positive_patient_counts_in_no_row_of_strict(write_predictions: WritePredictions) -> None:
    """The test truth alone decides: no replicate changes the classes that the headline is a mean of."""
    simulated = simulated_predictions(np.random.default_rng(3), methods=2, seeds=1, patients=30, scatter=Scatter())
    truth = simulated[0, 0].truth.copy()
    truth[:, 2] = 0
    truth[:2, :] = [0, 0, 1, 0]  # two windows of one patient
    predictions = {}
    for number, variant in enumerate(("random", "pmq")):
        predictions[variant, "ptb-xl", 0.1, 41] = replace(simulated[number, 0], truth=truth)
    results = load(write_predictions(predictions, protocol="strict"))
    column, overall = score_columns(results, results.plan.cells, ["auroc"], "heartbeat")
    for variant, (block,) in column.rows.items():
        probability = predictions[variant, "ptb-xl", 0.1, 41].probability
        expected = roc_auc_score(truth[:, [0, 1, 3]], probability[:, [0, 1, 3]])
        assert block[0, 0] == pytest.approx(expected)
    assert overall.rows["pmq"][0] == pytest.approx(column.rows["pmq"][0])
    assert (column.margin, overall.margin) == (pytest.approx(np.nan, nan_ok=True), 0.01)


def test_what_a_patient_adds_to_columns_of_one_dataset_is_summed_before_it_is_squared() -> None:
    """Each column scales by its own patients; patients of equal names in other datasets are others."""
    blocks = {name: np.array([[0.5, *values]]) for name, values in PARTS.items()}
    columns = [ScoreColumn("recording", 0.1, name, "auroc", {"pmq": [block]}) for name, block in blocks.items()]
    patients = {"a.x": np.array(["p1", "p2"]), "b@a.y": np.array(["p2", "p3"]), "b": np.array(["p1", "p2"])}
    (of_a, of_b) = overall_rows(columns, patients)["pmq"]
    assert of_a[:, 1:] == pytest.approx(np.array([[0.1, 0.2 + 0.4, 0.8]]) / 3)
    assert of_b[:, 1:] == pytest.approx(np.array([[1.6, 3.2]]) / 3)
    assert of_a[0, 0] + of_b[0, 0] == pytest.approx(0.5)


def test_subsets_that_all_seeds_share_are_the_replicates(write_predictions: WritePredictions) -> None:
    simulated = simulated_predictions(np.random.default_rng(3), methods=2, seeds=6, patients=30, scatter=Scatter())
    predictions = {}
    for (number, run), test in simulated.items():
        predictions[f"m{number}", "ptb-xl", 0.1, run] = test
    runs = load(write_predictions(predictions))
    cells = [replace(cell, seed=41 + cell.seed % 2, subset=cell.seed // 2) for cell in runs.plan.cells]
    for protocol, means in (("paper", (3, 2)), ("strict", (2, 0))):
        plan = replace(runs.plan, config=runs.plan.config | {"protocol": protocol}, cells=cells)
        column, overall = score_columns(replace(runs, plan=plan), cells, ["auroc"], "heartbeat")
        (block,) = column.rows["m0"]
        assert (len(block), len(column.seeds.get("m0", ()))) == means
        scores = [roc_auc_score(one.truth, one.probability) for (number, _), one in simulated.items() if number == 0]
        by_run = np.reshape(scores, (3, 2))  # (subsets, seeds)
        assert block[:, 0] == pytest.approx(by_run.mean(axis=1 if protocol == "paper" else 0))
        if protocol == "paper":
            assert column.seeds["m0"] == pytest.approx(by_run.mean(axis=0))
            assert overall.seeds["m0"] == pytest.approx(column.seeds["m0"])
            of_score = intervals([column]).iloc[0]
            of_subsets = by_run.mean(axis=1).var(ddof=1) / 3 + by_run.mean(axis=0).var(ddof=1) / 2
            assert of_score["seeds_se"] ** 2 == pytest.approx(of_subsets)
