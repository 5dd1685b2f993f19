"""A cell by the names of the tables in any order, or by its key; what is unknown or of several cells is a line."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.config.errors import ConfigError
from benchmark.results.failures import NoResults
from benchmark.results.store import Store
from benchmark.run.plan import make_plan
from benchmark.verbs.explain.find import Found, find_cell, fits
from tests.benchmark.run.bench import Bench, cell_of


@pytest.fixture(scope="module")
def results(told_bench: Bench) -> Path:
    return told_bench.store.root


@pytest.mark.parametrize(
    "asked",
    [
        "pmq finetune chapman 0.5 seed 41",
        "pmq finetune",
        "PMQ Chapman Fine-tuned 50% 41",
        "41 50 % fine-tuned pmq",
        "seed 41 finetune PMQ",
    ],
)
def test_a_cell_is_found_by_its_names_in_any_order(told_bench: Bench, results: Path, asked: str) -> None:
    found = find_cell(results, asked)
    assert found.key == found.row.key == cell_of(told_bench, "pmq").key
    assert found.name == "pmq finetune chapman 0.5 seed 41"


def test_a_cell_is_found_by_the_start_of_its_key(told_bench: Bench, results: Path) -> None:
    key = cell_of(told_bench, "random", "linear").key
    assert find_cell(results, key).name == find_cell(results, key[:8]).name == "random linear chapman 0.5 seed 41"


def test_a_gate_that_is_in_two_tables_is_one_cell(told_bench: Bench, results: Path) -> None:
    found = [find_cell(results, f"features{table}") for table in ("", " linear", " finetune")]
    assert {own.key for own in found} == {cell_of(told_bench, "features", "features").key}


def test_a_row_of_no_plan_has_its_own_name(told_bench: Bench, results: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(results, tmp_path / "runs")
    plan = make_plan(told_bench.config, told_bench.prepared, told_bench.grid)
    for file in (copy / "plans").iterdir():
        file.unlink()
    Store(copy).save_plan(replace(plan, key="fewer", cells=plan.cells[:1]))
    found: Found = find_cell(copy, cell_of(told_bench, "pmq", "linear").key)
    assert (found.plan, found.name) == (None, "pmq linear chapman 0.5 seed 41")


def test_an_ambiguous_name_says_what_to_add(results: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        find_cell(results, "chapman 0.5")
    said = str(caught.value)
    assert said.startswith("'chapman 0.5' is 5 cells: add row and evaluation, or give a key; there are random finetune")
    assert "\n" not in said
    with pytest.raises(ConfigError, match="'pmq' is 2 cells: add evaluation, or give a key; there are pmq finetune ch"):
        find_cell(results, "pmq")


def test_a_start_of_several_keys_lists_them(told_bench: Bench, results: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(results, tmp_path / "runs")
    key = cell_of(told_bench, "pmq").key
    other = f"{key[:6]}{'0' * 10}"
    shutil.copy(copy / "cells" / f"{key}.json", copy / "cells" / f"{other}.json")
    with pytest.raises(ConfigError, match=f"'{key[:6]}' begins 2 keys: "):
        find_cell(copy, key[:6])


@pytest.mark.parametrize("asked", ["pmqq finetune chapman 0.5 seed 41", "ffffffff", "pmq finetune chapman 0.7", ""])
def test_an_unknown_name_lists_near_ones(results: Path, asked: str) -> None:
    with pytest.raises(ConfigError) as caught:
        find_cell(results, asked)
    said = str(caught.value)
    if asked:
        assert said.startswith(f"no cell {asked!r} in {results}: a name is, in any order, row, evaluation, dataset, ")
    if asked.startswith("pmq"):
        assert "near ones: pmq finetune chapman 0.5 seed 41" in said


def test_a_cell_without_a_row_is_a_line(told_bench: Bench, results: Path, tmp_path: Path) -> None:
    with pytest.raises(NoResults, match="no results in"):
        find_cell(tmp_path, "pmq finetune")
    copy = shutil.copytree(results, tmp_path / "runs")
    cell = cell_of(told_bench, "pmq")
    (copy / "cells" / f"{cell.key}.json").unlink()
    with pytest.raises(NoResults, match=rf"pmq finetune .* \({cell.key}\) is planned and not finished; "):
        find_cell(copy, "pmq finetune")
    Store(copy).save_failure(cell.key, "what", "ValueError: no\nmore")
    with pytest.raises(NoResults, match=rf"\({cell.key}\) has failed: ValueError: no; traceback in "):
        find_cell(copy, "pmq finetune")


def test_words_fit_different_parts_once_each() -> None:
    parts = ((("pmq",), ("patient", "memory")), (("1",),), (("1",), ("seed", "1")))
    assert fits(("1", "1", "pmq"), parts)
    assert fits(("seed", "1", "patient", "memory"), parts)
    assert not fits(("1", "1", "1"), parts)
    assert not fits(("patient",), parts)
