"""Methods by name, by .py file, or by the card of an encoder from elsewhere (docs/ELSEWHERE.md)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from pydantic import ValidationError

from benchmark.config.declared import is_file
from benchmark.config.errors import ConfigError, one_line
from benchmark.config.yaml_text import values_of
from benchmark.elsewhere.card import ModelCard, kind_of
from methods import get_method
from methods.base import PretrainMethod
from methods.elsewhere import as_method
from methods.encoders.pretrained import PretrainedEncoder


def find_method(word: str) -> type[PretrainMethod]:
    """The class of a method, as `get_method`, or that of the row of a card's encoder.

    Raises ValueError for an unknown name, an invalid file or a card that cannot be used.
    """
    if not is_file(word):
        return get_method(word)
    card = Path(word).expanduser().resolve()
    try:
        content = card.read_bytes()
    except OSError as error:
        raise ConfigError(f"card {word} cannot be read: {error.strerror}") from None
    return as_method(_read(card, content))


@lru_cache(maxsize=64)
def _read(card: Path, content: bytes) -> type[PretrainedEncoder]:
    """The encoder of a card, one class for each content."""
    values = values_of(card)
    if not isinstance(values, dict):
        raise ConfigError(f"card {card} holds no keys; docs/ELSEWHERE.md has one to begin with")
    try:
        return kind_of(values, card)
    except ValidationError as error:
        raise ConfigError(f"card {card}: {one_line(error, '', ModelCard)}") from None
    except ValueError as error:
        raise ConfigError(f"card {card}: {error}") from None
