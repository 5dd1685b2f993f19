"""The first sentences: what is done, what must not be read from the numbers, who leads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmark.results.rows import Row
from reports.html.summary import against_gates, compared, references, statements
from reports.runs.run import open_run
from reports.tables.values import Block, Line, Score

NAN = float("nan")


def line(variant: str, overall: float | None, columns: int = 2, gate: bool = False) -> Line:
    spread = "" if columns == 2 else f" (k={columns})"
    return Line(variant, variant.upper(), (Score(overall, None, columns, 2, (), "", spread),), gate)


def against(*lines: Line, pairs: pd.DataFrame | None = None) -> list[str]:
    return list(references(Block(0.1, "10 % of the labels", lines), pairs))


def pair(first: str, second: str, low: float, high: float, metric: str = "overall", ratio: float = 0.1) -> pd.DataFrame:
    return pd.DataFrame(
        [{"ratio": ratio, "metric": metric, "first": first, "second": second, "low": low, "high": high}]
    )


LINES = (line("a", 51.0), line("b", 59.3), line("random", 57.2), line("features", 76.6, gate=True))


def test_the_best_method_is_held_against_random_and_every_gate() -> None:
    assert against(*LINES) == [
        "10 % of the labels: B, 59.3, against RANDOM, 57.2: +2.1 points; FEATURES, 76.6: −17.3 points."
    ]


@pytest.mark.parametrize(
    "pairs", [pair("b", "random", -0.004, 0.046), pair("random", "b", -0.046, 0.004)], ids=["as named", "turned"]
)
def test_the_interval_of_a_difference_is_given_where_there_is_one(pairs: pd.DataFrame) -> None:
    (sentence,) = against(*LINES, pairs=pairs)
    assert "RANDOM, 57.2: +2.1 points (95 % interval −0.4 to +4.6); FEATURES, 76.6: −17.3 points." in sentence
    others = [pair("a", "random", 0, 1), pair("b", "random", 0, 1, "f1"), pair("b", "random", 0, 1, ratio=0.3)]
    (sentence,) = against(*LINES, pairs=pd.concat([*others, pair("b", "random", NAN, NAN)]))
    assert "interval" not in sentence


def test_a_method_of_fewer_columns_is_not_the_best_and_none_is_compared_over_other_columns() -> None:
    assert against(line("a", 90.0, columns=1), *LINES[1:3], line("frozen", 95.0, columns=1, gate=True)) == [
        "10 % of the labels: B, 59.3, against RANDOM, 57.2: +2.1 points; FROZEN, 95.0 (k=1): not over the same columns."
    ]


def test_reference_rows_alone_are_listed_and_none_is_no_sentence() -> None:
    assert against(*LINES[2:], line("b", None)) == [
        "10 % of the labels: Overall of the reference rows: RANDOM 57.2; FEATURES 76.6."
    ]
    assert against(*LINES[:2]) == []
    assert against(line("random", None), LINES[0]) == []


def test_a_page_says_how_its_best_stands_to_the_reference_rows(parts: Any) -> None:
    ((_, sentences), *_) = against_gates(parts.tables, parts.statistics)
    assert [sentence.split(":")[0] for sentence in sentences] == ["30 % of the labels", "1 % of the labels"]
    assert sentences[0].endswith(", against Random, 62.5: +20.0 points.")


def test_a_class_without_a_test_window_is_a_warning(write_store: Callable[..., Path]) -> None:
    def noted(row: Row) -> Row:
        over = "NORM" if row.variant == "pmq" else "NORM, HYP, with 0 for HYP"
        own = ["no test window of class HYP: macro AUROC is over NORM", f"macro F1 is over {over}", "odd"]
        return replace(row, notes=own if row.dataset == "ptb-xl" else [])

    told = "PTB-XL: no test window of class HYP: macro AUROC is over NORM"
    differ = "; macro F1 is not over the same classes in every row (see the notes under the table)."
    warnings = [text for text, warns in statements(open_run(write_store(alter=noted)), []) if warns]
    assert warnings[-1] == f"{told}{differ}"
    alike = open_run(write_store("alike", alter=lambda row: replace(noted(row), notes=noted(row).notes[:1])))
    assert [text for text, warns in statements(alike, []) if warns][-1] == f"{told}."


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
    used = replace(plan, pretraining=plan.pretraining | {"used_recordings": 70, "used_patients": 7})
    assert dict(compared(used))["Pretrained on"] == "MIMIC-IV-ECG, 70 of its 90 recordings, of 7 patients"
