"""A YAML file that is no config: its values, or one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.config.errors import ConfigError
from benchmark.config.yaml_text import values_of


def test_values_are_as_they_look(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("a: 1e-3\nb: on\nc: [010, 2]\n")
    assert values_of(tmp_path / "x.yaml") == {"a": 0.001, "b": "on", "c": ["010", 2]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "x.yaml cannot be read: No such file"),
        (b"a: [", "x.yaml is not YAML: "),
        (b"a: &b 1\nc: *b", r"x.yaml is not YAML: the alias \*b is not read"),
        (b"\xff\xfe", "x.yaml is not YAML: "),
        (b"a: !!python/object:os.system 1", "x.yaml is not YAML: "),
    ],
)
def test_anything_else_is_one_line(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "x.yaml").write_bytes(content)
    with pytest.raises(ConfigError, match=message) as caught:
        values_of(tmp_path / "x.yaml")
    assert "\n" not in str(caught.value)
