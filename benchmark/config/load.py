"""Load a config: YAML, overrides, dataset cards.

The file is in `configs/` or given by path; flags and `--set dotted.key=value` override it. The dotted key
`methods.pmq.momentum` is `knobs.pmq.momentum`. A card, `--datasets ./ours.yaml`, is `data.datasets: [ours]` with the
card's content under `data.cards.ours`; its folder is no part of the config.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from benchmark.config.config import Config
from benchmark.config.errors import ConfigError, one_line, unknown
from benchmark.config.validate import check
from benchmark.data.datasets.card import Card
from benchmark.data.datasets.card_sections import QUESTION
from benchmark.results.names import command
from methods.encoders import DEFAULT

CONFIGS = resources.files("benchmark.config") / "configs"
NAMING_DATASETS = ("data.pretrain", "data.datasets")
"""Config keys whose values name datasets, or the files of cards."""
SUPERSEDED = {("pretrain.preset", "paper"): ("pretrain", "recipe"), ("protocol", "paper"): ("data", "folds")}
"""Key and value of an override -> section and key of the file that cannot act under it, and are dropped."""


@dataclass(frozen=True)
class Folders:
    """Folders of raw and prepared datasets, and the number of preparing processes. No effect on results."""

    data_root: Path | None
    paths: dict[str, Path]
    """Folders of single datasets."""
    cache: Path = Path("cache")
    workers: int = 1


class _Loader(yaml.SafeLoader):
    """YAML in which 1e-3 is a float, 1e4 an int, `on`, `010` and dates are text."""

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


def parse_yaml(text: str) -> Any:
    """The value of a YAML text. Raises ValueError in one line."""
    try:
        return yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(" ".join(str(error).split())) from None


def parse_value(text: str) -> Any:
    """A value of `--set`: YAML scalar or flow list. Raises ConfigError if it is not YAML."""
    try:
        return parse_yaml(text)
    except ValueError:
        raise ConfigError(f"--set: {text!r} is not a YAML value") from None


def yaml_text(values: Mapping[str, Any]) -> str:
    """The YAML of nested values, in their order."""
    return str(yaml.safe_dump(values, sort_keys=False, allow_unicode=True))


def read_yaml(path: Path, what: str = "", *, missing: str = "") -> Any:
    """What a YAML file holds; the caller validates it. Raises ConfigError in one line.

    what: the file in the words of an error; by default its path. missing: the error where there is no such file.
    """
    what = what or str(path)
    try:
        return parse_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        absent = missing if isinstance(error, FileNotFoundError) else ""
        raise ConfigError(absent or f"{what} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{what} is not UTF-8 text: save it as UTF-8") from None
    except ValueError as error:
        raise ConfigError(f"{what} is not YAML: {error}") from None


def config_names() -> list[str]:
    """Names of the configs in `configs/`."""
    return sorted(path.name.removesuffix(".yaml") for path in CONFIGS.iterdir() if path.name.endswith(".yaml"))


def config_values(name_or_file: str) -> dict[str, Any]:
    """What the YAML of a config holds, given by name or file. Raises ConfigError if there is none."""
    path = Path(name_or_file).expanduser()
    if name_or_file in config_names():
        values = parse_yaml((CONFIGS / f"{name_or_file}.yaml").read_text(encoding="utf-8"))
    elif is_card(name_or_file) and path.exists():
        values = read_yaml(path, f"config {name_or_file!r}")
    else:
        raise ConfigError(unknown("config", name_or_file, config_names()) + ", or a .yaml file that exists")
    if not isinstance(values, dict):
        raise ConfigError(f"config {name_or_file!r} holds no keys; see `{command()} list` for ones that do")
    return {"name": path.stem} | values


def load_config(name_or_file: str, overrides: Mapping[str, Any] | None = None) -> Config:
    """A config with dotted overrides applied, including `methods.NAME.KNOB`. Raises ConfigError."""
    return validate(with_overrides(config_values(name_or_file), overrides or {}))


def with_overrides(values: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a config, as a YAML file can hold them, with dotted overrides laid over them.

    Without a protocol it is `strict` where the user's data state their patients. Raises ConfigError.
    """
    whole = copy.deepcopy(dict(values))
    laid = {re.sub(r"^methods[.]", "knobs.", key): copy.deepcopy(value) for key, value in overrides.items()}
    _drop_superseded(whole, laid)
    _choose_encoders(whole, laid)
    for key, value in laid.items():
        lay(whole, key, value)
    if "protocol" not in whole and _parsed(whole).data.with_patients():
        whole["protocol"] = "strict"
    return whole


