"""What tables of further scores share: names of classes, and estimates within their range."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reports.runs.run import open_run
from reports.statistics.further.lines import RESAMPLES, classes_of, estimated


def test_an_interval_ends_where_scores_and_gaps_end() -> None:
    """The paper of the bootstrap calls 200 resamples enough for a standard error."""
    assert RESAMPLES == 200
    wide = np.array([[0.5, -2.0, 2.0, 3.0, -1.0], [0.6, 2.0, -2.0, -1.0, 3.0], [0.4, 0.5, 0.6, 0.1, 0.2]])
    score, gap = estimated(wide, 40), estimated(wide - 0.5, 40, gap=True)
    assert (score.mean, score.seeds, score.remark) == (pytest.approx(0.5), 3, "")
    assert 0 < score.low < score.high < 1
    far = np.tile([[0.9], [-0.9], [0.0]], 5)
    assert (estimated(far, 40).low, estimated(far, 40).high) == (0, 1)
    assert (estimated(far, 40, gap=True).low, estimated(far, 40, gap=True).high) == (-1, 1)
    assert gap.low < 0 < gap.high


def test_classes_have_the_names_of_the_plan_or_numbers(store_root: Path) -> None:
    run = open_run(store_root)
    named = replace(run.plan, datasets={"ptb-xl": run.plan.datasets["ptb-xl"] | {"classes": ["NORM", "MI"]}})
    assert classes_of(replace(run, plan=named), "ptb-xl", 2) == ["NORM", "MI"]
    assert classes_of(replace(run, plan=named), "ptb-xl", 3) == ["class 1", "class 2", "class 3"]
