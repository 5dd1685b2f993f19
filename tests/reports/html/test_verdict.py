"""The sentences of the verdict: what is above and below the reference, and what cannot be told from it."""

from __future__ import annotations

import math
from typing import Any

from reports.html.verdict import NOTHING, sentence, verdict
from reports.statistics.differences import Difference, Differences
from reports.statistics.of_table import TableStatistics

TITLES = {"random": "Random", "moco": "MoCo", "pmq": "PMQ", "byol": "BYOL", "etp": "ETP"}


def test_a_sentence_groups_the_rows_by_what_is_significant() -> None:
    rows = (
        Difference("moco", 1.04, 0.2, 1.9, told=True),
        Difference("pmq", 3.1, 1.2, 5.0, told=True),
        Difference("byol", -2.0, -3.0, -1.0, told=True),
        Difference("etp", -0.04, math.nan, math.nan, told=False),
    )
    assert sentence(Differences(0.01, "random", rows), TITLES) == (
        "1 % of the labels: significantly above: PMQ +3.1 (1.2 to 5.0), MoCo +1.0 (0.2 to 1.9); significantly below: "
        "BYOL −2.0 (−3.0 to −1.0); not significantly different: ETP +0.0 (no interval)."
    )


def test_the_verdict_is_on_the_first_table(parts: Any) -> None:
    first, *sentences = verdict(parts.run.plan, parts.tables, parts.statistics)
    assert first.startswith("Fine-tuned, scored per heartbeat: Overall of each row minus that of Random, in points")
    assert [line.split(":")[0] for line in sentences] == ["30 % of the labels"]
    assert "not significantly different: MoCo +0.0 (no interval), PMQ +0.0 (no interval)" in sentences[0]


def test_without_two_rows_there_is_nothing_to_say(parts: Any) -> None:
    assert list(verdict(parts.run.plan, parts.tables, {})) == [NOTHING]
    assert list(verdict(parts.run.plan, [], {"x": TableStatistics()})) == [NOTHING]
