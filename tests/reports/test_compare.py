"""Two runs held against each other: numbers, what is equal to the bit, and the settings; as files and on a terminal."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.results.store import Plan, Row
from reports.compare import ON_TERMINAL, Comparison, Pair, compare_results, comparison_sheet, markdown

WriteStore = Callable[..., Path]


def better_pmq(row: Row) -> Row:
    """PMQ is 0.03 better on Chapman, and the others took longer."""
    if (row.variant, row.dataset) != ("pmq", "chapman"):
        return replace(row, training={"seconds": 99.0})
    scores = {metric: None if score is None else score + 0.03 for metric, score in row.scores["heartbeat"].items()}
    return replace(row, scores=row.scores | {"heartbeat": scores})


def other_settings(plan: Plan) -> Plan:
    return replace(plan, config=plan.config | {"protocol": "strict", "pretrain": {"epochs": 3}})


@pytest.fixture
def compared(write_store: WriteStore, tmp_path: Path) -> Callable[..., Comparison]:
    """Compare the made-up store with one that is altered."""

    def compare(**changes: Any) -> Comparison:
        own, other = write_store("own", complete=True), write_store("other", **{"complete": True} | changes)
        return compare_results(str(own), str(other), tmp_path / "out")[0]

    return compare


def pair_of(found: Comparison, *place: object) -> Pair:
    (pair,) = [
        pair for pair in found.pairs if (pair.evaluation, pair.variant, pair.ratio, pair.dataset, pair.metric) == place
    ]
    return pair


def test_equal_runs_are_equal_to_the_bit(compared: Callable[..., Comparison], tmp_path: Path) -> None:
    found = compared()
    assert found.cells == {"in both": 36, "equal to the bit": 36, "only in A": 0, "only in B": 0}
    assert all(pair.same for pair in found.pairs)
    assert found.settings == ()
    assert "59 of 59 numbers have equal cells only" in (tmp_path / "out" / "compare.md").read_text()
    assert "| Method" not in markdown(found)
    sheet = comparison_sheet(found)
    assert (sheet.blocks, sheet.below) == (((),), ())


def test_the_largest_difference_comes_first(compared: Callable[..., Comparison], tmp_path: Path) -> None:
    found = compared(alter=better_pmq)
    assert found.cells["equal to the bit"] == 36 - 5
    first, *_, last = found.pairs
    assert (first.variant, first.dataset) == ("pmq", "chapman")
    assert first.difference == pytest.approx(3.0)
    assert last.difference == 0.0
    pair = pair_of(found, "finetune", "pmq", 0.3, "chapman", "f1")
    assert pair.first is not None
    assert (pair.first.mean, pair.first.std) == pytest.approx((75.0, math.sqrt(2)))
    assert pair.first.seeds == (41, 42)
    assert (pair.equal, pair.same) == (0, False)
    lines = [line for line in markdown(found).splitlines() if line.startswith("| PMQ ")]
    assert len(lines) == 9
    assert [cell.strip() for cell in lines[-1].split("|")[-5:-1]][2:] == ["+3.0", "0 of 1"]
    with open(tmp_path / "out" / "compare.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["difference"]) for row in rows] == [pair.difference for pair in found.pairs]
    assert {row["a_seeds"] for row in rows} == {"41 42", "41"}
    assert float(rows[0]["b_mean"]) - float(rows[0]["a_mean"]) == pytest.approx(3.0)


def test_numbers_are_over_the_seeds_that_both_have(compared: Callable[..., Comparison]) -> None:
    def one_seed(plan: Plan) -> Plan:
        return replace(plan, cells=[cell for cell in plan.cells if cell.seed == 42 and cell.variant != "random"])

    found = compared(alter_plan=one_seed)
    pair = pair_of(found, "finetune", "pmq", 0.3, "chapman", "f1")
    assert pair.first == pair.second
    assert pair.same
    assert pair.first is not None
    assert (pair.first.seeds, pair.first.std) == ((42,), None)
    gone = pair_of(found, "finetune", "random", 0.3, "chapman", "f1")
    assert gone.second is None
    assert gone.first is not None
    assert gone.first.seeds == (41, 42)
    assert gone.difference is None
    assert found.cells == {"in both": 12, "equal to the bit": 12, "only in A": 24, "only in B": 0}


def test_numbers_of_one_run_alone_are_a_line_and_no_dashes(compared: Callable[..., Comparison]) -> None:
    def without_random(plan: Plan) -> Plan:
        return replace(plan, cells=[cell for cell in plan.cells if cell.variant != "random"])

    found = compared(alter=better_pmq, alter_plan=without_random)
    missing = [pair for pair in found.pairs if pair.second is None]
    text = markdown(found)
    (line,) = [line for line in text.splitlines() if "in A alone" in line]
    assert line.startswith(f"- {len(missing)} numbers are in A alone")
    assert "methods Random; datasets PTB-XL, Chapman; labels 30 %, 1 %; evaluations Fine-tuned" in line
    assert "in B alone" not in text
    assert "| Random" not in text
    assert "| – " not in text
    assert {row[0][0][0].split(",")[0] for row in comparison_sheet(found).blocks[0]} == {"PMQ"}


def test_settings_data_and_machine_that_differ_are_listed(compared: Callable[..., Comparison]) -> None:
    def elsewhere(row: Row) -> Row:
        return replace(row, provenance={"git": row.provenance["git"], "device": {"type": "cuda", "name": "/a/b/c"}})

    found = compared(alter=elsewhere, alter_plan=other_settings)
    assert found.settings == (
        ("pretrain.epochs", "unset", "3"),
        ("protocol", "paper", "strict"),
        ("computed with device.name", "none", "c"),
        ("computed with device.type", "none", "cuda"),
    )
    assert found.reasons == ["pretrain.epochs is 3, not unset", "protocol is strict, not paper"]
    assert "in one table: in B pretrain.epochs is 3, not unset; protocol is strict, not paper." in markdown(found)
    assert found.unit == "heartbeat"


def test_a_terminal_shows_the_largest_and_counts_the_rest(compared: Callable[..., Comparison]) -> None:
    def worse(row: Row) -> Row:
        return replace(row, scores=row.scores | {"heartbeat": {"f1": 0.1, "auroc": 0.1, "acc": 0.1}})

    sheet = comparison_sheet(compared(alter=worse))
    (rows,) = sheet.blocks
    assert len(rows) == ON_TERMINAL
    assert {len(row) for row in rows} == {len(sheet.columns)}
    differences = [abs(float(row[-1][0][0])) for row in rows]
    assert differences == sorted(differences, reverse=True)
    assert sheet.below[-1][0] == f"and {59 - ON_TERMINAL} more in compare.md"


def test_hostile_text_stays_text(compared: Callable[..., Comparison]) -> None:
    def hostile(plan: Plan) -> Plan:
        facts = plan.datasets["chapman"] | {"title": "<script>alert(1)</script>|x\n# heading"}
        return replace(
            plan,
            config=plan.config | {"caption": "<img src=x onerror=y> | a\n\n# heading"},
            variants=plan.variants | {"pmq": "**PMQ** | <b>"},
            datasets=plan.datasets | {"chapman": facts},
        )

    text = markdown(compared(alter=better_pmq, alter_plan=hostile))
    assert not [line for line in text.splitlines() if line.startswith("# heading")]
    assert "&lt;img" in text
    assert not [place for place in range(len(text)) if text[place] == "<" and text[place - 1] != "\\"]
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in table} == {4, 10}
