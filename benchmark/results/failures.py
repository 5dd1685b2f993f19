"""Why a cell or a pretraining failed: what the error says, and the traceback behind it."""

from __future__ import annotations

from dataclasses import dataclass
from traceback import format_exception


@dataclass(frozen=True)
class Failure:
    """An error as it is stored."""

    error: str
    """Its type and message."""
    traceback: str = ""
    """With that of the worker process where it was raised in one; '' where there is none."""

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """An exception that was caught, in this process or in a worker."""
        raised = error.__traceback__ is not None or error.__cause__ is not None
        return cls(f"{type(error).__name__}: {error}", "".join(format_exception(error)) if raised else "")

    @property
    def line(self) -> str:
        """The error in one line: the first of its text."""
        return (self.error.strip().splitlines() or ["no error text"])[0]
