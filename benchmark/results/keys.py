"""Keys of content: what a row, a pretraining or a plan is found by."""

from __future__ import annotations

import hashlib
import json
import re

KEY_LENGTH = 16


KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What a key may look like: it is part of file names, and stores come from other people."""


def digest(value: object) -> str:
    """Key of any JSON-like value: the first 16 hex digits of the SHA-256 of its canonical JSON text."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]
