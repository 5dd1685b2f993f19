"""Names shared by writers and readers of results: values in configs, plans and rows."""

from __future__ import annotations

from typing import Literal, get_args

PAPER = ("random", "moco", "byol", "clocs", "pclr", "comet", "etp", "pmq", "pmq-released")
BEYOND = ("simclr", "vicreg", "barlow", "simsiam", "ts2vec", "cpc", "jepa", "mae", "clip-report")
METHODS = (*PAPER, *BEYOND)
ENCODERS = ("dilated", "resnet1d")
DATASETS = ("mimic-iv-ecg", "ptb-xl", "chapman", "cpsc2018")
"""Names in `methods.METHODS`, `methods.encoders.ENCODERS` and the readers' registry, which load torch and pandas: a
mistyped name is refused without these. `BEYOND`: methods that the PMQ paper does not compare, in no config by default."""

UNITS = HEARTBEAT, RECORDING = "heartbeat", "recording"
"""Units that a score counts."""
BOTH = "both"
"""Option for a table of each unit."""
Pool = Literal["mean", "max"]
"""How a recording's probabilities follow from those of its windows."""
UNIT_OF_PROTOCOL = {"paper": HEARTBEAT, "strict": RECORDING}
"""Protocol -> unit of its scores, epoch selection and tables."""

Evaluation = Literal["finetune", "linear"]
"""How a pretrained encoder is evaluated; each has its own tables."""
EVALUATIONS: tuple[Evaluation, ...] = get_args(Evaluation)
FINETUNE, LINEAR = EVALUATIONS
EVALUATION_TITLES: dict[str, str] = {FINETUNE: "Fine-tuned", LINEAR: "Linear probe"}

UNTRAINED, FROZEN, FEATURES = "random", "random-frozen", "features"
"""Names of the gate rows. `FEATURES` is also the evaluation of its cells, which need no encoder."""
VALIDATION = "validation"
"""The evaluation of `tune`: a linear probe judged on the validation patients, without test windows; in no table."""


def evaluation_of(variant: str, table: str) -> str:
    """The evaluation of a variant's cells in a table: 'finetune', 'linear' or 'features'."""
    return {FROZEN: LINEAR, FEATURES: FEATURES}.get(variant, table)


Role = Literal["method", "ablation", "sweep", "gate", "snapshot", "preset", "trial"]
"""Purpose of a row: comparison, ablation (Table 2), figure over a knob's values, baseline, point of a budget curve, a
method under another preset; a trial of `tune` is in no plan."""
ROLES: tuple[Role, ...] = get_args(Role)
METHOD, ABLATION, SWEEP, GATE, SNAPSHOT, PRESET, TRIAL = ROLES

OVERALL = "overall"
"""Name of the mean of a table's columns, in place of a metric's name."""

CARD = "pretraining.json"
"""File beside a pretraining's weights: its settings and health measures."""

ERROR = "error.json"
"""File with the error of a pretraining's last attempt; removed on success."""
ILLUSTRATION = "illustration.npz"
"""File with data for figures of a pretraining: a masked window, and similarities of queries and keys."""
KEY_KINDS = ("other patient", "own key", "attracts", "same patient, does not attract")
"""Relation of a key to a query, by its number in an illustration."""
OTHER, OWN, ATTRACTS, SAME = range(len(KEY_KINDS))

SKIPPED_COLUMNS = ("dataset", "recording", "patient", "reason")
"""Columns of skipped.csv: one unusable recording per line."""
