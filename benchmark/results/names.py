"""Constants that those who write results and those who read them share."""

from __future__ import annotations

CARD = "pretraining.json"
"""What a pretraining leaves beside its weights: how it was done, and what it learned."""


ERROR = "error.json"
"""Why the last attempt at a pretraining failed; gone once one succeeds."""


ILLUSTRATION = "illustration.npz"
"""Pictures of it, drawn by reports: what its masks do to a window, and how alike its queries and keys are."""


KEY_KINDS = ("other patient", "own key", "attracts", "same patient, does not attract")
"""What a key is to a query, by the number that stands for it in an illustration."""


UNIT_OF_PROTOCOL = {"paper": "heartbeat", "strict": "recording"}
"""What a protocol scores, selects epochs by and reports."""
