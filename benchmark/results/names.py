"""Names shared by writers and readers of results (values in configs, plans and rows), and numbers printed by others.

printed/numbers.csv    source, row, column of the table, evaluation, label ratio, metric, percent, standard
                       deviation, and what others measured who ran it again, and who; never part of a statistic
printed/sources.csv    source, what to cite, how it was measured, what differs here
"""

from __future__ import annotations

import csv
import difflib
import sys
from collections.abc import Collection
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from pydantic import ConfigDict, TypeAdapter

CONTROLS = (
    *range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0),
    0x061C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A),
)  # fmt: skip
"""Characters that command a terminal, all of C0 and C1 but tab and line feed, and that reorder or break a line."""
VISIBLE = {code: chr(code).encode("unicode_escape").decode() for code in CONTROLS}
INSTALLED = "ecg-pretrain-bench"
"""The program as the wheel installs it."""

LEADS = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
"""Leads of a window, in the order of its last axis."""

Baseline = Literal[
    "random", "frozen", "features", "full-labels", "supervised", "augmented", "minirocket",
    "heart-rate", "qrs-amplitude", "twin",
]  # fmt: skip
ABOUT_BASELINES: dict[Baseline, str] = {
    "random": "the untrained encoder, fine-tuned or under the table's evaluation; by default",
    "frozen": "the untrained encoder under the linear probe; by default",
    "features": "gradient boosting on hand-crafted measures of the beats; by default",
    "full-labels": "the other baselines with all labels; by default",
    "supervised": "the encoder trained from scratch on all labels, by a recipe of its own",
    "augmented": "the row supervised, whose windows are masked in training as PMQ masks them",
    "minirocket": "ridge regression on MiniRocket's random convolutions",
    "heart-rate": "gradient boosting on the heart rate alone",
    "qrs-amplitude": "gradient boosting on the mean height of the QRS complex alone",
    "twin": "the architecture of each encoder from outside, with weights that each seed draws anew; by default",
}
"""Reference row of a table -> a line for `list`."""
Preset = Literal["unified", "paper"]
"""Origin of the recipes and hyperparameters of the methods."""
DEFAULT_TASK = "default"
"""The task of a dataset's own classes; its columns are named by the dataset alone."""
AT = "@"
"""Sign between the column that is learned on and the one that is tested on: 'ptb-xl.rhythm@ludb'."""

STRICT = ConfigDict(strict=True, extra="forbid")  # of the pydantic models of stored values
Protocol = Literal["paper", "strict"]
Labels = Literal["single", "multi"]
UNITS = HEARTBEAT, RECORDING = "heartbeat", "recording"
"""Units that a score counts; `BOTH` asks for a table of each."""
BOTH = "both"
Pool = Literal["mean", "max"]
"""Rule by which a recording's probabilities follow from those of its windows."""
CRITERIA: dict[Protocol, str] = {"paper": "f1", "strict": "log_likelihood"}
"""Protocol -> score by which validation chooses models, rates and epochs: macro F1 of 20 patients is mostly noise."""
UNIT_OF_PROTOCOL = {"paper": HEARTBEAT, "strict": RECORDING}
"""Protocol -> unit of its scores, epoch selection and tables."""


def visible(text: str) -> str:
    r"""Return text, e.g. with names from others, with its control characters as they are escaped: '\x1b[2J'."""
    return text.translate(VISIBLE)


def counted(number: int, noun: str) -> str:
    """Return '1 seed' or '8 seeds'."""
    return f"{number} {noun}{'s' * (number != 1)}"


def reason_of(error: object) -> str:
    """Return the words of an error or warning in one line, of one without words its type."""
    return " ".join(str(error).split()) or type(error).__name__


def unknown(noun: str, name: str, allowed: Collection[str]) -> str:
    """Return the message for an unknown name: the nearest in any capitals, else the first that contains it; all."""
    small = {known.lower(): known for known in allowed}
    given = name.lower()
    near = difflib.get_close_matches(given, list(small), n=1) or [known for known in small if given and given in known]
    hint = f" (did you mean {small[near[0]]!r}?)" if near else ""
    return f"unknown {noun} {name!r}{hint}; there are: {', '.join(allowed) or 'none'}"


