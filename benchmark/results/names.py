"""Names that those who write results and those who read them share; what stands in a config, a plan or a row."""

from __future__ import annotations

from typing import Literal, get_args

UNITS = HEARTBEAT, RECORDING = "heartbeat", "recording"
"""What a score counts."""
BOTH = "both"
"""Asks for a table of each unit."""
UNIT_OF_PROTOCOL = {"paper": HEARTBEAT, "strict": RECORDING}
"""What a protocol scores, selects epochs by and reports."""

Evaluation = Literal["finetune", "linear"]
"""How a pretrained encoder is judged; each has its own tables."""
EVALUATIONS: tuple[Evaluation, ...] = get_args(Evaluation)
FINETUNE, LINEAR = EVALUATIONS
EVALUATION_TITLES: dict[str, str] = {FINETUNE: "Fine-tuned", LINEAR: "Linear probe"}

UNTRAINED, FROZEN, FEATURES = "random", "random-frozen", "features"
"""Names of the gates that are rows. `FEATURES` is also the evaluation of its own cells, which need no encoder."""

Role = Literal["method", "ablation", "sweep", "gate"]
"""What a row is for: the comparison, Table 2, the figure over a knob's values, or to read the others against."""
ROLES: tuple[Role, ...] = get_args(Role)
METHOD, ABLATION, SWEEP, GATE = ROLES

OVERALL = "overall"
"""Name of the mean of a table's columns, where a metric's name would stand."""

CARD = "pretraining.json"
"""What a pretraining leaves beside its weights: how it was done, and what it learned."""

ERROR = "error.json"
"""Why the last attempt at a pretraining failed; gone once one succeeds."""
ILLUSTRATION = "illustration.npz"
"""Pictures of it, drawn by reports: what its masks do to a window, and how alike its queries and keys are."""
KEY_KINDS = ("other patient", "own key", "attracts", "same patient, does not attract")
"""What a key is to a query, by the number that stands for it in an illustration."""
OTHER, OWN, ATTRACTS, SAME = range(len(KEY_KINDS))

SKIPPED_COLUMNS = ("dataset", "recording", "patient", "reason")
"""Of skipped.csv: the recordings that could not be used, one a line."""
