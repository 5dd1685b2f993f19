"""Random damage for the fuzz tests: of JSON values, whatever their form, and of bytes."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from benchmark.results.files import DIGEST, digested_json


def cases(count: int) -> int:
    """Cases that a fuzz test tries: all under `make reliability`, else an eighth."""
    return count if os.environ.get("FUZZ") == "all" else max(10, count // 8)


BOUNDED = settings(
    max_examples=cases(300),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
DEEP = json.loads("[" * 60 + "]" * 60)
VALUES: list[Any] = [
    None, True, -1, 0, 7, 1.5, 1e308, float("inf"), float("nan"), 2**31, 2**70, "", "7", "../../x", "/etc/passwd", ".",
    "x" * 5000, "\x1b[2J", "\x9b", "\u202ex", "\u2066", "=1+1", "@x", "a\nb", "\ud800", "é", "$x^{", "\\input{x}",
    "<script>", [], {}, DEEP, ["x"], [1, 2], {"x": 1}, {"../x": {}}, [{}], [[]],
]  # fmt: skip
Edits = list[tuple[float, str, Any]]
EDITS = st.lists(
    st.tuples(st.floats(0, 0.9999), st.sampled_from(["set", "set", "drop", "add", "rename"]), st.sampled_from(VALUES)),
    min_size=1,
    max_size=3,
)
"""Which place of a JSON value, what is done there, and what comes instead."""
Replacements = list[tuple[float, int, bytes]]
BYTES = st.lists(
    st.tuples(
        st.floats(0, 0.9999), st.integers(0, 9), st.binary(max_size=6) | st.sampled_from([b"[" * 3000, b'"', b"9"])
    ),
    min_size=1,
    max_size=3,
)


def places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """(container, key or index) of every value within a JSON value."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from places_in(value[key])


def edited(body: Any, edits: Edits) -> Any:
    body = copy.deepcopy(body)
    for place, what, come in edits:
        value, places = copy.deepcopy(come), list(places_in(body))
        if not places:
            return value
        holder, key = places[int(place * len(places))]
        if what == "drop":
            del holder[key]
        elif what == "rename" and isinstance(holder, dict):
            holder[str(value)[:5000]] = holder.pop(key)
        elif what == "add" and isinstance(holder[key], list):
            holder[key].append(value)
        else:
            holder[key] = value
    return body


def replaced(content: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    for place, gone, come in edits:
        at = int(place * len(content))
        content = content[:at] + come + content[at + gone :]
    return content


def forged(path: Path, change: Callable[[str], str]) -> None:
    """Change the text of a JSON file of a store under a valid digest, as whoever can write a store can."""
    body = json.loads(change(path.read_text()))
    path.write_bytes(digested_json({name: value for name, value in body.items() if name != DIGEST}))
