"""Power: an encoder trained on the labels comes first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmark.verbs.answers import planted
from benchmark.verbs.answers.answer import TRAINED_OUT, Answer, Arm, Finding, Ran, cohorts
from benchmark.verbs.answers.measure import ahead, column_of, difference

TOLD = str(Path(planted.__file__).with_name("told.py"))
OTHERS = ("random", "moco", "pmq")


def check(ran: Mapping[str, Ran]) -> list[Finding]:
    """The told encoder ahead of every other row."""
    column = column_of(ran["told"])
    return [ahead(f"told - {other}", difference(column, "told", other)) for other in OTHERS]


POWER = Answer(
    name="power",
    planted=(
        "Besides Random, MoCo and PMQ, an encoder that learns to say the reports of PTB-XL's training part, which "
        "name the diagnoses without an error. All are pretrained on that part."
    ),
    expected="The encoder that was told the labels comes first, and our intervals tell it from every other row.",
    arms={"told": Arm({**cohorts(ptb_xl=600), **TRAINED_OUT, "methods": [*OTHERS, TOLD], "data.pretrain": "ptb-xl"})},
    check=check,
    conclusion=(
        "the encoder that was told the labels comes first, and is told from Random and MoCo; from PMQ, which is "
        "second, five seeds do not tell it (.028, -.003 to .058). A method whose gain is below .03 of AUROC needs "
        "more than these."
    ),
)
