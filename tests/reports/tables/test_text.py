"""Markdown and CSV of one table: the golden file, and what must hold of any of them."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from reports.runs.planned_tables import layouts
from reports.runs.run import open_run
from reports.tables.table import make_table
from reports.tables.text import long_csv, markdown
from reports.tables.values import Table

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def table(store_root: Path) -> Table:
    run = open_run(store_root)
    return make_table(run, next(layouts(run.plan, "finetune")), "heartbeat")


def test_markdown_is_the_golden_one(table: Table) -> None:
    assert markdown(table) == (GOLDEN / "table.md").read_text(encoding="utf-8")


def test_markdown_parses_to_the_numbers_of_the_table(table: Table) -> None:
    lines = [line for line in markdown(table).splitlines() if line.startswith("| ")]
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    assert {len(line) for line in cells} == {1 + len(table.columns)}
    numbers = [line[1:] for line in cells if "%" not in line[1] and not re.search("F1|---", line[1])]
    scores = [line.scores for block in table.blocks for line in block.lines]
    assert len(numbers) == len(scores) == 8
    for texts, values in zip(numbers, scores, strict=True):
        for text, score in zip(texts, values, strict=True):
            found = re.match(r"(\*\*)?([\d.]+|–)(\*\*)?(?:±([\d.]+))?", text.strip())
            assert found is not None
            assert found[2] == ("–" if score.mean is None else f"{score.mean:.1f}")
            assert bool(found[1]) == bool(found[3]) == score.best
            assert found[4] == (None if score.std is None else f"{score.std:.1f}")


def test_markdown_takes_titles_literally(table: Table) -> None:
    assert r"PMQ w/o mask_t & 5 % \| \*" in markdown(table)


def test_csv_traces_each_number_to_its_cells(table: Table, store_root: Path) -> None:
    lines = list(csv.DictReader(long_csv([table]).splitlines()))
    assert len(lines) == 2 * 4 * 7
    for line in lines:
        keys = line["keys"].split()
        assert all((store_root / "cells" / f"{key}.json").is_file() for key in keys)
        assert bool(line["mean_percent"]) or line["remark"]
        if line["metric"] != "overall" and line["mean_percent"]:
            assert len(keys) == int(line["n"])
    (first, *_) = lines
    assert float(first["mean_percent"]) == pytest.approx(50.0)
    assert float(first["std_percent"]) == pytest.approx(2**0.5)
