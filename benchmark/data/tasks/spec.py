"""Task specification of a stage: windows per pseudo-trial, labels and protocol."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal

from benchmark.data.prepared.scale import Standardise
from benchmark.data.readers.base import LEADS
from benchmark.results.names import Pool

Labels = Literal["single", "multi"]
Protocol = Literal["paper", "strict"]
Sides = Literal["protocol", "shuffled"]
"""How recordings without official folds are split: as the protocol says, or shuffled (benchmark.data.tasks.split)."""


@dataclass(frozen=True)
class TaskSpec:
    """Task settings independent of dataset, label ratio and seed. A field added here needs a default."""

    per_trial: int
    """Heartbeats or plain windows per pseudo-trial."""
    labels: Labels
    """One class per recording, or several at once."""
    protocol: Protocol
    """Splits and labelled subsets as in the paper, or by patient."""
    standardise: Standardise = "recording"
    """recording: as the windows were kept; dataset: by mean and deviation of the training part, or of the corpus."""
    leads: tuple[str, ...] = LEADS
    """The leads that there are; the others are zero."""
    pool: Pool = "mean"
    """How the windows of a recording vote."""
    sides: Sides = "protocol"

    def rules(self) -> list[Any]:
        """Settings that determine sides and labels, for a result's key.

        Fields at their default are left out, so that adding a field changes no existing key.
        """
        further = [field for field in fields(self) if field.default is not MISSING]
        changed = {field.name: value for field in further if (value := getattr(self, field.name)) != field.default}
        return [self.labels, self.protocol, *([changed] if changed else [])]
