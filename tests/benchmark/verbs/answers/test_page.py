"""The page says of every answer what was planted, what must come out, and what came out."""

from __future__ import annotations

from benchmark.verbs.answers.answer import Answer, Finding
from benchmark.verbs.answers.page import Outcome, page


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
