"""Changes of stored files under a valid digest."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from benchmark.results.files import DIGEST, digested_json


def forged(path: Path, change: Callable[[str], str]) -> None:
    """Change the text of a JSON file of a store under a valid digest, as whoever can write a store can."""
    body = json.loads(change(path.read_text()))
    path.write_bytes(digested_json({name: value for name, value in body.items() if name != DIGEST}))
