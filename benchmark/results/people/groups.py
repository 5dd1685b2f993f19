"""The groups of a recording: sex, and the age of its patient in bands of years; nothing finer is ever stored."""

from __future__ import annotations

import math

WOMEN, MEN = "women", "men"
SEXES = (WOMEN, MEN)
WORDS = {"f": WOMEN, "female": WOMEN, "w": WOMEN, "woman": WOMEN, "m": MEN, "male": MEN, "man": MEN}
"""As tables and headers state a sex, in lower case."""
BOUNDS = (40, 60, 80)
BANDS = ("under 40", "40 to 59", "60 to 79", "80 and over")
ATTRIBUTES = {"sex": SEXES, "age": BANDS}


def sex_of(text: str) -> str:
    """One of `SEXES`; '' for any other text."""
    return WORDS.get(text.strip().lower(), "")


def band_of(years: float | None) -> str:
    """One of `BANDS`; '' where the age is not known. PTB-XL's 300 stands for more than 89 years."""
    if years is None or math.isnan(years) or years < 0:
        return ""
    return BANDS[sum(years >= bound for bound in BOUNDS)]
