"""Load a config: YAML, overrides, dataset cards.

The file is in `configs/` or given by path; flags and `--set dotted.key=value` override it. The dotted key
`methods.pmq.momentum` is `hyperparameters.pmq.momentum`. A card, `--datasets ./ours.yaml`, is `data.datasets: [ours]`
with the card's content under `data.cards.ours`; its folder is no part of the config.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from benchmark.config.config import Config, parsed
from benchmark.config.errors import ConfigError, one_line
from benchmark.config.validate import check
from benchmark.data.datasets.card import QUESTION, Card
from benchmark.results.files import flat
from benchmark.results.names import reason_of, unknown
from methods.encoders import DEFAULT

CONFIGS = {path.stem: path for path in sorted(Path(__file__).with_name("configs").glob("*.yaml"))}
"""Name -> file of a config of the suite."""
SUPERSEDED = {("pretrain.preset", "paper"): ("pretrain", "recipe"), ("protocol", "paper"): ("data", "folds")}
"""Key and value of an override -> section and key of the file that cannot act under it, and are dropped."""
LONGEST_YAML = 1_000_000
"""Bytes of a YAML file: a hundred times a card of 500 classes."""


@dataclass(frozen=True)
class Folders:
    """Folders of raw and prepared datasets, and the number of preparing processes. No effect on results."""

    data_root: Path | None
    paths: dict[str, Path]
    """Folders of single datasets."""
    cache: Path = Path("cache")
    workers: int = 1


class _Loader(yaml.SafeLoader):
    """YAML in which 1e-3 is a float, 1e4 an int, `on`, `010` and dates are text, and a key stands once in its section.

    Raises ValueError for a key that stands twice, and for an alias.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Make the node of the next value. Raises ValueError for an alias: few letters may stand for any number."""
        if self.check_event(yaml.AliasEvent):
            raise ValueError("it has an alias (*name); write out what it stands for")
        return super().compose_node(parent, index)

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Make the node of a section. Raises ValueError for a key that stands in it twice, with the lines of both."""
        section = super().compose_mapping_node(anchor)
        lines = dict[str, int]()
        for key in (key for key, _ in section.value if isinstance(key, yaml.ScalarNode)):
            line = key.start_mark.line + 1
            if key.value in lines:
                raise ValueError(f"key {key.value!r} stands twice, in lines {lines[key.value]} and {line}; remove one")
            lines[key.value] = line
        return section

    def construct_number(self, node: yaml.ScalarNode) -> int | float:
        """Make a number with a point or an exponent; an int if its value is whole and it has no point."""
        value = float(node.value)
        return int(value) if value.is_integer() and "." not in node.value else value


_Loader.yaml_implicit_resolvers = {}
for tag, first, pattern in (
    ("null", "~nN", r"^(?:~|null|Null|NULL|)$"),
    ("bool", "tf", r"^(?:true|false)$"),
    ("int", "-+0123456789", r"^[-+]?(?:0|[1-9][0-9]*)$"),
    ("float", "-+.0123456789", r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), [*first, ""])
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_number)


def parse_yaml(text: str, source: str = "--set") -> Any:
    """Return the value of a YAML text. Raises ConfigError in one line, which names `source`."""
    try:
        return yaml.load(StringIO(text), Loader=_Loader)  # without an excerpt in errors
    except (yaml.YAMLError, ValueError) as error:
        fault = reason_of(error)
    except (LookupError, AttributeError, RecursionError):  # as PyYAML raises them
        fault = "a value does not fit its tag, e.g. !!int, or lists and sections are nested too deep"
    raise ConfigError(f"{source} is not YAML: {fault}")


def yaml_text(values: Mapping[str, Any]) -> str:
    """Write nested values as YAML, in their order."""
    return str(yaml.safe_dump(values, sort_keys=False, allow_unicode=True))


def read_yaml(path: Path, source: str, remedy: str = "") -> dict[str, Any]:
    """Read a YAML file of keys; the caller validates them. Raises ConfigError in one line.

    source: the file in the words of an error. remedy: what helps where it has no keys.
    """
    try:
        if path.stat().st_size > LONGEST_YAML or not path.is_file():
            raise OSError(f"it is no file of at most {LONGEST_YAML:,} bytes")
        values = parse_yaml(path.read_text(encoding="utf-8"), source)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{source} cannot be read as UTF-8 text: {error}{remedy}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{source} holds no keys{remedy}")
    return values


def config_values(name_or_file: str) -> dict[str, Any]:
    """Return what the YAML of a config holds, given by name or file. Raises ConfigError if there is none."""
    path = CONFIGS.get(name_or_file, Path(name_or_file))
    if not path.exists() or not is_card(path.name):
        raise ConfigError(unknown("config", name_or_file, CONFIGS) + ", or a .yaml file that exists")
    return {"name": path.stem} | read_yaml(path, f"config {name_or_file!r}")


def load_config(name_or_file: str, overrides: Mapping[str, Any] | None = None) -> Config:
    """Load a config with dotted overrides, including `methods.NAME.FIELD`. Raises ConfigError."""
    return validate(with_overrides(config_values(name_or_file), overrides or {}))


