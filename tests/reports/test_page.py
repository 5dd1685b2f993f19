"""The page answers first, folds the rest, escapes what comes from a store, and loads nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.results.store import Plan
from reports import load
from reports.build import build_report


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
        "Cells: 29 of 32 finished, 1 failed, 2 not run; ",
        "1 problem<",
        "Better than the untrained encoder (Random) in Overall",
        "Highest Overall of the pretrained encoders: at 30 % ",
        "<h2>Fine-tuned",
        'class="part"',
        "Scores by class",
    ]
    places = [page.index(text) for text in order]
    assert places == sorted(places)
    assert page.index("<table") < page.index('class="part"')
    assert "RuntimeError: the loss is not finite" in page


@pytest.mark.draws
def test_each_sentence_stands_beside_its_figure(write_page: Callable[..., str]) -> None:
    page = write_page()
    order = [
        "Better than the untrained encoder",
        "<figcaption>Overall, row minus Random",
        "Highest Overall of the pretrained encoders",
        "<figcaption>Overall, method minus the best",
    ]
    places = [page.index(text) for text in order]
    assert places == sorted(places)


def test_what_comes_from_a_store_is_text(write_page: Callable[..., str]) -> None:
    def hostile(plan: Plan) -> Plan:
        titles = {name: f"<script>{title}</script>" for name, title in plan.variants.items()}
        return replace(plan, variants=titles, warnings=["<b>none</b>"])

    page = write_page(alter_plan=hostile)
    assert "<script" not in page
    assert "<b>none" not in page
    assert "&lt;script&gt;PMQ&lt;/script&gt;" in page
