"""One heart for all, and findings that do not stay: no encoder can tell whose recording it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scipy.stats import binomtest

from benchmark.verbs.answers.answer import TRAINED_OUT, Answer, Arm, Finding, Ran, cohorts

LEVEL = 0.01
"""Of each of the two tests."""
TIMES = 2.0
"""What the interval must exceed for "far more often", times chance."""
COHORTS = (1, 2, 3)
"""Seeds of the simulator."""
PTB_XL = 1200
"""Patients: as many as fill the sample with patients who have several recordings."""
# Random is left out: its card is shared by all runs of a store, with the health on the first run's cohort.
METHODS: dict[str, Any] = {**TRAINED_OUT, "methods": ["pmq"], "seeds": [41]}


def check(ran: Mapping[str, Ran]) -> list[Finding]:
    """Retrieval of the patient at chance without anatomy, far above it with."""
    findings = []
    for dials, alike in (("one heart", True), ("as people differ", False)):
        told = [retrieved(ran[f"{dials}, cohort {cohort}"]) for cohort in COHORTS]
        hits, recordings = sum(hit for hit, _, _ in told), sum(asked for _, asked, _ in told)
        chance = sum(asked * chance for _, asked, chance in told) / recordings
        test = binomtest(hits, recordings, chance)
        between = test.proportion_ci()
        found = (
            f"{hits} of {recordings} recordings, {hits / recordings:.1%} ({between.low:.1%} to {between.high:.1%}), "
            f"chance {chance:.1%}, p = {test.pvalue:.2g}"
        )
        passed = test.pvalue >= LEVEL if alike else test.pvalue < LEVEL and between.low > TIMES * chance
        wanted = "chance" if alike else f"interval above {TIMES:g} times chance"
        findings.append(Finding(f"{dials}: pmq", found, wanted, bool(passed)))
    return findings


def retrieved(ran: Ran) -> tuple[int, int, float]:
    """Recordings whose nearest is of the patient, recordings asked, and the chance of one, of an arm's one encoder.

    Health asks two windows of each recording; since they are alike, a recording counts once, with their mean.
    """
    (cards,) = ran.run.cards.values()
    (card,) = cards.values()
    last, asked = card["health"][-1], card["health_sample"]["retrieval_queries"] // 2
    return round(last["retrieval"] * asked), asked, last["retrieval_chance"]


def arms() -> dict[str, Arm]:
    """Each cohort with both dials at 0 and at 1."""
    found = {}
    for cohort in COHORTS:
        alike = cohorts(cohort, ptb_xl=PTB_XL, anatomy=0.0, persistence=0.0)
        found[f"one heart, cohort {cohort}"] = Arm({**alike, **METHODS})
        found[f"as people differ, cohort {cohort}"] = Arm({**cohorts(cohort, ptb_xl=PTB_XL), **METHODS})
    return found


ANATOMY = Answer(
    name="anatomy",
    planted=(
        "`anatomy` 0 and `persistence` 0: every patient has the same heart, sex and resting rate leave no trace, and a "
        "later recording shows findings of its own. Nothing of a patient is left in his recordings."
    ),
    expected=(
        "The nearest recording of another visit is of the same patient as often as by chance, for PMQ. With both dials "
        "at 1 it is far more often: more than twice as often as by chance, with its interval. Recordings of all "
        "cohorts are counted together."
    ),
    changed=(
        "One cohort of 600 patients and three epochs asked about 160 recordings and found 4 against .8 by chance, too "
        'few to say "far more often". Now three cohorts of 1,200 patients and encoders of twelve epochs at 83 Hz; the '
        "simulator is as it was."
    ),
    arms=arms(),
    check=check,
    conclusion=("what retrieval finds is the patient's anatomy, and nothing else in these cohorts tells who it is."),
)
