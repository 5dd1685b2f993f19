"""Read a YAML file and dotted overrides into a `Config`. A wrong key or value raises `ConfigError`.

The file is in `configs/` or given by path; flags and `--set dotted.key=value` override it. `methods` lists the compared
methods and `knobs` the overrides of their knobs; the dotted key `methods.pmq.momentum` is `knobs.pmq.momentum`.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from benchmark.config.config import Config
from benchmark.config.errors import ConfigError, one_line, unknown
from benchmark.config.idle import without_idle
from benchmark.results.files.read import DEEPEST, MEBIBYTE, bounded, read_regular
from methods.encoders import DEFAULT

LARGEST_CONFIG = MEBIBYTE
"""Bytes."""
KNOB = re.compile(r"^methods[.]")
"""Prefix of a knob's dotted key, replaced by the section `knobs`."""


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


def parse_value(text: str) -> Any:
    """A value of `--set`: YAML scalar or flow list. Raises ConfigError if it is not YAML."""
    try:
        return _parsed(text)
    except ValueError:
        raise ConfigError(f"--set: {text!r} is not a YAML value") from None


def _parsed(text: str) -> Any:
    """The value of a YAML text. Raises ValueError in one line."""
    try:
        return bounded(yaml.load(text, Loader=_Loader))
    except RecursionError:
        raise ValueError(f"nested deeper than {DEEPEST} levels") from None
    except Exception as error:  # explicit tags raise any kind of error
        raise ValueError(" ".join(str(error).split())) from None


def values_of(path: Path) -> Any:
    """What a YAML file that is no config holds; the caller validates it. Raises ConfigError in one line."""
    try:
        return _parsed(read_regular(path, LARGEST_CONFIG).decode())
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{path} is not YAML: {error}") from None


def config_names() -> list[str]:
    """Names of the configs in `configs/`."""
    folder = resources.files("benchmark.config") / "configs"
    return sorted(path.name.removesuffix(".yaml") for path in folder.iterdir() if path.name.endswith(".yaml"))


def config_text(name_or_file: str) -> str:
    """YAML text of a config given by name or file. Raises ConfigError if there is none."""
    packaged = resources.files("benchmark.config") / "configs" / f"{name_or_file}.yaml"
    if name_or_file in config_names():
        return packaged.read_text(encoding="utf-8")
    path = Path(name_or_file)
    if path.suffix in (".yaml", ".yml") and path.exists():
        try:
            return read_regular(path, LARGEST_CONFIG).decode()
        except OSError as error:
            raise ConfigError(f"config {name_or_file!r} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise ConfigError(f"config {name_or_file!r} is not UTF-8 text: save it as UTF-8") from None
    raise ConfigError(unknown("config", name_or_file, config_names()) + ", or a .yaml file that exists")


def load_config(name_or_file: str, overrides: Mapping[str, Any] | None = None) -> Config:
    """A config with dotted overrides applied, including `methods.NAME.KNOB`.

    Raises ConfigError, also for keys without effect (`benchmark.config.idle`).
    """
    try:
        values = _parsed(config_text(name_or_file))
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(f"config {name_or_file!r} is not YAML: {error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"config {name_or_file!r} holds no keys; see `run_benchmark.py list` for ones that do")
    refuse_old_keys(values)
    values.setdefault("name", Path(name_or_file).stem)
    laid = {KNOB.sub("knobs.", key): value for key, value in (overrides or {}).items()}
    if _of_another_encoder(values.get("encoder"), laid.get("encoder.name")):
        del values["encoder"]
    for key, value in laid.items():
        _lay(values, key, copy.deepcopy(value))
    return validate(without_idle(values, laid))


def validate(values: Mapping[str, Any]) -> Config:
    """A config from plain values, e.g. those stored in a plan. Raises ConfigError in one line."""
    refuse_old_keys(values)
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise ConfigError(one_line(error, "", Config)) from None


def refuse_old_keys(values: Mapping[str, Any]) -> None:
    """Raise ConfigError for a key of an earlier form, naming its replacement."""
    if isinstance(values.get("methods"), Mapping):
        raise ConfigError(
            "config key 'methods': the knobs of methods stand under 'knobs' now; 'methods' lists the rows"
        )
    if "compare" in values:
        raise ConfigError("config key 'compare' is called 'methods' now, as the flag is")


def _of_another_encoder(section: Any, name: object) -> bool:
    """Whether the section `encoder` of a file is of another encoder than the override `name`."""
    return name is not None and isinstance(section, dict) and section.get("name", DEFAULT) != name


def _lay(values: dict[str, Any], dotted: str, value: Any) -> None:
    """Set a dotted key in nested dicts, creating sections. Raises ConfigError if a section is a value."""
    *sections, last = dotted.split(".")
    for section in sections:
        inner = values.setdefault(section, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"config key {dotted!r}: {section!r} is a value, not a section")
        values = inner
    values[last] = value