def with_overrides(values: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a config, as a YAML file can hold them, with dotted overrides.

    Without a protocol it is `strict` where the user's data state their patients. Raises ConfigError.
    """
    whole = copy.deepcopy(dict(values))
    changes = {
        re.sub(r"^methods[.]", "hyperparameters.", key): copy.deepcopy(value) for key, value in overrides.items()
    }
    drop_superseded(whole, changes)
    if isinstance(changes.get("encoder.name"), str):
        choose_encoders(whole, changes)
    for key, value in changes.items():
        set_key(whole, key, value)
    if "protocol" not in whole and section_of(whole, "data").get("cards"):
        data = parsed(whole).data
        if any(data.cards[name].patients for name in {*data.corpora, *data.datasets} & data.cards.keys()):
            whole["protocol"] = "strict"
    return whole


def validate(values: Mapping[str, Any]) -> Config:
    """Make a config of plain values, e.g. those stored in a plan. Raises ConfigError in one line."""
    config = parsed(values)
    try:
        check(config)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    return config


def section_of(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a section of a file; a new one where there is none, or another value, which the config's check refuses."""
    section = values.get(name)
    return section if isinstance(section, dict) else {}


def drop_superseded(values: dict[str, Any], changes: Mapping[str, Any]) -> None:
    """Drop the values of a file that an override makes ineffective: windows of another kind, a recipe, folds."""
    for (key, value), (section, name) in SUPERSEDED.items():
        if changes.get(key) == value:
            section_of(values, section).pop(name, None)
    data = section_of(values, "data")
    selected = changes.get("data.segmentation.kind")
    if selected and selected != section_of(data, "segmentation").get("kind", "heartbeats"):
        data["segmentation"] = {}


def choose_encoders(values: dict[str, Any], changes: dict[str, Any]) -> None:
    """Replace the file's encoders by those that overrides name, with the hyperparameters that the file gives them."""
    sections = [*listed(values.get("encoders", [])), values.get("encoder", {})]
    given = {section.get("name", DEFAULT): section for section in sections if is_encoder(section)}
    values |= {"encoder": given.get(changes["encoder.name"], {}), "encoders": []}
    further = changes.get("encoders")
    if isinstance(further, list) and all(map(is_encoder, further)):
        changes["encoders"] = [given.get(section.get("name"), {}) | section for section in further]


def is_encoder(section: Any) -> bool:
    """Tell whether a value is a section of an encoder; the config's check refuses another."""
    return isinstance(section, dict) and isinstance(section.get("name", DEFAULT), str)


def listed(value: Any) -> list[Any]:
    """Return a list as it is, and any other value as the only one of a list."""
    return value if isinstance(value, list) else [value]


def set_key(values: dict[str, Any], dotted: str, value: Any) -> None:
    """Set a dotted key in nested dicts, creating sections. Raises ConfigError if a section is a value."""
    *sections, last = dotted.split(".", 2 if dotted.startswith("sweeps.") else -1)  # sweeps: METHOD: {recipe.lr: ...}
    for section in sections:
        if values.get(section) is None:
            values[section] = {}
        if not isinstance(values[section], dict):
            raise ConfigError(f"config key {dotted!r}: {section!r} is a value, not a section")
        values = values[section]
    values[last] = value


def is_card(word: str) -> bool:
    """Tell whether a word is a YAML file: of a card, or of a config."""
    return word.endswith((".yaml", ".yml"))


def with_cards(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Replace in overrides the file of a card by its dataset's name, and put the card under `data.cards`.

    Raises ConfigError for a card that cannot be read, and for two of one name.
    """
    changes = dict(overrides)
    for key in ("data.pretrain", "data.datasets"):
        words = listed(changes.get(key) or [])
        if not all(isinstance(word, str) for word in words):
            continue  # the config's check refuses it
        names = []
        for word in words:
            names.append(word)
            if is_card(word):
                card = load_card(word)
                content = card.model_dump(mode="json")
                if changes.setdefault(f"data.cards.{card.name}", content) != content:
                    raise ConfigError(f"card {word}: another card is named {card.name!r} too; rename one of them")
                names[-1] = card.name
        if names:
            changes[key] = names
    return changes


def card_folders(words: Sequence[str], data_root: Path | None = None) -> dict[str, Path]:
    """Return name -> folder of the datasets that cards name: NAME under the data root, else the card's own."""
    folders = {load_card(word).name: Path(word).parent for word in words if is_card(word)}
    under_root = {name: data_root / name for name in folders if data_root and (data_root / name).is_dir()}
    return folders | under_root


def load_card(word: str) -> Card:
    """Load the card in a YAML file. Raises ConfigError in one line: an unreadable file, an open question, a key."""
    values = read_yaml(Path(word), f"card {word}", "; `data new-card FOLDER` writes a first one")
    if keys := ", ".join(key for key, value in flat(values).items() if value in (QUESTION, [QUESTION])):
        raise ConfigError(f"card {word}: answer the questions first, {keys}: a {QUESTION!r} stands there")
    try:
        return Card.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"card {word}: {one_line(error, '', Card)}") from None
