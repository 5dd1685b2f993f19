"""Words of the command line that declare a dataset instead of naming a built-in one: a card's file, ecgbench:NAME.

Here without what reads them (benchmark.config.cards), so that a command line that fails early loads none of it.
"""

from __future__ import annotations

OTHER = "a card, a .yaml file (docs/OWN_DATA.md), or ecgbench:NAME (docs/DATASETS.md)"
ECGBENCH = "ecgbench:"
"""Beginning of a word that names a dataset of the package ecgbench, and after a further ':' its labels."""


def is_declared(word: str) -> bool:
    """Whether a word declares a dataset."""
    return is_file(word) or word.startswith(ECGBENCH)


def is_code(word: str) -> bool:
    """Whether a method's word is a file: code, or the card of an encoder from elsewhere."""
    return word.endswith(".py") or is_file(word)


def is_file(word: str) -> bool:
    """Whether a word is the file of a card."""
    return word.endswith((".yaml", ".yml"))
