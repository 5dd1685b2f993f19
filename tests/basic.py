"""The config that tests start from, beside the shipped ones, which may change."""

from __future__ import annotations

from pathlib import Path

from methods import METHODS

BASIC = str(Path(__file__).with_name("basic.yaml"))
ANYWHERE = [name for name, kind in METHODS.items() if "tokens" not in kind.needs]
"""Methods that every encoder serves."""
