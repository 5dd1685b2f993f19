"""The verb runs what is asked for, writes the page of all, and fails where a truth is not found."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from pathlib import Path

import pytest

from benchmark.config.command_line.verb import FAILED, OK
from benchmark.config.errors import ConfigError
from benchmark.data.readers.base import DatasetError
from benchmark.screen.console import open_console
from benchmark.verbs.answers import ask as verb
from benchmark.verbs.answers.answer import Answer, Arm, Finding, Ran

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
