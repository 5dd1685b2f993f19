"""The pages that a user reads, and parts of them by heading."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
EVIDENCE = DOCS / "evidence"


def text_of(page: str, heading: str = "") -> str:
    """A page of docs/, or the part of it under a heading, to the next one of that level."""
    text = (DOCS / page).read_text(encoding="utf-8")
    if not heading:
        return text
    _, separator, rest = text.partition(f"{heading}\n")
    assert separator, f"{page} has no {heading!r}"
    level = len(heading) - len(heading.lstrip("#"))
    return re.split(rf"^#{{1,{level}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


PREDICTIONS = text_of("READING.md", "## Predictions of others").split("```csv\n")[1].split("```")[0]
"""The example of predictions of others."""
