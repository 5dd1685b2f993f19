"""Path patterns: what they find, and which identifiers stand in the paths."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmark.data.readers.cards.card import Card
from benchmark.data.readers.cards.find import Found, files_of

FILES = ("[b] c/r5.hea", "a/p1/r1_hr.hea", "a/p1/r2_hr.hea", "a/p2/r3_hr.hea", "a/p2/r3_lr.hea", "r4_hr.hea")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("{recording}_hr.hea", [("r4_hr.hea", "r4", "")]),
        ("a/{patient}/{recording}_lr.hea", [("a/p2/r3_lr.hea", "r3", "p2")]),
        ("**/{recording}_hr.hea", [(path, path[-9:-7], "") for path in FILES if path.endswith("_hr.hea")]),
        ("a/*1/{recording}.hea", [("a/p1/r1_hr.hea", "r1_hr", ""), ("a/p1/r2_hr.hea", "r2_hr", "")]),
        ("[b] c/{recording}.hea", [("[b] c/r5.hea", "r5", "")]),
        ("{patient}_hr.hea", [("r4_hr.hea", "", "r4")]),
    ],
)
def test_a_pattern_finds_files_and_their_identifiers(
    made: Callable[..., Card], tmp_path: Path, pattern: str, expected: list[tuple[str, str, str]]
) -> None:
    for path in FILES:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    named = "{recording}" in pattern
    table = {"patient": None, "recording": "id" if named else None, "path": None if named else "id"}
    assert files_of(made(signals={"files": pattern}, table=table), tmp_path) == [Found(*own) for own in expected]
