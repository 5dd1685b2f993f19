"""Shortens absolute paths in JSON-like values to their last part."""

from __future__ import annotations

import re
from typing import Any

PART = r"[^\s/\\'\"<>|:;,()\[\]{}]+"
ROOT = r"(?:file://)?(?:~[\w.-]*|[A-Za-z]:)?"
START = rf"(?<![\w.:/\\~-]){ROOT}"
QUOTED = re.compile(rf"(?<=['\"]){ROOT}(?:[/\\][^/\\'\"\n]+){{2,}}[/\\]?(?=['\"])")
"""Between quotes, as in Python's errors, a path may contain spaces."""
BARE = re.compile(rf"{START}(?:[/\\]{PART}){{2,}}[/\\]?")
WHOLE = re.compile(rf"{START}(?:[/\\][^/\\\n]+){{2,}}[/\\]?")


def portable(value: Any) -> Any:
    """A JSON-like value with every absolute path in its texts and keys shortened to its last part.

    '/home/ann/mine.py' becomes 'mine.py', '~/data/ecg' 'ecg'; '/part' alone, URLs and relative paths are kept.
    """
    if isinstance(value, dict):
        return {portable(key): portable(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [portable(own) for own in value]
    if not isinstance(value, str):
        return value
    if WHOLE.fullmatch(value):
        return _last(value)
    for pattern in (QUOTED, BARE):
        value = pattern.sub(lambda found: _last(found[0]), value)
    return value


def _last(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]
