"""Size: one method under two names is told from itself as often as the level says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

from benchmark.verbs.answers import planted
from benchmark.verbs.answers.answer import Answer, Arm, Finding, Ran, cohorts
from benchmark.verbs.answers.measure import column_of
from reports.statistics.interval import LEVEL
from reports.statistics.pairwise import pairwise

AGAIN = str(Path(planted.__file__).with_name("again.py"))
SEEDS = 3
"""Seeds of a repeat."""
REPEATS = 12
"""Repeats on one cohort; they share its test patients and no pretraining."""
COHORTS = tuple(range(1, 11))
"""Seeds of the simulator."""
LEAST, MOST = 0.02, 0.08
TINY: dict[str, Any] = {
    "methods": ["pclr", AGAIN],
    "encoder": {"hidden": 4, "depth": 2, "output": 8},
    "pretrain": {"epochs": 1, "recipe": {"batch_size": 32}},
    "linear.strengths": [1.0],
}


def check(ran: Mapping[str, Ran]) -> list[Finding]:
    """The share of repeats in which the two names are told apart."""
    p = np.concatenate([p_values(arm) for arm in ran.values()])
    told, count = int((p < LEVEL).sum()), len(p)
    between = binomtest(told, count).proportion_ci()
    found = f"{told} of {count} repeats, {told / count:.1%} ({between.low:.1%} to {between.high:.1%})"
    wanted = f"{LEAST:.0%} to {MOST:.0%}"
    return [Finding(f"told apart at the {LEVEL:.0%} level", found, wanted, LEAST <= told / count <= MOST)]


def p_values(ran: Ran) -> list[float]:
    """p of the pair in each repeat: `SEEDS` consecutive seeds of the arm."""
    column = column_of(ran)
    repeats = range(0, len(column.seeds), SEEDS)
    parts = [
        replace(
            column,
            seeds=column.seeds[r : r + SEEDS],
            scores=column.scores[:, r : r + SEEDS],
            encoders=column.encoders[:, r : r + SEEDS],
        )
        for r in repeats
    ]
    return [float(p) for p in pairwise(parts)["p"]]


def arm(cohort: int) -> Arm:
    """The repeats on one cohort; no two cohorts share a training seed."""
    first = 1000 * cohort
    seeds = list(range(first, first + SEEDS * REPEATS))
    return Arm({**cohorts(cohort, mimic=40, ptb_xl=300), **TINY, "seeds": seeds})


SIZE = Answer(
    name="size",
    planted=(
        "PCLR twice, the second time under another name and from other initial weights. Every repeat pretrains both "
        f"anew on {SEEDS} seeds and probes them on their own labelled subsets."
    ),
    expected="The statistics tell the two names apart in 2 to 8 % of the repeats at the 5 % level.",
    changed=(
        "48 repeats on four cohorts told the names apart in 2, with an interval of .5 to 14.3 %, too wide to say "
        "anything. Now 120 repeats on ten cohorts, the first four among them; the number was set before the further "
        "ones were run."
    ),
    arms={f"cohort {cohort}": arm(cohort) for cohort in COHORTS},
    check=check,
    conclusion=(
        "the statistics are not too bold: two names of one method are told apart no more often than the level says, "
        "as far as 120 repeats tell."
    ),
    by_default=False,
)
