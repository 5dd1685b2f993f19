"""Test patients in the training part and in the corpus: refused, and what it would have been worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmark.verbs.answers.answer import TRAINED_OUT, Answer, Arm, Finding, Ran, cohorts
from benchmark.verbs.answers.measure import ahead, column_of, paired
from benchmark.verbs.answers.plants import training_holds_the_test_part

TABLES = ("finetune", "linear")
ALL: dict[str, Any] = {
    **cohorts(ptb_xl=700),
    **TRAINED_OUT,
    "methods": ["random", "pmq"],
    "gates": ["features"],
    "evaluate": list(TABLES),
    "ratios": [1.0],
    "finetune.epochs": 6,  # enough to learn the copies by heart
    "data.pretrain": "ptb-xl",
}


def check(ran: Mapping[str, Ran]) -> list[Finding]:
    """The audit names the leak, and every row gains by it."""
    clean, leaky = ran["clean"], ran["leak"]
    said = leaky.leaks[0] if leaky.leaks else "no leak found"
    findings = [
        Finding("audit of the clean data", "; ".join(clean.leaks) or "no leak found", "no leak found", not clean.leaks),
        Finding(
            "audit of the leak, without --allow-leak",
            f"refused: {said}" if leaky.leaks else said,
            "refused",
            bool(leaky.leaks),
        ),
    ]
    for table in TABLES:
        with_leak, without = column_of(leaky, table), column_of(clean, table)
        for row in without.variants:
            gain = paired((with_leak, row), (without, row))
            findings.append(ahead(f"AUROC gained by the leak: {row}, {table}", gain))
    return findings


LEAK = Answer(
    name="leak",
    planted=(
        "A copy of every test recording of PTB-XL, under its own patient and with its label, stands in a training "
        "fold; the training part is also the pretraining corpus."
    ),
    expected="The audit refuses the run. With `--allow-leak` it runs, and the scores of all rows are higher.",
    changed=(
        "The cohort had 300, then 1,000 patients and two epochs of pretraining and fine-tuning; now 700 patients, "
        "twelve epochs of pretraining and six of fine-tuning, enough, it was thought, to learn the copies by heart."
    ),
    arms={"clean": Arm(ALL, allow_leak=False), "leak": Arm(ALL, {"ptb-xl": training_holds_the_test_part})},
    check=check,
    conclusion=(
        "the audit refuses it. What it is worth depends on the row: frozen encoders gain .02, fine-tuned ones and "
        "the boosted features, which tell most of these labels without it, .005 to .007, mostly too little to show. "
        "[inflation](#inflation) has a leak whose worth is known."
    ),
)
