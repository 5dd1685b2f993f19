"""Read the cards that a command line names: their content goes into the config, their folder does not.

A name that the config gives a dataset is the card's; `--datasets ./ours.yaml` is `data.datasets: [ours]` with the card
under `data.cards.ours`. `ecgbench:sph` stands for a card too, and a card of such a dataset is completed here: what it
leaves open is decided before the run, from the package and, for classes that nothing names, from the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from benchmark.config.declared import ECGBENCH, is_declared, is_file
from benchmark.config.errors import ConfigError, one_line
from benchmark.config.yaml_text import LARGEST_YAML, parsed
from benchmark.data.readers.cards import AnyCard, kind_of
from benchmark.data.readers.cards.draft.line import QUESTION
from benchmark.data.readers.cards.ecgbench.card import name_of
from benchmark.data.readers.cards.ecgbench.complete import completed
from benchmark.data.readers.cards.ecgbench.dataset import ECGBenchSource
from benchmark.data.readers.errors import DatasetError
from benchmark.data.readers.registry import find_root
from benchmark.results.files.read import read_regular

KEYS = ("data.pretrain", "data.datasets")
"""Config keys whose values name datasets."""
WITHOUT = "none"
"""ecgbench:NAME:none: without labels, to pretrain on."""


def with_cards(
    overrides: Mapping[str, Any], paths: Mapping[str, Path] | None = None, data_root: Path | None = None
) -> dict[str, Any]:
    """Overrides of a config in which words that declare a dataset are its name, and its card is under `data.cards`.

    `paths` and `data_root` are where the data are, if the flags say it. Raises ConfigError for a card that cannot be
    read.
    """
    laid = dict(overrides)
    for key in KEYS:
        value = overrides.get(key)
        words = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        declared = [word for word in words if isinstance(word, str) and is_declared(word)]
        cards = {word: load_card(word, paths, data_root) for word in declared}
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
    return [name_in(word) if is_declared(word) else word for word in words]


def folders_of(words: Sequence[str]) -> dict[str, Path]:
    """Name -> folder of the datasets that words declare: a card's own. Raises ConfigError."""
    return {name_in(word): Path(word).expanduser().parent for word in words if is_file(word)}


def name_in(word: str) -> str:
    """The name that a word declares. Raises ConfigError for a card that cannot be read."""
    values = values_of(word)
    if kind_of(values) is ECGBenchSource:
        return str(values.get("name", name_of(str(values.get("dataset")))))
    return load_card(word).name


def load_card(word: str, paths: Mapping[str, Path] | None = None, data_root: Path | None = None) -> AnyCard:
    """The card in a YAML file, or of ecgbench:NAME.

    Raises ConfigError in one line: a file that cannot be read, an open question, a key; a dataset that cannot be used.
    """
    values = values_of(word)
    kind = kind_of(values)
    try:
        if kind is ECGBenchSource:
            own = folders_of([word])
            values = completed(values, lambda card: find_root(card, data_root, {**own, **(paths or {})}))
        return kind.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"card {word}: {one_line(error, '', kind)}") from None
    except (DatasetError, ValueError) as error:
        raise ConfigError(f"card {word}: {error}") from None


def values_of(word: str) -> dict[str, Any]:
    """The values of a card as they stand in its file, or as ecgbench:NAME:FIELD says. Raises ConfigError."""
    if not is_file(word):
        dataset, _, field = word.removeprefix(ECGBENCH).partition(":")
        labels = {} if not field else {"labels": None if field == WITHOUT else {"field": field}}
        return {"kind": "ecgbench", "dataset": dataset, **labels}
    try:
        values = parsed(read_regular(Path(word).expanduser(), LARGEST_YAML).decode())
    except FileNotFoundError:
        raise ConfigError(f"card {word}: there is no such file; `data new-card FOLDER` writes a first one") from None
    except OSError as error:
        raise ConfigError(f"card {word} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"card {word} is not UTF-8 text: save it as UTF-8") from None
    except ValueError as error:
        raise ConfigError(f"card {word} is not YAML: {error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"card {word} holds no keys; `data new-card FOLDER` writes a first one")
    if still_open := list(questions(values)):
        raise ConfigError(
            f"card {word}: answer the questions first, {', '.join(still_open)}: a {QUESTION!r} stands there"
        )
    return values


def questions(value: Any, place: str = "") -> Iterator[str]:
    """Dotted places of the values that are still a question."""
    if value == QUESTION:
        yield place
    children = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for name, own in children:
        yield from questions(own, f"{place}.{name}" if place else str(name))
