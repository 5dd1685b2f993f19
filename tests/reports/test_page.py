"""The page: the answer first, the rest folded, what comes from a store escaped, and nothing loaded from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.results.files import digest
from benchmark.results.store import Plan, Row
from reports import load
from reports.build import build_report
from reports.page import data_table, pretrainings_table
from tests.reports.conftest import write_record


@pytest.fixture
def write_page(write_store: Callable[..., Path], tmp_path: Path) -> Callable[..., str]:
    """The page of the made-up store with changes."""

    def write(**changes: object) -> str:
        build_report(load(write_store(**changes)), tmp_path / "out")
        return (tmp_path / "out" / "report.html").read_text()

    return write


def test_the_page_answers_before_all_that_is_folded(write_page: Callable[..., str]) -> None:
    page = write_page()
    assert not re.findall(r"(?:src|href)=\"(?!data:)", page)
    order = [
        "33 of 36 cells, 1 failed, 2 not run; ",
        "1 problem<",
        "<h2>Fine-tuned",
        'class="part"',
        "Scores by class",
    ]
    places = [page.index(text) for text in order]
    assert places == sorted(places)
    assert page.index("<table") < page.index('class="part"')
    assert "RuntimeError: the loss is not finite" in page


def test_what_comes_from_a_store_is_text(write_page: Callable[..., str]) -> None:
    def hostile(plan: Plan) -> Plan:
        titles = {name: f"<script>{title}</script>" for name, title in plan.variants.items()}
        return replace(plan, variants=titles, warnings=["<b>none</b>"])

    page = write_page(alter_plan=hostile)
    assert "<script" not in page
    assert "<b>none" not in page
    assert "&lt;script&gt;PMQ&lt;/script&gt;" in page


def test_pretrainings_stand_by_row_and_seed_and_untrained_encoders_are_one_line(
    write_store: Callable[..., Path],
) -> None:
    def of_seed(row: Row) -> Row:
        return replace(row, pretrain_key=digest(f"{row.variant}{row.seed}"), pretrain_seed=row.seed)

    root = write_store(complete=True, alter=of_seed)
    for seed in (41, 42):
        health = [{"epoch": 0, "effective_rank": 4.0}, {"epoch": 1, "effective_rank": 1.5, "mean_cosine": 0.9}]
        write_record(root, f"pmq{seed}", seed=seed, loss=[3.0, 2.0], updates=8, seconds=5.0, health=health)
        write_record(root, f"random{seed}", seed=seed, loss=[], health=health[:1])
    table = pretrainings_table(load(root))
    assert table[["Pretraining", "Seed"]].to_numpy().tolist() == [["Random", "41, 42"], ["PMQ", "41"], ["PMQ", "42"]]
    random, pmq, _ = table.to_dict("records")
    assert (random["Training"], random["Loss"], random["effective rank"]) == ("untrained", "–", "4.00")
    assert (pmq["Loss"], pmq["effective rank"]) == ("3.00 → 2.00", "4.00 → 1.50")
    assert pmq["Training"] == "2 epochs, 8 updates, 5 s; collapsed"


def test_data_and_skipped_recordings_are_counted(store_root: Path) -> None:
    data = data_table(load(store_root)).set_index("Dataset")
    assert data.loc["PTB-XL", ["Kind", "Skipped", "Why"]].tolist() == [
        "simulated", 3, "rate under 50/min: 2, all-zero lead: 1",
    ]  # fmt: skip
