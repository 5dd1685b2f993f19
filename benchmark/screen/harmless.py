"""Text of others made fit to be printed: a terminal, a page or a table shows it and does nothing else with it."""

from __future__ import annotations

import re

HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls other than tab and newline: escape codes
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional marks, which reorder the text around them
    "\u2028\u2029"  # separators of lines
    "\ud800-\udfff]"  # half of a surrogate pair, which has no UTF-8
)


def harmless(text: str) -> str:
    """The text with each harmful character replaced by ?."""
    return HARMFUL.sub("?", text)
