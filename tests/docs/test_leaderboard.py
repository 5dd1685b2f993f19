"""The commands of docs/READING.md lead to a page, and its reasons are those of the code."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmark.cli import VERBS
from benchmark.config.command_line import OK, parse, refuse_unknown
from run_benchmark import main
from tests.docs.pages import text_of
from tests.reports.leaderboard.conftest import Entry, few_resamples, submit

__all__ = ["few_resamples", "submit"]  # fixtures

ROOT = Path(__file__).resolve().parents[2]
TEXT = text_of("READING.md", "## A leaderboard from capsules")


def test_its_commands_are_understood() -> None:
    commands = re.findall(r"^python run_benchmark.py (.*)$", TEXT, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        verb, arguments = parse(VERBS, shlex.split(command))
        refuse_unknown(verb, arguments)
        assert {"capsule", "leaderboard", "sample"} & {name for name, value in vars(arguments).items() if value}


def test_its_commands_lead_from_two_stores_to_a_page(
    submit: Callable[[Entry], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pack, rank, _ = (
        shlex.split(command) for command in re.findall(r"^python run_benchmark.py (.*)$", TEXT, re.MULTILINE)
    )
    Path("capsules").mkdir()
    shutil.copy(submit(Entry("bob", {"random": 0.0, "pmq": 3.0})), "capsules")
    of_alice = Path(submit(Entry("of-alice", {"random": 0.0, "moco": 2.0}))).parent / "store"
    assert main([*pack, "--results", str(of_alice)]) == OK
    Path("alice.zip").rename("capsules/alice.zip")
    assert main([*rank[:2], *sorted(map(str, Path().glob(rank[2]))), *rank[3:]]) == OK
    for file in ("leaderboard.html", "leaderboard.md", "leaderboard.csv"):
        text = Path("out", file).read_text(encoding="utf-8")
        assert "alice" in text
        assert "bob" in text


def test_its_reasons_are_those_of_the_board() -> None:
    code = (ROOT / "reports" / "leaderboard.py").read_text(encoding="utf-8")
    (reasons,) = re.findall(r"reason: ([^.]*), a damaged row\.", TEXT)
    assert [reason for reason in reasons.replace("\n", " ").split(", ") if f'f"{reason}' not in code] == []
