"""A tracker that keeps what it is given, and can be made to fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Recorder:
    """Points by key, in the order in which they came."""

    name: str = "recorder"
    points: dict[str, list[tuple[int, dict[str, float]]]] = field(default_factory=dict)
    started: list[tuple[str, str]] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    configs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    fails_at: int | None = None
    """Number of the point at which it begins to fail."""

    def last(self, key: str) -> int:
        return max((step for step, _ in self.points.get(key, [])), default=-1)

    def start(self, name: str, key: str, config: Mapping[str, Any]) -> RecordedLog:
        self.started.append((name, key))
        self.configs[key] = config
        return RecordedLog(self, key)


@dataclass
class RecordedLog:
    recorder: Recorder
    key: str

    def log(self, step: int, values: Mapping[str, float]) -> None:
        if self.recorder.fails_at == sum(map(len, self.recorder.points.values())):
            raise ConnectionError("no\nnetwork")
        self.recorder.points.setdefault(self.key, []).append((step, dict(values)))

    def finish(self) -> None:
        self.recorder.finished.append(self.key)
