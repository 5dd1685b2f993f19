"""Paths of a machine shrink to their last part; texts that only look like paths stay."""

from __future__ import annotations

import pytest

from reports.runs.scrub_paths import portable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/ann/mine.py", "mine.py"),
        ("/Users/Ann Smith/my method.py", "my method.py"),
        ("~/methods/mine.py", "mine.py"),
        ("file:///home/ann/model", "model"),
        ("C:\\data\\ecg", "ecg"),
        ("no encoder in /home/ann/runs/pretrained/abc: it is missing", "no encoder in abc: it is missing"),
        ("[Errno 2] No such file: '/Users/Ann Smith/x y.npz'", "[Errno 2] No such file: 'x y.npz'"),
        ('  File "/home/ann/a.py", line 3', '  File "a.py", line 3'),
    ],
)
def test_an_absolute_path_shrinks_to_its_last_part(text: str, expected: str) -> None:
    assert portable(text) == expected
    assert portable(expected) == expected


@pytest.mark.parametrize(
    "text",
    ["./mine.py", "files/p10", "https://a.org/b/c", "heart rate below 50/min", "and/or/maybe", "/part", "1 / 2", ""],
)
def test_other_texts_stay(text: str) -> None:
    assert portable(text) == text


def test_keys_and_nested_values_are_reached_and_numbers_are_not() -> None:
    value = {"/home/ann/mine.py": {"lr": 1e-3, "methods": ["/home/ann/mine.py", None, True]}}
    assert portable(value) == {"mine.py": {"lr": 1e-3, "methods": ["mine.py", None, True]}}
