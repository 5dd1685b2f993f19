"""Runs that share no data as a sample: means, intervals and tests by hand."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from scipy.stats import t

from benchmark.results.verdicts import Sealed, Verdict
from reports.statistics.pooled import pooled

PAIR = Verdict("linear-recording", "linear", 0.1, "random", "pmq", -0.05, -0.07, -0.03, 0.001, 0.9, 1.0)
RUN = Sealed("a", "", "recording", [41, 42], {"ptb-xl": "p"}, [PAIR])


def test_runs_that_share_no_data_are_a_sample_and_each_counts_once() -> None:
    other = replace(PAIR, first="moco", second="random", difference=0.01)
    turned = replace(PAIR, first="pmq", second="random", difference=0.06)
    alone = replace(PAIR, first="pmq", second="moco")
    runs = [
        replace(RUN, data={"ptb-xl": "a"}, verdicts=[PAIR, other, alone]),
        replace(RUN, data={"ptb-xl": "b"}, verdicts=[turned, replace(other, difference=-0.03)]),
        replace(RUN, data={"ptb-xl": "c"}, verdicts=[replace(PAIR, difference=-0.07), other]),
    ]
    moco, pmq = pooled(runs)
    assert (pmq.first, pmq.second, pmq.runs) == ("pmq", "random", 3)
    assert pmq.difference == pytest.approx(0.06)
    half = t.ppf(0.975, 2) * 0.01 / sqrt(3)
    assert (pmq.low, pmq.high) == pytest.approx((0.06 - half, 0.06 + half), abs=1e-6)
    assert pmq.p == pytest.approx(2 * t.sf(0.06 * sqrt(3) / 0.01, 2), abs=1e-6)
    assert pmq.p_holm == pytest.approx(2 * pmq.p, abs=1e-5)
    error = np.std([0.01, -0.03, 0.01], ddof=1) / sqrt(3)
    assert moco.p_equivalent == pytest.approx(t.sf((0.02 - 0.01 / 3) / error, 2), abs=1e-6)
    assert pooled(runs[:2]) == ()
    assert pooled([*runs[:2], replace(runs[2], data={"ptb-xl": "a"})]) == ()
    assert pooled([*runs[:2], replace(runs[2], data={"ptb-xl": ""})]) == (), "perhaps the same data"
