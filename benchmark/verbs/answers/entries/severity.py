"""No disease in the beat's shape: there is nothing to learn."""

from __future__ import annotations

from collections.abc import Mapping

from benchmark.verbs.answers.answer import Answer, Arm, Finding, Ran, cohorts
from benchmark.verbs.answers.measure import at_chance, column_of
from benchmark.verbs.answers.plants import only_sinus

TABLES = ("finetune", "linear")
COHORTS = (1, 2)
"""Seeds of the simulator."""


def check(ran: Mapping[str, Ran]) -> list[Finding]:
    """Every row of both tables at chance, on every cohort."""
    return at_chance({f"{table}, {name}": column_of(arm, table) for name, arm in ran.items() for table in TABLES})


def arm(cohort: int) -> Arm:
    """The run on one cohort."""
    rows = {"methods": ["random", "pmq"], "gates": ["features"], "evaluate": list(TABLES)}
    return Arm({**cohorts(cohort, severity=0.0), **rows}, {"ptb-xl": only_sinus})


SEVERITY = Answer(
    name="severity",
    planted=(
        "`severity` 0 leaves no disease in the shape of a beat. Rhythms, premature and dropped beats are not scaled by "
        "it and come with a disease, so recordings with one are left out; [rhythms](#rhythms) has what they are worth. "
        "Two cohorts, from two seeds of the simulator."
    ),
    expected="Every row, untrained, pretrained or boosted on features, has an AUROC of .5.",
    changed="The second cohort.",
    arms={f"cohort {cohort}": arm(cohort) for cohort in COHORTS},
    check=check,
    conclusion=(
        "nothing but chance tells the labels here. Rows of one cohort share its test patients, so that they lie "
        "above or below .5 together; a single row at .55 says nothing."
    ),
)
