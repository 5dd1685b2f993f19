"""Content keys of rows, pretrainings and plans."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

KEY_LENGTH = 16


KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Valid keys: they become file names, and stores may come from others."""


def digest(value: object) -> str:
    """Key of a JSON-like value: first 16 hex digits of the SHA-256 of its canonical JSON. ValueError for NaN."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


def flat(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Nested values, e.g. the content of a key, by dotted name after a prefix."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return found
