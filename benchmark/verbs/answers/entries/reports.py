"""Reports without errors and with many: ETP learns from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmark.verbs.answers.answer import TRAINED_OUT, Answer, Arm, Finding, Ran, cohorts
from benchmark.verbs.answers.measure import ahead, column_of, difference, paired, shown

ETP: dict[str, Any] = {**TRAINED_OUT, "methods": ["random", "etp"]}
MANY = 4.0
"""Errors of the reports, times the published."""


def check(ran: Mapping[str, Ran]) -> list[Finding]:
    """ETP on right reports minus ETP on wrong ones."""
    right, wrong = (column_of(ran[name]) for name in ("right reports", "wrong reports"))
    helped = difference(wrong, "etp", "random")
    return [
        ahead("right reports: etp - random", difference(right, "etp", "random")),
        Finding("wrong reports: etp - random", shown(helped, signed=True), "any", True),
        ahead("etp on right - etp on wrong reports", paired((right, "etp"), (wrong, "etp"))),
    ]


REPORTS = Answer(
    name="reports",
    planted=(
        "`report_errors` 0 and 4: the machine's reports name every finding, or miss, hedge and invent four times as "
        "often as published."
    ),
    expected="ETP is better with reports without errors; the signals are the same.",
    arms={
        "right reports": Arm({**cohorts(mimic=200, report_errors=0.0), **ETP}),
        "wrong reports": Arm({**cohorts(mimic=200, report_errors=MANY), **ETP}),
    },
    check=check,
    conclusion=(
        "ETP is worth its reports, right or wrong. What wrong ones cost it is less than .022 here, if anything."
    ),
)
