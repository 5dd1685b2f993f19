"""Labels that were dealt out at random: there is nothing to learn."""

from __future__ import annotations

from collections.abc import Mapping

from benchmark.verbs.answers.answer import Answer, Arm, Finding, Ran, cohorts
from benchmark.verbs.answers.measure import at_chance, column_of
from benchmark.verbs.answers.plants import shuffled_labels


def check(ran: Mapping[str, Ran]) -> list[Finding]:
    """Every row of the linear probe at chance."""
    return at_chance({"linear": column_of(ran["shuffled"])})


LABELS = Answer(
    name="labels",
    planted="The labels of PTB-XL are dealt out anew among all its recordings; signals, folds and patients stay.",
    expected="Every row, untrained, pretrained or boosted on features, has an AUROC of .5.",
    arms={
        "shuffled": Arm(
            {**cohorts(), "methods": ["random", "pmq"], "gates": ["features"]},
            {"ptb-xl": shuffled_labels},
        )
    },
    check=check,
)
