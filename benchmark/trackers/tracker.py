"""What a tracker is: it knows how far a curve is, and starts or goes on with one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

NOTHING = -1
"""The last step of a curve that has no point yet."""
PROJECT = "ecg-pretrain-bench"
"""Of Weights & Biases; the experiment of MLflow."""


class Log(Protocol):
    """A curve that is being written."""

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Add a point. Steps rise."""

    def finish(self) -> None:
        """Write out what is held back. The curve may be started again."""


class Tracker(Protocol):
    """Where curves go. Any of its calls may fail for reasons of its own, a network for instance."""

    name: str

    def last(self, key: str) -> int:
        """The last step of the curve of a key that is there; `NOTHING` without one."""

    def start(self, name: str, key: str, config: Mapping[str, Any]) -> Log:
        """Begin the curve of a key, or go on with it. name: for people; config: JSON-like, without paths."""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Context of the imports of a tracker's library; where it is missing, one line names the extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        said = f"--track {name}: {missing} is not installed; pip install 'ecg-pretrain-bench[{name}]'"
        raise ModuleNotFoundError(said, name=missing) from None


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested settings as texts under dotted names."""
    found: dict[str, str] = {}
    for name, value in config.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": str(value)}
    return found
