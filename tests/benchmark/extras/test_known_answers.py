"""The verb runs what is asked for, writes the page of all, and fails where a truth is not found.

The page says of every answer what was planted, what must come out, and what came out.

An arm runs once through the suite, is found again, and a leak is refused unless it is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from benchmark.cli import PAGE, VERBS
from benchmark.config.command_line import FAILED, OK
from benchmark.config.errors import ConfigError
from benchmark.data.datasets.base import DatasetError
from benchmark.extras import known_answers
from benchmark.extras import known_answers as verb
from benchmark.extras.answers import ANSWERS
from benchmark.extras.answers_planted import (
    Answer,
    Arm,
    Finding,
    Ran,
    cohorts,
    only_sinus,
    training_holds_the_test_part,
)
from benchmark.extras.known_answers import INTRODUCTION, Outcome, config_of, finished, key_of, page, run_arm
from benchmark.screen import open_console

ARM = Arm({})


def answers(found: bool, *, by_default: bool = True) -> dict[str, Answer]:
    def check(ran: Mapping[str, Ran]) -> list[Finding]:
        return [Finding("number", "1", "1", found)]

    arms, names = {"arm": ARM}, ("first", "second")
    return {name: Answer(name, "planted.", "expected.", arms, check, by_default) for name in names}


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Folders of the arms that were run; an arm counts as finished from then on."""
    done: list[Path] = []
    result = Ran(None, (), 30.0)  # type: ignore[arg-type]

    def run_arm(arm: Arm, work: Path) -> Ran:
        done.append(work)
        return result

    monkeypatch.setattr(verb, "run_arm", run_arm)
    monkeypatch.setattr(verb, "finished", lambda arm, work: result if done else None)
    return done


def test_what_was_asked_for_is_run_once_and_told(
    ran: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verb, "ANSWERS", answers(True))
    shown = StringIO()
    assert verb.ask(["first"], tmp_path, tmp_path / "page.md", open_console(shown)) == OK
    assert verb.ask(["first"], tmp_path, tmp_path / "page.md", open_console(shown)) == OK
    assert len(ran) == 1
    assert "passed: number: 1; wanted: 1" in shown.getvalue()
    assert "| [first](#first) | passed | 1 of 1 | 0.5 |" in (tmp_path / "page.md").read_text()


def test_a_truth_that_is_not_found_fails(ran: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "ANSWERS", answers(False))
    assert verb.ask([], tmp_path, tmp_path / "page.md", open_console(StringIO())) == FAILED


def test_an_answer_may_run_only_by_name(ran: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "ANSWERS", answers(True, by_default=False))
    assert verb.ask([], tmp_path, tmp_path / "page.md", open_console(StringIO())) == OK
    assert ran == []
    assert "Not run yet." in (tmp_path / "page.md").read_text()


def test_a_run_that_breaks_is_one_line_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(arm: Arm, work: Path) -> Ran:
        raise DatasetError("no recording is usable")

    monkeypatch.setattr(verb, "ANSWERS", answers(True))
    monkeypatch.setattr(verb, "run_arm", refuse)
    assert verb.ask([], tmp_path, tmp_path / "page.md", open_console(StringIO())) == FAILED
    assert capsys.readouterr().err.splitlines() == [
        "error: first, arm: no recording is usable",
        "error: second, arm: no recording is usable",
    ]


def test_an_unknown_answer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"unknown known answer 'leek' .*leak"):
        verb.ask(["leek"], tmp_path, tmp_path / "page.md", open_console(StringIO()))


WRITTEN = (Path(__file__).resolve().parents[3] / PAGE).read_text(encoding="utf-8")


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
    assert f"; {named} runs only if it is named" in VERBS["known-answers"].flags["--only"].help
    assert f"all but {named}, about an hour" in VERBS["known-answers"].examples["known-answers"]
    minutes = dict(re.findall(r"^\| \[([\w-]+)\]\(.*\| ([\d.]+) \|$", WRITTEN, re.MULTILINE))
    assert list(minutes) == list(ANSWERS)
    assert 30 < sum(float(own) for name, own in minutes.items() if name != named) < 80


TINY = Arm(
    {
        **cohorts(mimic=4, ptb_xl=40),
        "encoder": {"hidden": 4, "depth": 2, "output": 8},
        "pretrain.epochs": 1,
        "linear.strengths": [1.0],
        "seeds": [41],
    },
    allow_leak=False,
)


def test_a_key_holds_the_config_the_plants_and_the_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {
        key_of(TINY),
        key_of(replace(TINY, plants={"ptb-xl": only_sinus})),
        key_of(replace(TINY, plants={"ptb-xl": training_holds_the_test_part})),
        key_of(replace(TINY, allow_leak=True)),
        key_of(replace(TINY, overrides={**TINY.overrides, "seeds": [42]})),
    }
    assert len(keys) == 5
    monkeypatch.setattr(known_answers, "VERSIONS", (0,))
    assert key_of(TINY) not in keys


@pytest.mark.slow
def test_an_arm_runs_once_and_keeps_no_data(tmp_path: Path) -> None:
    assert finished(TINY, tmp_path) is None
    ran = run_arm(TINY, tmp_path)
    again = finished(TINY, tmp_path)
    assert again is not None
    assert (again.run.plan.key, again.leaks, again.seconds) == (ran.run.plan.key, (), ran.seconds)
    assert len(again.run.rows) == 1
    assert list((tmp_path / "data").iterdir()) == []


@pytest.mark.slow
def test_a_leak_is_refused_unless_it_is_allowed(tmp_path: Path) -> None:
    leaky = replace(TINY, plants={"ptb-xl": training_holds_the_test_part})
    with pytest.raises(DatasetError, match="patients are on two sides of the split of PTB-XL"):
        run_arm(leaky, tmp_path)
    ran = run_arm(replace(leaky, allow_leak=True), tmp_path)
    assert any("on two sides" in leak for leak in ran.leaks)
    assert ran.run.plan.warnings[0] == ran.leaks[0]


def test_the_encoder_and_its_training_are_those_that_the_page_names_whatever_the_demo_has() -> None:
    config = config_of(Arm(cohorts()))
    assert config.encoder == {"name": "dilated", "hidden": 16, "depth": 6, "output": 64, "pool": 1}
    assert (config.pretrain.budget, config.method_config("pmq").recipe.lr, config.precision) == (
        "epochs",
        1e-3,
        "float32",
    )
