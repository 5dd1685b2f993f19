"""Config files damaged at random: a config, or one line that refuses; never a crash."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmark.config.config import Config, load_config
from benchmark.config.errors import ConfigError

pytestmark = pytest.mark.slow
SNIPPETS = (
    b"\0", b"\n", b"\n  ", b"\t", b":", b": ", b"- ", b"[", b"]", b"{", b"}", b"#", b"&a ", b"*a", b"!!binary ",
    b"!!int ", b"!!timestamp ", b"? ", b"|", b">", b"'", b'"', b"%", b"@", b"---\n", b"9" * 40, b"1e300", b"-1",
    b"null", b"true", b".inf", b"\xff", b"\x1b[2J", "\u202e".encode(), b"[" * 3000, b"../../x", b"methods: ", b"<<: ",
)  # fmt: skip
EDITS = st.lists(
    st.tuples(st.floats(0, 0.9999), st.integers(0, 9), st.sampled_from(SNIPPETS) | st.binary(max_size=4)),
    min_size=1,
    max_size=4,
)
"""Where, how many bytes go, and what comes instead."""


@pytest.mark.parametrize("name", ["demo", "paper"])
@settings(
    max_examples=125,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(edits=EDITS)
def test_any_config(name: str, edits: list[tuple[float, int, bytes]], tmp_path: Path) -> None:
    content = (resources.files("benchmark.config") / "configs" / f"{name}.yaml").read_bytes()
    for place, gone, come in edits:
        at = int(place * len(content))
        content = content[:at] + come + content[at + gone :]
    (tmp_path / "mine.yaml").write_bytes(content)
    try:
        config = load_config(str(tmp_path / "mine.yaml"))
    except ConfigError as error:
        said = str(error)
    else:
        assert isinstance(config, Config)
        said = ""
    assert "\n" not in said