class EvaluationFacts(NamedTuple):
    """Facts of an evaluation for plans and reports; its function is in benchmark.training.evaluations."""

    title: str
    about: str
    """A line for `list`."""
    frozen: bool
    """The encoder stays as it is: the baseline `frozen` then equals `random`."""


FINETUNE, LINEAR, COMBINED, RETRIEVAL = "finetune", "linear", "combined", "retrieval"
ERASED, ERASED_RANDOM = "erased", "erased-random"
EVALUATION_FACTS = {
    FINETUNE: EvaluationFacts("Fine-tuned", "encoder and a new head, trained together", frozen=False),
    LINEAR: EvaluationFacts("Linear probe", "logistic regression on frozen features", frozen=True),
    "knn": EvaluationFacts("Nearest neighbours", "vote of the nearest frozen features, by cosine", frozen=True),
    "attention": EvaluationFacts("Attention head", "a learned query over frozen steps, a linear layer", frozen=True),
    COMBINED: EvaluationFacts("With beat features", "boosting on beat features and frozen features", frozen=True),
    ERASED: EvaluationFacts("Identity erased", "linear probe without directions that tell patients apart", frozen=True),
    ERASED_RANDOM: EvaluationFacts(
        "Random directions erased", "linear probe without as many random directions", frozen=True
    ),
    RETRIEVAL: EvaluationFacts(
        "Patient retrieval", "whether the nearest recordings by frozen features are of the same patient", frozen=True
    ),
}
"""Evaluation of a pretrained encoder; benchmark.training.evaluations has its function."""
EVALUATION_TITLES = {name: facts.title for name, facts in EVALUATION_FACTS.items()}

UNTRAINED, FROZEN, SUPERVISED, AUGMENTED = "random", "random-frozen", "supervised", "augmented"
FEATURES, HEART_RATE, QRS_AMPLITUDE = "features", "heart-rate", "qrs-amplitude"
"""Names of baselines. Those from `FEATURES` on and `SUPERVISED` are also the evaluations of their cells."""
CLASSICAL_TITLES = {FEATURES: "Heartbeat features, boosted", "minirocket": "MiniRocket, ridge"}
CLASSICAL_TITLES |= {HEART_RATE: "Heart rate alone, boosted", QRS_AMPLITUDE: "QRS amplitude alone, boosted"}
"""Baseline row without an encoder -> its title; the row, the baseline and the evaluation of its cells have one name."""
VALIDATION = "validation"
"""The evaluation of `tune`: a linear probe judged on the validation patients, without test windows; in no table."""


def name_on(variant: str, encoder: str) -> str:
    """Name of a row on a further encoder; '' for the first."""
    return f"{variant}+{encoder}" if encoder else variant


def is_untrained(variant: str) -> bool:
    """Tell whether a row is that of the untrained encoder, the first or a further one."""
    return variant.partition("+")[0] == UNTRAINED


def evaluation_of(variant: str, table: str) -> str:
    """Return the evaluation of a variant's cells in a table: that of the table, or of a baseline that fixes one."""
    if variant in (SUPERVISED, *CLASSICAL_TITLES):
        return variant
    return {FROZEN: LINEAR, AUGMENTED: SUPERVISED}.get(variant, table)


def is_frozen(evaluation: str) -> bool:
    """Tell whether an evaluation leaves the encoder as it is."""
    return evaluation in EVALUATION_FACTS and EVALUATION_FACTS[evaluation].frozen


Role = Literal["method", "ablation", "sweep", "baseline", "candidate"]
"""Purpose of a row: comparison, ablation (Table 2), sweep, baseline; a candidate of `tune` is in no plan."""
ROLES: tuple[Role, ...] = get_args(Role)
METHOD, ABLATION, SWEEP, BASELINE, CANDIDATE = ROLES

