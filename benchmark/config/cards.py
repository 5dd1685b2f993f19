"""Read the cards that a command line names: their content goes into the config, their folder does not.

A name that the config gives a dataset is the card's; `--datasets ./ours.yaml` is `data.datasets: [ours]` with the card
under `data.cards.ours`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from benchmark.config.declared import is_declared
from benchmark.config.errors import ConfigError, one_line
from benchmark.config.yaml_text import LARGEST_YAML, parsed
from benchmark.data.readers.cards import AnyCard
from benchmark.data.readers.cards.card import Card
from benchmark.data.readers.cards.draft.line import QUESTION
from benchmark.results.files.read import read_regular

KEYS = ("data.pretrain", "data.datasets")
"""Config keys whose values name datasets."""


def with_cards(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Overrides of a config in which words that declare a dataset are its name, and its card is under `data.cards`.

    Raises ConfigError for a card that cannot be read.
    """
    laid = dict(overrides)
    for key in KEYS:
        value = overrides.get(key)
        words = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        cards = {word: load_card(word) for word in words if isinstance(word, str) and is_declared(word)}
        for word, card in cards.items():
            content = card.model_dump(mode="json")
            if laid.setdefault(f"data.cards.{card.name}", content) != content:
                raise ConfigError(f"card {word}: another card is named {card.name!r} too; rename one of them")
        names = [cards[word].name if word in cards else word for word in words]
        if cards:
            laid[key] = names[0] if isinstance(value, str) else names
    return laid


def names_of(words: Sequence[str]) -> list[str]:
    """Names of the datasets that words name or declare. Raises ConfigError for a card that cannot be read."""
    return [load_card(word).name if is_declared(word) else word for word in words]


def folders_of(words: Sequence[str]) -> dict[str, Path]:
    """Name -> folder of the datasets that words declare: a card's own. Raises ConfigError."""
    return {load_card(word).name: Path(word).expanduser().parent for word in words if is_declared(word)}


def load_card(file: str) -> AnyCard:
    """The card in a YAML file. Raises ConfigError in one line: a file that cannot be read, an open question, a key."""
    path = Path(file).expanduser()
    try:
        values = parsed(read_regular(path, LARGEST_YAML).decode())
    except FileNotFoundError:
        raise ConfigError(f"card {file}: there is no such file; `data new-card FOLDER` writes a first one") from None
    except OSError as error:
        raise ConfigError(f"card {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"card {file} is not UTF-8 text: save it as UTF-8") from None
    except ValueError as error:
        raise ConfigError(f"card {file} is not YAML: {error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"card {file} holds no keys; `data new-card FOLDER` writes a first one")
    if still_open := list(questions(values)):
        raise ConfigError(
            f"card {file}: answer the questions first, {', '.join(still_open)}: a {QUESTION!r} stands there"
        )
    try:
        return TypeAdapter[AnyCard](AnyCard).validate_python(values)
    except ValidationError as error:
        raise ConfigError(f"card {file}: {one_line(error, '', Card)}") from None


def questions(value: Any, place: str = "") -> Iterator[str]:
    """Dotted places of the values that are still a question."""
    if value == QUESTION:
        yield place
    children = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for name, own in children:
        yield from questions(own, f"{place}.{name}" if place else str(name))