def validate(values: Mapping[str, Any]) -> Config:
    """A config from plain values, e.g. those stored in a plan. Raises ConfigError in one line."""
    config = _parsed(values)
    try:
        check(config)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    return config


def _parsed(values: Mapping[str, Any]) -> Config:
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise ConfigError(one_line(error, "", Config)) from None


def _drop_superseded(values: dict[str, Any], laid: Mapping[str, Any]) -> None:
    """Take from a file's values what an override puts out of effect: other kinds of windows, a recipe, folds."""
    for (key, value), (section, name) in SUPERSEDED.items():
        if laid.get(key) == value and isinstance(values.get(section), dict):
            values[section].pop(name, None)
    data = values.get("data")
    given = data.get("segmentation") if isinstance(data, dict) else None
    if isinstance(data, dict) and isinstance(given, dict):
        kind = given.get("kind", "heartbeats")
        if kind != laid.get("data.segmentation.kind", kind):
            data["segmentation"] = {}


def _choose_encoders(values: dict[str, Any], laid: dict[str, Any]) -> None:
    """Where the overrides name encoders, these take the place of the file's; each has the knobs that the file gives it.

    Both mappings are changed.
    """
    section, further = values.get("encoder", {}), values.get("encoders", [])
    if "encoder.name" not in laid or not isinstance(section, dict) or not isinstance(further, list):
        return
    known = {encoder.get("name", DEFAULT): encoder for encoder in (*further, section) if isinstance(encoder, dict)}
    values |= {"encoder": known.get(laid["encoder.name"], {}), "encoders": []}
    if isinstance(named := laid.get("encoders"), list):
        laid["encoders"] = [
            known.get(encoder.get("name", DEFAULT), {}) | encoder if isinstance(encoder, dict) else encoder
            for encoder in named
        ]


def lay(values: dict[str, Any], dotted: str, value: Any) -> None:
    """Set a dotted key in nested dicts, creating sections. Raises ConfigError if a section is a value."""
    *sections, last = dotted.split(".")
    for section in sections:
        if values.get(section) is None:
            values[section] = {}
        inner = values[section]
        if not isinstance(inner, dict):
            raise ConfigError(f"config key {dotted!r}: {section!r} is a value, not a section")
        values = inner
    values[last] = value


def is_card(word: str) -> bool:
    """Whether a word is a YAML file: of a card, or of a config."""
    return word.endswith((".yaml", ".yml"))


def with_cards(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Overrides of a config in which the file of a card is its dataset's name, and the card is under `data.cards`.

    Raises ConfigError for a card that cannot be read.
    """
    laid = dict(overrides)
    for key in NAMING_DATASETS:
        value = overrides.get(key)
        words = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        cards = {word: load_card(word) for word in words if isinstance(word, str) and is_card(word)}
        for word, card in cards.items():
            content = card.model_dump(mode="json")
            if laid.setdefault(f"data.cards.{card.name}", content) != content:
                raise ConfigError(f"card {word}: another card is named {card.name!r} too; rename one of them")
        names = [cards[word].name if word in cards else word for word in words]
        if cards:
            laid[key] = names[0] if isinstance(value, str) else names
    return laid


def dataset_names(words: Sequence[str]) -> list[str]:
    """Names of datasets, given by name or by the file of a card. Raises ConfigError for a card that cannot be read."""
    return [load_card(word).name if is_card(word) else word for word in words]


def card_folders(words: Sequence[str], data_root: Path | None = None) -> dict[str, Path]:
    """Name -> folder of the datasets whose cards are among the words: NAME under the data root, else the card's own.

    Raises ConfigError.
    """
    folders = {load_card(word).name: Path(word).expanduser().parent for word in words if is_card(word)}
    under_root = {name: data_root / name for name in folders if data_root and (data_root / name).is_dir()}
    return folders | under_root


def load_card(word: str) -> Card:
    """The card in a YAML file. Raises ConfigError in one line: a file that cannot be read, an open question, a key."""
    remedy = "`data new-card FOLDER` writes a first one"
    values = read_yaml(Path(word).expanduser(), f"card {word}", missing=f"card {word}: there is no such file; {remedy}")
    if not isinstance(values, dict):
        raise ConfigError(f"card {word} holds no keys; {remedy}")
    if still_open := list(questions(values)):
        raise ConfigError(
            f"card {word}: answer the questions first, {', '.join(still_open)}: a {QUESTION!r} stands there"
        )
    try:
        return Card.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"card {word}: {one_line(error, '', Card)}") from None


def questions(value: Any, key: str = "") -> Iterator[str]:
    """Dotted keys of the values that are still a question."""
    if value == QUESTION:
        yield key
    children = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for name, child in children:
        yield from questions(child, f"{key}.{name}" if key else str(name))
