"""Health measures of pretrained features, as stored in a pretraining's card: names, titles, thresholds of collapse.

benchmark.training.health computes them and gives the equations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

WINDOWS_SHA256 = "windows_sha256"
"""Entry of a card's `health_sample`: digest of the windows that its health was measured on."""
MEASURES = {
    "effective_rank": "effective rank",
    "mean_cosine": "mean cosine",
    "alignment": "alignment",
    "uniformity": "uniformity",
    "retrieval": "retrieval@1",
}
"""Measure -> title."""
UNTRAINED_EPOCH = 0
"""Epoch of the untrained encoder's measures."""
COLLAPSED_RANK = 2.0
"""A lower effective rank is collapse (a line plus noise); untrained encoders have 2.2 (8 features) to 15 (320)."""
COLLAPSED_COSINE = 0.99
"""A higher mean cosine is collapse (windows within 8 degrees on average); untrained encoders have 0.7 to 0.95."""


def collapsed(rank: float | None, cosine: float | None) -> bool:
    """Whether features of this effective rank and mean cosine have collapsed; False if either is unknown."""
    return rank is not None and cosine is not None and (rank < COLLAPSED_RANK or cosine > COLLAPSED_COSINE)


def measured_elsewhere(cards: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Names of the cards whose health was measured on other windows than that of most, the first sample on a tie.

    A store shares an encoder among configs, and its health is measured once, on data of the config that made it.
    """
    samples = {
        name: card.get("health_sample", {}).get(WINDOWS_SHA256) for name, card in cards.items() if card.get("health")
    }
    if not samples:
        return []
    common = Counter(samples.values()).most_common()[0][0]
    return [name for name, sample in samples.items() if sample != common]
