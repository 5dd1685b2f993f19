"""Datasets that no reader knows, declared by a card: what their files and tables mean. In: a card; out: a `Source`.

Imported by benchmark.data.readers' registry, benchmark's config and verbs. A further kind of card is a file with a
subclass of `Declared`, and its place in `AnyCard`.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import Discriminator, Tag

from benchmark.data.readers.cards.card import Card
from benchmark.data.readers.cards.ecgbench.card import ECGBenchCard


def kind_of(values: Any) -> type[Card | ECGBenchCard]:
    """The kind of a card, by the key `kind` of its values: none for a folder of files."""
    kind = values.get("kind") if isinstance(values, dict) else getattr(values, "kind", None)
    return ECGBenchCard if kind == "ecgbench" else Card


def _tag(values: Any) -> str:
    return kind_of(values).__name__


AnyCard: TypeAlias = Annotated[
    Annotated[Card, Tag("Card")] | Annotated[ECGBenchCard, Tag("ECGBenchCard")], Discriminator(_tag)
]
"""The kinds of cards that a config's `data.cards` holds."""
