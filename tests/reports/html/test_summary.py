"""The first sentences: what is done, what must not be read from the numbers, who leads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from reports.html.summary import compared, lead, statements
from reports.runs.run import open_run
from reports.tables.table import Block, Line, Score

NAN = float("nan")


def block() -> Block:
    score = Score(71.24, None, 1, 1, ())
    return Block(0.1, "10 % of the labels", tuple(Line(name, name.upper(), (score,)) for name in "abcd"))


def frame(*lines: tuple[str, float, bool, bool]) -> pd.DataFrame:
    columns = ["variant", "mean", "best", "tie"]
    return pd.DataFrame(lines, columns=columns).assign(ratio=0.1, metric="overall")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            [("a", 0.7, True, False), ("b", 0.6, False, True), ("c", 0.5, False, False), ("d", NAN, False, False)],
            "highest Overall 71.2, A; not significantly different: B; significantly lower: C; scores missing: D.",
        ),
        (
            [("a", 0.7, True, False), ("b", 0.7, True, False), ("c", 0.5, False, False)],
            "highest Overall 71.2, A, B; significantly lower: C.",
        ),
        (
            [("a", 0.7, False, False), ("b", NAN, False, False), ("elsewhere", NAN, False, False)],
            "too few rows have all their scores for a comparison of Overall.",
        ),
    ],
)
def test_a_lead_names_what_can_and_cannot_be_told_from_it(lines: Any, words: str) -> None:
    sentence = lead(block(), frame(*lines))
    assert sentence.removeprefix("10 % of the labels: ") == words


def test_what_is_missing_or_simulated_comes_as_a_warning(store_root: Path) -> None:
    run = open_run(store_root)
    run = replace(run, plan=replace(run.plan, warnings=["a leak"]))
    found = list(statements(run, []))
    assert found[0] == ("33 of 36 cells are finished, 1 failed, 2 not run.", True)
    assert [text for text, warns in found if warns][1:] == [
        "Some of the ECGs are simulated: no ranking of methods follows from these numbers.",
        "a leak.",
    ]
    assert found[-1] == ("A config's own words.", False)


def test_real_data_carry_no_such_warning(store_root: Path) -> None:
    plan = open_run(store_root).plan
    real = {name: facts | {"simulated": False} for name, facts in plan.datasets.items()}
    plan = replace(plan, datasets=real, pretraining=plan.pretraining | {"simulated": False})
    texts = [text for text, _ in statements(replace(open_run(store_root), plan=plan), [])]
    assert not [text for text in texts if "simulated" in text]


def test_rows_are_named_by_what_they_are_for(store_root: Path) -> None:
    plan = open_run(store_root).plan
    gate = {"role": "gate", "of": "", "knob": "", "value": None}
    found = dict(compared(replace(plan, roles={"random": gate})))
    assert found["Gates (reference rows)"] == "Random"
    assert found["Methods"].startswith("MoCo, PMQ, ")
    assert (found["Datasets"], found["Pretrained on"]) == ("PTB-XL, Chapman", "MIMIC-IV-ECG")
