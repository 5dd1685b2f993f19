"""The page says of every answer what was planted, what must come out, and what came out."""

from __future__ import annotations

import re
from pathlib import Path

from benchmark.verbs.answers import KNOWN_ANSWERS, PAGE
from benchmark.verbs.answers.answer import Answer, Finding
from benchmark.verbs.answers.entries import ANSWERS
from benchmark.verbs.answers.page import INTRODUCTION, Outcome, page

WRITTEN = (Path(__file__).resolve().parents[4] / PAGE).read_text(encoding="utf-8")


def answer(name: str) -> Answer:
    return Answer(name, f"{name} is planted.", f"{name} comes out.", {}, lambda ran: [])


def test_each_answer_has_its_verdict_and_its_section() -> None:
    good, bad = Finding("x", "1", "1", True), Finding("y", "2", "3", False)
    written = page(
        [Outcome(answer("one"), [good], 90.0), Outcome(answer("two"), [good, bad], 60.0), Outcome(answer("three"))]
    )
    assert "| [one](#one) | passed | 1 of 1 | 1.5 |" in written
    assert "| [two](#two) | failed | 1 of 2 | 1.0 |" in written
    assert "| [three](#three) | not run | | |" in written
    assert "| y | 2 | 3 | **failed** |" in written
    assert "Planted: three is planted.\n\nMust come out: three comes out.\n\nNot run yet.\n" in written


def test_help_and_page_name_the_answers_that_do_not_run_by_default_and_how_long_the_others_take() -> None:
    (named,) = [name for name, answer in ANSWERS.items() if not answer.by_default]
    assert WRITTEN.startswith(INTRODUCTION)
    assert f"runs all answers but {named}, about an hour on one core" in INTRODUCTION
    assert f"known-answers --only {named}\n" in INTRODUCTION
    assert f"; {named} runs only if it is named" in KNOWN_ANSWERS.flags["--only"].help
    assert f"all but {named}, about an hour" in KNOWN_ANSWERS.examples["known-answers"]
    minutes = dict(re.findall(r"^\| \[([\w-]+)\]\(.*\| ([\d.]+) \|$", WRITTEN, re.MULTILINE))
    assert list(minutes) == list(ANSWERS)
    assert 30 < sum(float(own) for name, own in minutes.items() if name != named) < 80
