"""Datasets that no reader knows, declared by a card: what their files and tables mean. In: a card; out: a `Source`.

Imported by benchmark.data.readers' registry, benchmark's config and verbs. A further kind of card is a file with a
subclass of `Declared`, and its place in `AnyCard`.
"""

from __future__ import annotations

from typing import TypeAlias

from benchmark.data.readers.cards.card import Card

AnyCard: TypeAlias = Card
"""The kinds of cards that a config's `data.cards` holds."""
