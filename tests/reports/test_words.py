"""Texts are safe in what people read, and as they are in what programs read."""

from __future__ import annotations

from pathlib import Path

from reports.score_tables import LATEX
from reports.words import write_files


def test_control_characters_are_text_in_what_people_read(tmp_path: Path) -> None:
    write_files(tmp_path, dict.fromkeys(("a.md", "a.csv"), "Clinic\x1b[2J\u202e\n"))
    assert (tmp_path / "a.md").read_text() == "Clinic\\x1b[2J\\u202e\n"
    assert (tmp_path / "a.csv").read_text() == "Clinic\x1b[2J\u202e\n"
    assert LATEX.text("Clinic\x1b\u202e\nA") == r"Clinic\textbackslash{}x1b\textbackslash{}u202e A"
