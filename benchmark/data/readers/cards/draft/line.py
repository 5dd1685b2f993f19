"""A line of a card's text: a key with its value, an open question, or a key that may be added."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from benchmark.results.plain_text import harmless

QUESTION = "?"
"""The value of a key that the folder does not tell; a card with one is refused (benchmark.config.cards)."""


class Line(NamedTuple):
    """A key of a section."""

    key: str
    value: Any
    """None: the line is a comment that shows what may be added."""
    comment: str = ""

    def text(self, indent: str) -> str:
        """The line as YAML."""
        comment = f"  # {' '.join(harmless(self.comment).split())}" if self.comment else ""
        if self.value is None:
            return f"{indent}# {self.key}: ...{comment}"
        return f"{indent}{self.key}: {flow(self.value)}{comment}"


def told(key: str, value: Any, comment: str = "") -> Line:
    """A line that the folder tells."""
    return Line(key, value, comment)


def asked(key: str, question: str) -> Line:
    """A line that the user must answer."""
    return Line(key, QUESTION, f"QUESTION: {question}")


def flow(value: Any) -> str:
    """A value in YAML's flow style; texts are quoted where YAML could read anything else."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(own)}" for key, own in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str) and value.replace("_", "").replace("-", "").isalpha() and value.isascii():
        return value if value.lower() not in ("true", "false", "null") and value[0].isalpha() else json.dumps(value)
    return json.dumps(value, ensure_ascii=False)
