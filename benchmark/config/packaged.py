"""The configs of the suite by name, for a command line that has to fail early: nothing of what they hold is read."""

from __future__ import annotations

from importlib import resources


def config_names() -> list[str]:
    """Names of the configs in `configs/`."""
    folder = resources.files("benchmark.config") / "configs"
    return sorted(path.name.removesuffix(".yaml") for path in folder.iterdir() if path.name.endswith(".yaml"))
