"""One recording per patient: PMQ's patient and recording positives are the same keys."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmark.verbs.answers.answer import Answer, Arm, Finding, Ran, cohorts

SWEEP = {"sweeps": {"pmq": {"positives": ["recording"]}}, "methods": ["pmq"]}
ROWS = ("pmq", "pmq:positives=recording")


def check(ran: Mapping[str, Ran]) -> list[Finding]:
    """Equal to the bit with one recording per patient, and not with three."""
    return [
        Finding(
            f"{name}: {what}", "equal" if same else "different", wanted, ("equal" if same else "different") == wanted
        )
        for name, wanted in (("one recording", "equal"), ("three recordings", "different"))
        for what, same in sameness(ran[name])
    ]


def sameness(ran: Ran) -> list[tuple[str, bool]]:
    """Whether the two rows have equal loss per epoch, and equal predictions on every seed."""
    run = ran.run
    losses = [[card["loss"] for card in run.cards[row].values()] for row in ROWS]
    cells = {(cell.variant, cell.seed): cell.key for cell in run.plan.cells}
    seeds = sorted({cell.seed for cell in run.plan.cells})
    pairs = [[run.store.predictions(cells[row, seed]).probability for row in ROWS] for seed in seeds]
    return [
        ("losses of all epochs", sorted(losses[0]) == sorted(losses[1])),
        ("predictions of all seeds", all(np.array_equal(one, other) for one, other in pairs)),
    ]


ONE_RECORDING = Answer(
    name="one-recording",
    planted="`recordings_per_patient` 1: in the pretraining corpus a recording is a patient.",
    expected=(
        "PMQ with `positives: patient` equals PMQ with `positives: recording` to the bit. With three recordings per "
        "patient it does not."
    ),
    arms={
        "one recording": Arm({**cohorts(mimic=150, ptb_xl=150, recordings_per_patient=1.0), **SWEEP}),
        "three recordings": Arm({**cohorts(mimic=50, ptb_xl=150), **SWEEP}),
    },
    check=check,
)
