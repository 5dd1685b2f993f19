"""Findings that stay over a patient's recordings, or change: what patient positives can use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmark.verbs.answers.answer import TRAINED_OUT, Answer, Arm, Finding, Ran, cohorts
from benchmark.verbs.answers.measure import ahead, apart, column_of, difference, shown

BOTH: dict[str, Any] = {**TRAINED_OUT, "sweeps": {"pmq": {"positives": ["recording"]}}, "methods": ["pmq"]}
ROWS = ("pmq", "pmq:positives=recording")
PATIENTS, RECORDINGS = 120, 4.0
"""Of the pretraining corpus."""


def check(ran: Mapping[str, Ran]) -> list[Finding]:
    """Patient minus recording positives: above 0 where findings stay, and more than where they change."""
    stay, change = (difference(column_of(ran[name]), *ROWS) for name in ("findings stay", "findings change"))
    return [
        ahead("findings stay: patient - recording positives", stay),
        Finding(
            "findings change: patient - recording positives", shown(change, signed=True), "not above 0", change.low <= 0
        ),
        ahead("the first minus the second", apart(stay, change)),
    ]


PERSISTENCE = Answer(
    name="persistence",
    planted=(
        "`persistence` 1: a patient's conditions stay over his four recordings, as by default. `persistence` 0: every "
        "later recording shows conditions drawn anew. Both cohorts have the same findings in the same shares."
    ),
    expected=(
        "Patient positives attract two recordings with the same findings where findings stay, and with different ones "
        "where they change. They help PMQ where findings stay and do not where they change."
    ),
    arms={
        "findings stay": Arm({**cohorts(mimic=PATIENTS, recordings_per_patient=RECORDINGS), **BOTH}),
        "findings change": Arm({**cohorts(mimic=PATIENTS, recordings_per_patient=RECORDINGS, persistence=0.0), **BOTH}),
    },
    check=check,
    conclusion=(
        "positives of a patient help where his findings stay, by little, and less where they change; that they "
        "harm there is not shown. Said of these encoders and of the simulator's findings."
    ),
)
