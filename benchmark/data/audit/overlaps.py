"""Known overlaps of public datasets: which cohorts each holds, and findings where two that are used hold the same.

Copies are found by content (`findings.copies`), which cannot see the same ECG at another rate, filtered, in another
length, or that is not in the folder. Here the publishers' word counts, whatever the names of the recordings. Sources:
the releases' descriptions, and the relations that ECGBench's catalogue gives as verified.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmark.data.prepared.load import Prepared
from benchmark.data.readers.cards.ecgbench.card import FORM

if TYPE_CHECKING:
    from benchmark.data.audit.findings import Use

CHALLENGE_2020 = {
    "CPSC 2018": "training/cpsc_2018/",
    "CPSC 2018 extra": "training/cpsc_2018_extra/",
    "INCART": "training/st_petersburg_incart/",
    "PTB": "training/ptb/",
    "PTB-XL": "training/ptb-xl/",
    "Georgia": "training/georgia/",
}
HOLDS: dict[str, dict[str, str]] = {
    "ptb-xl": {"PTB-XL": ""},
    "cpsc2018": {"CPSC 2018": ""},
    "chapman": {"Chapman-Shaoxing": ""},
    "ningbo": {"Ningbo": ""},
    "mimic-iv-ecg": {"MIMIC-IV-ECG": ""},
    "ecgbench:ptbxl": {"PTB-XL": ""},
    "ecgbench:cpsc_2018": {"CPSC 2018": ""},
    "ecgbench:chapman_shaoxing": {"Chapman-Shaoxing": ""},
    "ecgbench:ecg_arrhythmia": {"Chapman-Shaoxing": "", "Ningbo": ""},
    "ecgbench:ptbdb": {"PTB": ""},
    "ecgbench:incartdb": {"INCART": ""},
    "ecgbench:mimic_iv_ecg": {"MIMIC-IV-ECG": ""},
    "ecgbench:mimic_iv_ecg_demo": {"MIMIC-IV-ECG": ""},
    "ecgbench:challenge2020": CHALLENGE_2020,
    "ecgbench:challenge2021": {
        **CHALLENGE_2020,
        "Chapman-Shaoxing": "training/chapman_shaoxing/",
        "Ningbo": "training/ningbo/",
    },
}
"""Dataset, of ecgbench or built in -> cohort -> beginning of the paths of its recordings there."""


class Shared(NamedTuple):
    """A cohort of which two datasets hold recordings that are used."""

    datasets: tuple[str, str]
    is_leak: bool
    """Whether one is pretrained on and the other tested there."""
    text: str


def shared_cohorts(prepared: Mapping[str, Prepared], uses: Mapping[str, Use]) -> Iterator[Shared]:
    """The cohorts that pairs of prepared datasets, given by name, share."""
    for one, other in combinations(prepared, 2):
        if prepared[one].dataset_name == prepared[other].dataset_name:  # two tasks of it
            continue
        first, second = HOLDS.get(known_as(prepared[one]), {}), HOLDS.get(known_as(prepared[other]), {})
        for cohort in [cohort for cohort in first if cohort in second]:
            parts = ((prepared[one], first[cohort], uses[one]), (prepared[other], second[cohort], uses[other]))
            used = [_used(data, beginning, use) for data, beginning, use in parts]
            if not all(count for count, _, _ in used):
                continue
            (_, trained, tested), (_, trained_too, tested_too) = used
            is_leak = (trained and tested_too) or (trained_too and tested)
            held = " and ".join(
                f"{data.title}{f' in {beginning}' if beginning else ''} ({count})"
                for (data, beginning, _), (count, _, _) in zip(parts, used, strict=True)
            )
            remedy = "; leave it out of one by leave_out in a card (docs/DATASETS.md)" if is_leak else ""
            how = "one is pretrained on and the other tested" if is_leak else "its recordings count in both"
            yield Shared((one, other), is_leak, f"recordings of {cohort} are in {held}, and {how}{remedy}")


def known_as(data: Prepared) -> str:
    """What a dataset is called in `HOLDS`, whatever its card names it."""
    return data.form.partition(",")[0] if data.form.startswith(FORM) else data.dataset_name


def _used(data: Prepared, beginning: str, use: Use) -> tuple[int, bool, bool]:
    """Number of usable recordings of a cohort, and whether any are pretrained on, and tested."""
    own = np.array([entry.path.startswith(beginning) for entry in data.entries], bool)  # (R,)
    return int(own.sum()), bool(use.pretraining[own].any()), bool((use.side[own] == "test").any())
