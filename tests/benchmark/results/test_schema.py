"""What a stored value may be: bounds of numbers, names and keys.

Keys: a digest of canonical JSON, and the content of a key by dotted names.
"""

from __future__ import annotations

import hashlib
from dataclasses import make_dataclass
from typing import Any

import pytest

from benchmark.results import schema
from benchmark.results.schema import KEY, KEY_LENGTH, checked, digest, flat

NAN = float("nan")
BOUNDS: dict[str, tuple[list[Any], list[Any]]] = {
    "Score": ([0.0, 1.0], [-0.01, 1.01, NAN, "0.5"]),
    "Ratio": ([1e-9, 1.0], [0.0, 1.01, -0.1]),
    "Count": ([0, 7], [-1, True, 1.0]),
    "Name": (["a b.c+d-e_f", "é", "x" * 100], ["", "x" * 101, "../x", "-x", "a/b"]),
    "Key": (["x" * 64, "a_-1"], ["", "x" * 65, "a.b"]),
    "KeyOrNone": (["", "a"], ["a.b"]),
    "Evaluated": (["finetune", "linear", "features"], ["other", ""]),
    "Unit": (["heartbeat", "recording"], ["both"]),
    "Protocol": (["paper", "strict"], ["official"]),
    "Labels": (["single", "multi"], ["both"]),
}
"""Type -> values that it takes, values that it refuses."""


@pytest.mark.parametrize("name", BOUNDS)
def test_a_type_ends_where_it_makes_no_sense(name: str) -> None:
    one = make_dataclass("one", [("value", getattr(schema, name))])
    taken, refused = BOUNDS[name]
    for value in taken:
        assert repr(checked(one, {"value": value}).value) == repr(value)  # type: ignore[attr-defined]
    for value in refused:
        with pytest.raises(ValueError, match=r"^value: "):
            checked(one, {"value": value})
    if name in ("Key", "Name", "Evaluated"):  # a long value is shown by its beginning
        with pytest.raises(ValueError, match=f"'{'/' * 60}'"):
            checked(one, {"value": "/" * 200})


def test_a_digest_is_of_the_canonical_json() -> None:
    expected = hashlib.sha256(b'{"a":[1,2.5,null],"b":"x"}').hexdigest()[:16]
    assert digest({"b": "x", "a": [1, 2.5, None]}) == digest({"a": (1, 2.5, None), "b": "x"}) == expected
    assert KEY.fullmatch(expected)
    assert len(expected) == KEY_LENGTH
    assert digest({"a": 1}) != digest({"a": 1.0})
    assert digest([0.1]) != digest([0.1 + 2e-16])
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest(NAN)


def test_nested_values_have_dotted_names() -> None:
    values = {"a": {"b": 1, "c": {"d": [2, 3]}}, "e": {}, "f": None}
    assert flat(values, "") == {"a.b": 1, "a.c.d": [2, 3], "f": None}
    assert flat(values, "own.") == {"own.a.b": 1, "own.a.c.d": [2, 3], "own.f": None}
