"""Digests that become keys, nested values by dotted names, and what pydantic models of stored values share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict

KEY_LENGTH = 16
STRICT = ConfigDict(strict=True, extra="forbid")
Protocol = Literal["paper", "strict"]
Labels = Literal["single", "multi"]


def digest(value: object) -> str:
    """Return the key of a JSON-like value: 16 hex digits of its canonical JSON's SHA-256. Raises ValueError for NaN."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested values, e.g. the content of a key or a config, by dotted name after a prefix."""
    by_name: dict[str, Any] = {}
    for name, value in values.items():
        by_name |= flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return by_name
