"""docs/TOUR.md: its code runs, and enters no more functions and files than somebody would step through."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.docs.pages import DOCS, text_of

MOST_FUNCTIONS, MOST_FILES = 250, 35
ROOT = str(DOCS.parent)
OURS = tuple(f"{ROOT}/{name}/" for name in ("benchmark", "methods"))
"""Folders of what is counted; the statistics of `reports` are a walk of their own."""
CODE = text_of("TOUR.md").split("```python\n")[1].split("```")[0]


@pytest.mark.slow
def test_the_tour_runs_through_few_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    imports, mark, steps = CODE.partition("# Data.")
    entered: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(OURS) and not code.co_name.startswith("<"):
            entered.add((code.co_filename, code.co_qualname))

    names: dict[str, Any] = {}
    exec(imports, names)
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        exec(mark + steps, names)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    (pair,) = names["pairs"].to_dict("records")
    assert (pair["first"], pair["second"]) == ("random", "pmq")
    assert pair["low"] < pair["difference"] < pair["high"]
    assert len(entered) <= MOST_FUNCTIONS
    assert len({file for file, _ in entered}) <= MOST_FILES
