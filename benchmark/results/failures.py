"""How a cell or a pretraining ended, and the errors of reading results, without numpy."""

from __future__ import annotations

from dataclasses import dataclass
from traceback import format_exception


class CorruptRow(Exception):
    """A row or its predictions are truncated or altered; the message names the file."""


class NoResults(Exception):
    """There is nothing to report; the message says what was looked for."""


@dataclass(frozen=True)
class Failure:
    """An error as it is stored."""

    error: str
    """Type and message."""
    traceback: str = ""
    """Includes the worker process's, if raised in one; empty if unknown."""

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """The failure of an exception caught in this process or from a worker."""
        raised = error.__traceback__ is not None or error.__cause__ is not None
        return cls(f"{type(error).__name__}: {error}", "".join(format_exception(error)) if raised else "")

    @property
    def line(self) -> str:
        """First line of the error's text."""
        return (self.error.strip().splitlines() or ["no error text"])[0]


@dataclass(frozen=True)
class End:
    """Outcome of a task."""

    key: str
    seconds: float
    """Wall time."""
    failure: Failure | None
    """None on success."""
