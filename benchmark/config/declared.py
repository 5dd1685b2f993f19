"""Words of the command line that declare a dataset instead of naming a built-in one: a card's file.

Here without what reads them (benchmark.config.cards), so that a command line that fails early loads none of it.
"""

from __future__ import annotations

OTHER = "a card, a .yaml file (docs/OWN_DATA.md)"


def is_declared(word: str) -> bool:
    """Whether a word declares a dataset."""
    return word.endswith((".yaml", ".yml"))
