"""The columns of a table are scores of cells with the same test windows, and Overall is of the rows that have all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.results.names import OVERALL
from reports.columns import UnequalTestSets, score_columns
from reports.load import load
from tests.reports.conftest import Scatter, simulated_predictions

WritePredictions = Callable[..., Path]


def test_cells_that_were_tested_on_other_windows_are_not_compared(
    write_predictions: WritePredictions,
) -> None:
    one, other = (
        simulated_predictions(np.random.default_rng(seed), methods=1, seeds=1, patients=20, scatter=Scatter())[0, 0]
        for seed in (1, 2)
    )
    root = write_predictions({("random", "ptb-xl", 0.1, 41): one, ("pmq", "ptb-xl", 0.1, 41): other})
    results = load(root)
    with pytest.raises(UnequalTestSets, match=r"different windows of ptb-xl \(truth differs\)"):
        list(score_columns(results, results.plan.cells, ["f1"], "recording"))


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
