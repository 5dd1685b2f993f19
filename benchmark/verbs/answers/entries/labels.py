"""Labels that were dealt out at random: there is nothing to learn."""

from __future__ import annotations

from collections.abc import Mapping

from benchmark.verbs.answers.answer import Answer, Arm, Finding, Ran, cohorts
from benchmark.verbs.answers.measure import at_chance, column_of
from benchmark.verbs.answers.plants import shuffled_labels

TABLES = ("finetune", "linear")


def check(ran: Mapping[str, Ran]) -> list[Finding]:
    """Every row of both tables at chance."""
    return at_chance({table: column_of(ran["shuffled"], table) for table in TABLES})


LABELS = Answer(
    name="labels",
    planted="The labels of PTB-XL are dealt out anew among all its recordings; signals, folds and patients stay.",
    expected="Every row, untrained, pretrained or boosted on features, has an AUROC of .5.",
    arms={
        "shuffled": Arm(
            {**cohorts(), "methods": ["random", "pmq"], "gates": ["features"], "evaluate": list(TABLES)},
            {"ptb-xl": shuffled_labels},
        )
    },
    check=check,
)
