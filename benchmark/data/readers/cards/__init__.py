"""Datasets that no reader knows, declared by a card: what their files and tables mean. In: a card; out: a `Source`.

Imported by benchmark.data.readers' registry, benchmark's config and verbs. A further kind of card is a
subclass of `Declared`, one of that with `__call__` beside its dataset, and its place in `AnyCard`.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import Discriminator, Tag

from benchmark.data.readers.cards.dataset import CardSource
from benchmark.data.readers.cards.ecgbench.dataset import ECGBenchSource


def kind_of(values: Any) -> type[CardSource | ECGBenchSource]:
    """The kind of a card, by the key `kind` of its values: none for a folder of files."""
    kind = values.get("kind") if isinstance(values, dict) else getattr(values, "kind", None)
    return ECGBenchSource if kind == "ecgbench" else CardSource


def _tag(values: Any) -> str:
    return kind_of(values).__name__


AnyCard: TypeAlias = Annotated[
    Annotated[CardSource, Tag("CardSource")] | Annotated[ECGBenchSource, Tag("ECGBenchSource")], Discriminator(_tag)
]
"""The kinds of cards that a config's `data.cards` holds."""
