"""Keys: a digest of canonical JSON, and the content of a key by dotted names."""

from __future__ import annotations

import hashlib

import pytest

from benchmark.results.keys import KEY, KEY_LENGTH, digest, flat


def test_a_digest_is_of_the_canonical_json() -> None:
    expected = hashlib.sha256(b'{"a":[1,2.5,null],"b":"x"}').hexdigest()[:16]
    assert digest({"b": "x", "a": [1, 2.5, None]}) == digest({"a": (1, 2.5, None), "b": "x"}) == expected
    assert KEY.fullmatch(expected)
    assert len(expected) == KEY_LENGTH
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest(float("nan"))


@pytest.mark.parametrize(
    ("name", "valid"), [("a_B-9", True), ("a" * 64, True), ("a" * 65, False), ("", False), ("../a", False)]
)
def test_a_key_can_be_the_name_of_a_file(name: str, valid: bool) -> None:
    assert bool(KEY.fullmatch(name)) is valid


def test_nested_values_have_dotted_names() -> None:
    values = {"a": {"b": 1, "c": {"d": [2, 3]}}, "e": {}, "f": None}
    assert flat(values, "") == {"a.b": 1, "a.c.d": [2, 3], "f": None}
    assert flat(values, "own.") == {"own.a.b": 1, "own.a.c.d": [2, 3], "own.f": None}
