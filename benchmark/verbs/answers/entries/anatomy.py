"""One heart for all, and findings that do not stay: no encoder can tell whose recording it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scipy.stats import binomtest

from benchmark.verbs.answers.answer import Answer, Arm, Finding, Ran, cohorts

LEVEL = 0.01
"""Of each of the two tests."""
# Random is left out: its card is shared by all runs of a store, with the health on the first run's cohort.
METHODS: dict[str, Any] = {"methods": ["pmq"], "seeds": [41], "pretrain.epochs": 3}


def check(ran: Mapping[str, Ran]) -> list[Finding]:
    """Retrieval of the patient at chance without anatomy, above it with."""
    findings = []
    for arm, alike in (("one heart", True), ("as people differ", False)):
        for row, hits, recordings, chance in retrieved(ran[arm]):
            p = binomtest(hits, recordings, chance).pvalue
            found = f"{hits} of {recordings} recordings, chance {chance * recordings:.1f}, p = {p:.2g}"
            passed = p >= LEVEL if alike else p < LEVEL and hits > chance * recordings
            findings.append(Finding(f"{arm}: {row}", found, "chance" if alike else "above chance", bool(passed)))
    return findings


def retrieved(ran: Ran) -> Iterator[tuple[str, int, int, float]]:
    """Row, recordings whose nearest is of the patient, recordings asked, and the chance of one.

    Health asks two windows of each recording; since they are alike, a recording counts once, with their mean.
    """
    for row, cards in ran.run.cards.items():
        for card in cards.values():
            last, asked = card["health"][-1], card["health_sample"]["retrieval_queries"] // 2
            yield row, round(last["retrieval"] * asked), asked, last["retrieval_chance"]


ANATOMY = Answer(
    name="anatomy",
    planted=(
        "`anatomy` 0 and `persistence` 0: every patient has the same heart, sex and resting rate leave no trace, and a "
        "later recording shows findings of its own. Nothing of a patient is left in his recordings."
    ),
    expected=(
        "The nearest recording of another visit is of the same patient as often as by chance, for "
        "PMQ. With both dials at 1 it is far more often."
    ),
    arms={
        "one heart": Arm({**cohorts(anatomy=0.0, persistence=0.0), **METHODS}),
        "as people differ": Arm({**cohorts(), **METHODS}),
    },
    check=check,
)
