"""No disease in the beat's shape: there is nothing to learn."""

from __future__ import annotations

from collections.abc import Mapping

from benchmark.verbs.answers.answer import Answer, Arm, Finding, Ran, cohorts
from benchmark.verbs.answers.measure import at_chance, column_of
from benchmark.verbs.answers.plants import only_sinus

TABLES = ("finetune", "linear")


def check(ran: Mapping[str, Ran]) -> list[Finding]:
    """Every row of both tables at chance."""
    return at_chance({table: column_of(ran["none"], table) for table in TABLES})


SEVERITY = Answer(
    name="severity",
    planted=(
        "`severity` 0 leaves no disease in the shape of a beat. Rhythms, premature and dropped beats are not scaled by "
        "it and come with a disease in 4 % of the labelled PTB-XL recordings, so these recordings are left out."
    ),
    expected="Every row, untrained, pretrained or boosted on features, has an AUROC of .5.",
    arms={
        "none": Arm(
            {**cohorts(severity=0.0), "methods": ["random", "pmq"], "gates": ["features"], "evaluate": list(TABLES)},
            {"ptb-xl": only_sinus},
        )
    },
    check=check,
)
