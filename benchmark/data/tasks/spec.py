"""What a stage asks of a prepared dataset: the windows of a pseudo-trial, which labels count, and whose protocol."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal

Labels = Literal["single", "multi"]
Protocol = Literal["paper", "strict"]


@dataclass(frozen=True)
class TaskSpec:
    """What a task is, whatever the dataset, label ratio and seed. A field added here needs a default."""

    per_trial: int
    """Heartbeats, or plain windows, of a pseudo-trial."""
    labels: Labels
    """One class per recording, or several at once."""
    protocol: Protocol
    """Whose splits and labelled subsets: the paper's, or by patient."""

    def rules(self) -> list[Any]:
        """What decides sides and labels, for a result's key; a field at its default is left out.

        So a field added later moves no key of results there are.
        """
        further = [field for field in fields(self) if field.default is not MISSING]
        changed = {field.name: value for field in further if (value := getattr(self, field.name)) != field.default}
        return [self.labels, self.protocol, *([changed] if changed else [])]
