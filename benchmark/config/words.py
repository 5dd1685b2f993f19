"""What the words of a config name: YAML values, cards of datasets, methods and encoders.

Merge overrides of a method's knobs; its recipe is merged field by field.

A field of the recipe is named `recipe: {lr: 1e-4}` or `recipe.lr: 1e-4`.

Read the cards that a command line names: their content goes into the config, their folder does not.

A name that the config gives a dataset is the card's; `--datasets ./ours.yaml` is `data.datasets: [ours]` with the card
under `data.cards.ours`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from benchmark.config.errors import ConfigError, built, is_file, one_line, unknown
from benchmark.data.datasets.card import Card
from benchmark.data.datasets.card_sections import QUESTION
from methods.encoders import DEFAULT, get_encoder
from methods.encoders.base import Encoder, EncoderConfig
from methods.encoders.pretrained import PretrainedEncoder


class _Loader(yaml.SafeLoader):
    """YAML in which 1e-3 is a float, 1e4 an int, `on` and `010` text; without aliases, which can unfold without end."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """A node that is no alias."""
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(
                None, None, f"the alias *{event.anchor} is not read: write the value out", event.start_mark
            )
        return super().compose_node(parent, index)

    def construct_number(self, node: yaml.ScalarNode) -> int | float:
        """A number with a point or an exponent; an int if its value is whole and it has no point."""
        value = float(node.value)
        return int(value) if value.is_integer() and "." not in node.value else value


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag == "tag:yaml.org,2002:null"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$"),
    list("-+.0123456789"),
)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_number)


def parsed(text: str) -> Any:
    """The value of a YAML text. Raises ValueError in one line."""
    try:
        return yaml.load(text, Loader=_Loader)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except Exception as error:  # explicit tags raise any kind of error
        raise ValueError(" ".join(str(error).split())) from None


def yaml_text(values: Mapping[str, Any]) -> str:
    """The YAML of nested values, in their order."""
    return str(yaml.safe_dump(values, sort_keys=False, allow_unicode=True))


def values_of(path: Path, what: str = "", *, missing: str = "") -> Any:
    """What a YAML file holds; the caller validates it. Raises ConfigError in one line.

    what: the file in the words of an error; by default its path. missing: the error where there is no such file.
    """
    what = what or str(path)
    try:
        return parsed(path.read_bytes().decode())
    except OSError as error:
        absent = missing if isinstance(error, FileNotFoundError) else ""
        raise ConfigError(absent or f"{what} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{what} is not UTF-8 text: save it as UTF-8") from None
    except ValueError as error:
        raise ConfigError(f"{what} is not YAML: {error}") from None


def laid_over(knobs: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Knobs with overrides applied; recipe fields without an override are kept."""
    laid = dict(knobs)
    for key, value in overrides.items():
        knob, dot, field = key.partition(".")
        change, below = {field: value} if dot else value, laid.get(knob)
        laid[knob] = {**below, **change} if isinstance(below, Mapping) and isinstance(change, Mapping) else change
    return laid


def dotted(knobs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """(knob, value) pairs; a recipe field is named 'recipe.lr'."""
    for knob, value in knobs.items():
        if isinstance(value, Mapping):
            yield from ((f"{knob}.{field}", inner) for field, inner in value.items())
        else:
            yield knob, value


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
        declared = [word for word in words if isinstance(word, str) and is_file(word)]
        cards = {word: load_card(word) for word in declared}
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
    return [load_card(word).name if is_file(word) else word for word in words]


def folders_of(words: Sequence[str], data_root: Path | None = None) -> dict[str, Path]:
    """Name -> folder of the datasets that words declare: NAME under the data root if it is there, else the card's own.

    Raises ConfigError.
    """
    own = {load_card(word).name: Path(word).expanduser().parent for word in words if is_file(word)}
    there = {name: data_root / name for name in own if data_root and (data_root / name).is_dir()}
    return own | there


def load_card(word: str) -> Card:
    """The card in a YAML file. Raises ConfigError in one line: a file that cannot be read, an open question, a key."""
    values = card_values(word)
    try:
        return Card.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"card {word}: {one_line(error, '', Card)}") from None


def card_values(word: str) -> dict[str, Any]:
    """The values of a card as they stand in its file. Raises ConfigError."""
    missing = f"card {word}: there is no such file; `data new-card FOLDER` writes a first one"
    values = values_of(Path(word).expanduser(), f"card {word}", missing=missing)
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


NOT_ASKED = ("leads", "dropout")
"""Fields of an encoder's config that the section may not set: the data set `leads`, each method sets `dropout`."""


def knobs_of(kind: type[Encoder]) -> list[str]:
    """Knobs of an encoder that the section may set."""
    return [knob.name for knob in fields(kind.Config) if knob.name not in NOT_ASKED]


def whole_encoder(given: Any, place: str = "encoder") -> dict[str, Any]:
    """The validated section with defaults filled in. Raises ValueError in one line that names its `place`."""
    if not isinstance(given, Mapping) or not isinstance(given.get("name", DEFAULT), str):
        raise ValueError(f"{place}: {{name: {DEFAULT}}} was expected, with knobs of that encoder, got {given!r}")
    name = given.get("name", DEFAULT)
    kind = get_encoder(name)
    if issubclass(kind, PretrainedEncoder):
        raise ValueError(f"{place}: {kind.name} brings weights of its own and is not pretrained; use --methods {name}")
    own = knobs_of(kind)
    values = {key: value for key, value in given.items() if key != "name"}
    for key in values:
        if key not in own:
            raise ValueError(unknown("config key", f"{place}.{key}", [f"{place}.{knob}" for knob in ("name", *own)]))
    knobs = built(kind.Config, values, f"{place}.").content()
    return {"name": name} | {knob: knobs[knob] for knob in own if knob in knobs}


def sized(section: Mapping[str, Any]) -> tuple[type[Encoder], EncoderConfig]:
    """The encoder of a section and its config, without dropout, which each method sets."""
    kind = get_encoder(section["name"])
    return kind, kind.Config(**{knob: value for knob, value in section.items() if knob != "name"})


def refuse_unfit(section: Mapping[str, Any], samples: int) -> None:
    """Raise ValueError in one line for an encoder that cannot take windows of `samples` time steps."""
    kind, sizes = sized(section)
    try:
        sizes.check_length(samples)
    except ValueError as error:
        raise ValueError(f"encoder {kind.name} cannot take windows of {samples} samples: {error}") from None


def labels_of(sections: Sequence[Mapping[str, Any]]) -> list[str]:
    """The encoders' names; of those with one name, also the knobs in which they differ: 'dilated hidden 8'.

    Raises ValueError for two equal sections.
    """
    names = [get_encoder(section["name"]).name for section in sections]
    labels = []
    for name, section in zip(names, sections, strict=True):
        alike = [other for also, other in zip(names, sections, strict=True) if also == name]
        own = {knob: value for knob, value in section.items() if knob != "name"}
        told = [f"{knob} {value}" for knob, value in own.items() if any(other.get(knob) != value for other in alike)]
        labels.append(" ".join([name, *told]))
    if twice := [label for label in labels if labels.count(label) > 1]:
        raise ValueError(f"encoders: {twice[0]!r} is named twice; name it once, or give one of them other knobs")
    return labels
