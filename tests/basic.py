"""The config that tests start from, beside the shipped ones, which may change."""

from __future__ import annotations

from pathlib import Path

BASIC = str(Path(__file__).with_name("basic.yaml"))
