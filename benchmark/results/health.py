"""Measures of what a pretraining learned, as its card holds them: names, titles, and when features have collapsed.

benchmark.training.health computes them and tells the equations.
"""

from __future__ import annotations

MEASURES = {
    "effective_rank": "effective rank",
    "mean_cosine": "mean cosine",
    "alignment": "alignment",
    "uniformity": "uniformity",
    "retrieval": "retrieval@1",
}
"""Measures of the features -> title."""
COLLAPSED_RANK = 2.0
"""Below it the features lie on a line, but for noise; untrained encoders have 2.2 (8 features) to 15 (320)."""
COLLAPSED_COSINE = 0.99
"""Above it windows lie within eight degrees of each other on average; untrained encoders have 0.7 to 0.95."""


def collapsed(rank: float | None, cosine: float | None) -> bool:
    """Whether features of this effective rank and mean cosine have collapsed; not where one of the two is unknown."""
    return rank is not None and cosine is not None and (rank < COLLAPSED_RANK or cosine > COLLAPSED_COSINE)