TFIDF = "tfidf"
"""Embedding of reports without a language model."""
OVERALL = "overall"
"""Name of the mean of a table's columns, in place of a metric's name."""
RECORD_FILE = "pretraining.json"
"""File beside a pretraining's weights: its settings and health measures."""
WEIGHTS = "encoder.safetensors"
"""File beside it: the weights of the encoder."""
ERROR = "error.json"
"""File with the error of a pretraining's last attempt; removed on success."""
SKIPPED_COLUMNS = ("dataset", "recording", "patient", "reason")
"""Columns of skipped.csv: one unusable recording per line."""


def command() -> str:
    """Return what a command line begins with: `INSTALLED` where the program was started so, else that of a checkout."""
    return INSTALLED if Path(sys.argv[0]).stem == INSTALLED else "python run_benchmark.py"


REQUIREMENTS = {
    "aeon": "aeon>=1.5",
    "distributed": "distributed>=2024.12",
    "ecgdatakit": "ecgdatakit>=2.0.3",
    "h5py": "h5py>=3.12.1",
    "pyarrow": "pyarrow>=18.1",
    "pydicom": "pydicom>=3.0",
    "tensorboard": "tensorboard>=2.18",
    "transformers": "transformers>=4.40",
}
"""Package of an extra -> what is installed."""


def install(*packages: str) -> str:
    """Return the command that installs packages, of an extra or others."""
    requirements = [f"'{REQUIREMENTS.get(name, name)}'" for name in packages]
    return f"pip install {' '.join(requirements)}"


WINDOWS_SHA256 = "windows_sha256"
"""Entry of a record's `health_sample`: digest of the source of the windows on which its health was measured."""
HEALTH_AGAIN = "health_again"
"""Entry of a record: such a digest of another run's windows -> its health on these, measured after the last epoch."""
MEASURES = {
    "effective_rank": "effective rank",
    "mean_cosine": "mean cosine",
    "alignment": "alignment",
    "uniformity": "uniformity",
    "retrieval": "retrieval@1",
}
"""Measure -> title."""
COLLAPSED_RANK = 2.0
"""A lower effective rank is collapse (a line plus noise); untrained encoders have 2.2 (8 features) to 15 (320)."""
COLLAPSED_COSINE = 0.99
"""A higher mean cosine is collapse (windows within 8 degrees on average); untrained encoders have 0.7 to 0.95."""


def collapsed(rank: float | None, cosine: float | None) -> bool:
    """Tell whether features of this effective rank and mean cosine have collapsed; False if either is unknown."""
    return rank is not None and cosine is not None and (rank < COLLAPSED_RANK or cosine > COLLAPSED_COSINE)


class Printed(NamedTuple):
    """A number as printed."""

    source: str
    row: str
    column: str
    """A dataset, or a dataset under a task, e.g. 'ptb-xl.rhythm'."""
    evaluation: str
    ratio: float
    metric: str
    percent: float
    std: float | None = None
    """Standard deviation as printed, in percent; None where there is none."""
    again: float | None = None
    """Number of others who ran it again, in percent; None where none is known. by: who they are."""
    by: str = ""


class Source(NamedTuple):
    """A publication whose printed numbers can stand beside a run's."""

    name: str
    cite: str
    protocol: str
    differs: str


@cache
def sources() -> dict[str, Source]:
    """Read name -> source, in the order of the file."""
    return {line["name"]: Source(**line) for line in _lines("sources.csv")}


@cache
def numbers() -> tuple[Printed, ...]:
    """Read all printed numbers, in the order of the file."""
    stated = []
    for line in _lines("numbers.csv"):
        stated.append({name: text for name, text in line.items() if text})
    return TypeAdapter(tuple[Printed, ...]).validate_python(stated)


def _lines(name: str) -> list[dict[str, str]]:
    text = resources.files("benchmark.results").joinpath("printed", name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
