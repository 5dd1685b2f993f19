"""A leak whose worth is known: labels that are noise, so that all a copy can give is what was learnt by heart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from benchmark.verbs.answers.answer import Answer, Arm, Finding, Ran, cohorts
from benchmark.verbs.answers.measure import (
    CHANCE,
    apart,
    at_chance,
    column_of,
    paired,
    scores_of,
    shown,
    standard_error,
)
from benchmark.verbs.answers.plants import (
    noise_all_leaked,
    noise_half_leaked,
    noise_tested_on_training,
    shuffled_labels,
)
from reports.statistics.interval import Estimate, estimate
from reports.statistics.test_set import Floats

ERRORS = 2.58
"""Half width of a 99 % interval, in standard errors: there are six comparisons."""
RUN: dict[str, Any] = {
    **cohorts(ptb_xl=1000),
    "methods": ["random", "pmq"],
    "gates": ["features"],
    "ratios": [1.0],
    "linear.strengths": [1.0],  # one, since noise would choose another in every arm
    "seeds": [41, 42, 43, 44, 45],
}


def worth_of_all(training: Floats) -> Floats:
    """AUROC gained if every test recording is leaked, from the AUROC on training recordings."""
    return training - CHANCE


def worth_of_half(training: Floats) -> Floats:
    """AUROC gained if half are: a quarter of the pairs are two copies, half are a copy and a recording never seen.

    With normal scores, of equal spread for copies and others, a copy of a class lies half as far from an unseen
    recording as from a copy of another class.
    """
    clipped = np.clip(training, 1e-6, 1 - 1e-6)
    gained: Floats = 0.25 * (training - CHANCE) + 0.5 * (ndtr(ndtri(clipped) / 2) - CHANCE)
    return gained


SHARES: Mapping[str, Callable[[Floats], Floats]] = {"all": worth_of_all, "half": worth_of_half}


def check(ran: Mapping[str, Ran]) -> list[Finding]:
    """Chance without the leak; refused with it; and a gain that is the one predicted from training recordings."""
    honest, training = column_of(ran["no leak"]), column_of(ran["tested on training"])
    refused = [name for name in SHARES if ran[name].leaks]
    findings = [
        *at_chance({"no leak": honest}),
        Finding(
            "audit, without --allow-leak", f"refused: {', '.join(refused) or 'none'}", "all, half", len(refused) == 2
        ),
    ]
    for row in honest.variants:
        learnt = estimate(scores_of(training, row), training.patients)
        findings.append(Finding(f"AUROC on training recordings: {row}", shown(learnt), "any", True))
        for share, worth in SHARES.items():
            gain = paired((column_of(ran[share]), row), (honest, row))
            predicted = estimate(worth(scores_of(training, row)), training.patients)
            findings.append(as_predicted(f"AUROC gained, {share} leaked: {row}", gain, predicted))
    return findings


def as_predicted(name: str, gain: Estimate, predicted: Estimate) -> Finding:
    """A gain above 0 that differs from the predicted one by no more than their errors allow."""
    rest = apart(gain, predicted)
    near = abs(rest.mean) <= ERRORS * standard_error(rest)
    wanted = f"above 0, and {shown(predicted, signed=True)} within the 99 % interval of the difference"
    return Finding(name, shown(gain, signed=True), wanted, bool(near and gain.low > 0))


INFLATION = Answer(
    name="inflation",
    planted=(
        "The labels are dealt out anew, so an honest score is .5. A fold of the training part is replaced by copies of "
        "all test recordings, or every second recording of it by copies of every second test recording. A fourth run "
        "tests on copies of a training fold instead: its score is what a row knows of its training recordings by heart."
    ),
    expected=(
        "The audit refuses both leaks. With `--allow-leak` the score rises by a known amount: by the training score "
        "minus .5 if all is leaked, and by about half of that if half is: a quarter of the pairs of test recordings "
        "are then two copies, half are one. Training and test folds hold different patients, so the prediction does "
        "not come from the recordings that it predicts."
    ),
    arms={
        "no leak": Arm(RUN, {"ptb-xl": shuffled_labels}, allow_leak=False),
        "all": Arm(RUN, {"ptb-xl": noise_all_leaked}),
        "half": Arm(RUN, {"ptb-xl": noise_half_leaked}),
        "tested on training": Arm(RUN, {"ptb-xl": noise_tested_on_training}),
    },
    check=check,
    conclusion=(
        "what a leak is worth follows from what a row learns by heart: .1 of AUROC for a frozen encoder that can "
        "learn little, .4 for the boosted features that learn their training recordings almost wholly. The suite "
        "finds both amounts."
    ),
)
