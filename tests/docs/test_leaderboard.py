"""The commands of docs/LEADERBOARD.md are commands, and its reasons are those of the code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from benchmark.config.command_line.verb import parse, refuse_unknown
from benchmark.verbs import VERBS

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "LEADERBOARD.md").read_text(encoding="utf-8")


def test_its_commands_are_understood() -> None:
    commands = re.findall(r"^python run_benchmark.py (.*)$", TEXT, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        verb, arguments = parse(VERBS, shlex.split(command))
        refuse_unknown(verb, arguments)
        assert arguments.capsule or arguments.leaderboard


def test_its_reasons_are_those_of_the_board() -> None:
    code = (ROOT / "reports" / "leaderboard" / "places.py").read_text(encoding="utf-8")
    (reasons,) = re.findall(r"reason: ([^.]*), a damaged row\.", TEXT)
    assert [reason for reason in reasons.replace("\n", " ").split(", ") if f'f"{reason}' not in code] == []
