"""Fewer than 12 leads: which, by number or name, and what an encoder of 12 reads in place of the others.

Absent leads are zero, the mean of a standardised lead, as is usual for convolutional networks; ST-MEM (Na et al. 2024)
leaves the tokens of an absent lead out, which networks that mix leads in their first layer cannot. Limb leads that
could be computed from I and II stay absent: 8 leads would else be 12.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.data.readers.base import LEADS

LEAD_SETS: dict[int, tuple[str, ...]] = {
    12: LEADS,
    8: ("I", "II", "V1", "V2", "V3", "V4", "V5", "V6"),
    6: LEADS[:6],
    3: ("I", "II", "V2"),
    2: ("I", "II"),
    1: ("I",),
}
"""Number of leads -> those of the literature: 8 are independent, 6 the limb leads, 3 and 2 those of the PhysioNet
Challenge 2021, 1 a watch."""


def leads_named(asked: Any) -> list[str]:
    """The leads of a number of `LEAD_SETS`, of one name or of a list of names, in the order of `LEADS`.

    Raises ValueError in one line for anything else.
    """
    words = [str(word).strip() for word in (asked if isinstance(asked, list | tuple) else [asked])]
    if len(words) == 1 and words[0].isdecimal() and int(words[0]) in LEAD_SETS:
        return list(LEAD_SETS[int(words[0])])
    known = {lead.lower(): lead for lead in LEADS}
    strange = [word for word in words if word.lower() not in known]
    if strange or not words or len(set(map(str.lower, words))) < len(words):
        what = f"{strange[0]!r} is no lead" if strange else "each lead has to be named once"
        numbers = ", ".join(map(str, LEAD_SETS))
        raise ValueError(f"{what}; there are {' '.join(LEADS)}, or one of the numbers {numbers}")
    return sorted((known[word.lower()] for word in words), key=LEADS.index)


def without_absent(signal: NDArray[np.float16], leads: Sequence[str]) -> NDArray[np.float16]:
    """Signals (..., 12) with zeros in the leads that are not named; the same array where all are."""
    absent = [column for column, lead in enumerate(LEADS) if lead not in leads]
    if not absent:
        return signal
    kept = signal.copy()
    kept[..., absent] = 0
    return kept
