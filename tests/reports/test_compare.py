"""A run held against another, and against printed numbers: means over shared seeds, identical cells, settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from benchmark.results.names import numbers, sources
from benchmark.results.store import Plan, Row
from reports import load
from reports.compare import beside, compare, printed_lines, write_comparison

WriteStore = Callable[..., Path]


def better_pmq(row: Row) -> Row:
    """PMQ is 0.03 better on Chapman, and the other cells took longer."""
    if (row.variant, row.dataset) != ("pmq", "chapman"):
        return replace(row, training={"seconds": 99.0})
    scores = {metric: None if score is None else score + 0.03 for metric, score in row.scores["heartbeat"].items()}
    return replace(row, scores=row.scores | {"heartbeat": scores})


def other_settings(plan: Plan) -> Plan:
    return replace(plan, config=plan.config | {"protocol": "strict", "pretrain": {"epochs": 3}})


def test_equal_runs_are_identical(write_store: WriteStore) -> None:
    comparison = compare(load(write_store("a", complete=True)), load(write_store("b", complete=True)))
    assert "36 in both, 36 identical to the bit, 0 only in A, 0 only in B" in comparison.summary[2]
    assert (len(comparison.table), len(comparison.settings)) == (0, 0)


def test_numbers_that_differ_stand_first_with_their_difference(write_store: WriteStore, tmp_path: Path) -> None:
    one = load(write_store("a", complete=True))
    comparison = compare(one, load(write_store("b", complete=True, alter=better_pmq)))
    changed = comparison.numbers.query("difference != 0")
    assert set(zip(changed["variant"], changed["dataset"], strict=True)) == {("pmq", "chapman")}
    assert changed["difference"].to_numpy() == pytest.approx(3.0)
    first = comparison.table.iloc[0]
    assert (first["Method"], first["Dataset"], first["B − A"]) == ("PMQ", "Chapman", "+3.0")
    row = changed.query("ratio == 0.3 and metric == 'f1' and evaluation == 'finetune'").iloc[0]
    assert (row["a"], row["b"], row["a_seeds"]) == (pytest.approx(75), pytest.approx(78), 2)
    markdown, csv = write_comparison(comparison, tmp_path)
    assert "| PMQ " in markdown.read_text()
    assert len(pd.read_csv(csv)) == len(comparison.numbers)


def test_means_are_over_the_seeds_that_both_have(write_store: WriteStore) -> None:
    one, other = load(write_store("a")), load(write_store("b", complete=True))
    comparison = compare(one, other)
    pmq = comparison.numbers.query("variant == 'pmq' and dataset == 'chapman' and ratio == 0.01").iloc[0]
    assert (pmq["a_seeds"], pmq["b_seeds"], pmq["difference"]) == (1, 1, 0)  # seed 42 failed in A
    random = comparison.numbers.query("variant == 'random' and dataset == 'chapman' and ratio == 0.01")
    assert random["difference"].isna().all()
    assert "0 only in A, 3 only in B" in comparison.summary[2]


def test_a_rerun_of_one_of_two_labelled_subsets_has_equal_numbers(write_store: WriteStore) -> None:
    whole = load(write_store("a", complete=True))
    cells = [replace(cell, seed=41, subset=cell.seed - 41) for cell in whole.plan.cells]
    again = [cell for cell in cells if cell.subset == 1]
    one, other = (replace(whole, plan=replace(whole.plan, cells=some)) for some in (cells, again))
    comparison = compare(one, other)
    assert "16 in both, 16 identical to the bit, 20 only in A" in comparison.summary[2]
    assert "47 in both, 47 of them equal" in comparison.summary[3]


def test_paths_of_machines_are_no_difference(write_store: WriteStore) -> None:
    def at(home: str) -> Callable[[Plan], Plan]:
        return lambda plan: replace(plan, config=plan.config | {"methods": [f"/home/{home}/mine.py"]})

    one = load(write_store("a", complete=True, alter_plan=at("ann")))
    assert compare(one, load(write_store("b", complete=True, alter_plan=at("bob")))).settings.empty


def test_settings_that_differ_are_listed(write_store: WriteStore) -> None:
    one = load(write_store("a", complete=True))
    comparison = compare(one, load(write_store("c", complete=True, alter_plan=other_settings)))
    assert {"protocol", "pretrain.epochs"} <= set(comparison.settings["setting"])
    assert "do not belong into one table" in comparison.summary[-1]
    assert any(line.startswith("protocol: paper in A, strict in B") for line in printed_lines(comparison))


def test_a_run_stands_beside_the_paper(write_store: WriteStore) -> None:
    comparison = beside(load(write_store("a", complete=True)), "pmq")
    pmq = comparison.numbers.query("variant == 'pmq' and dataset == 'ptb-xl' and ratio == 0.3 and metric == 'f1'")
    (printed,) = (n for n in numbers() if n[:6] == ("pmq", "PMQ", "ptb-xl", "finetune", 0.3, "f1"))
    assert pmq["b"].item() == printed.percent == 56.1
    assert pmq["difference"].item() == pytest.approx(56.1 - 70)
    assert set(comparison.numbers["variant"]) == {"random", "moco", "pmq"}
    assert sources()["pmq"].cite in comparison.summary[1]
