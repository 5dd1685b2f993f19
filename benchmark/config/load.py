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

from pydantic import ValidationError

from benchmark.config.config import Config
from benchmark.config.errors import ConfigError, one_line, unknown
from benchmark.config.idle import without_idle
from benchmark.config.packaged import config_names
from benchmark.config.yaml_text import LARGEST_YAML, parsed
from benchmark.results.files.read import read_regular
from benchmark.results.names import command
from methods.encoders import DEFAULT

KNOB = re.compile(r"^methods[.]")
"""Prefix of a knob's dotted key, replaced by the section `knobs`."""


def parse_value(text: str) -> Any:
    """A value of `--set`: YAML scalar or flow list. Raises ConfigError if it is not YAML."""
    try:
        return parsed(text)
    except ValueError:
        raise ConfigError(f"--set: {text!r} is not a YAML value") from None


def config_text(name_or_file: str) -> str:
    """YAML text of a config given by name or file. Raises ConfigError if there is none."""
    packaged = resources.files("benchmark.config") / "configs" / f"{name_or_file}.yaml"
    if name_or_file in config_names():
        return packaged.read_text(encoding="utf-8")
    path = Path(name_or_file)
    if path.suffix in (".yaml", ".yml") and path.exists():
        try:
            return read_regular(path, LARGEST_YAML).decode()
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
        values = parsed(config_text(name_or_file))
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(f"config {name_or_file!r} is not YAML: {error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"config {name_or_file!r} holds no keys; see `{command()} list` for ones that do")
    refuse_old_keys(values)
    values.setdefault("name", Path(name_or_file).stem)
    laid = {KNOB.sub("knobs.", key): value for key, value in (overrides or {}).items()}
    _choose_encoders(values, laid)
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


def _choose_encoders(values: dict[str, Any], laid: dict[str, Any]) -> None:
    """Where the overrides name encoders, these take the place of the file's; each has the knobs that the file gives it.

    Both mappings are changed.
    """
    section, further = values.get("encoder", {}), values.get("encoders", [])
    if "encoder.name" not in laid or not isinstance(section, dict) or not isinstance(further, list):
        return
    known = {own.get("name", DEFAULT): own for own in (*further, section) if isinstance(own, dict)}
    values |= {"encoder": known.get(laid["encoder.name"], {}), "encoders": []}
    if isinstance(asked := laid.get("encoders"), list):
        laid["encoders"] = [
            known.get(own.get("name", DEFAULT), {}) | own if isinstance(own, dict) else own for own in asked
        ]


def _lay(values: dict[str, Any], dotted: str, value: Any) -> None:
    """Set a dotted key in nested dicts, creating sections. Raises ConfigError if a section is a value."""
    *sections, last = dotted.split(".")
    for section in sections:
        inner = values.setdefault(section, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"config key {dotted!r}: {section!r} is a value, not a section")
        values = inner
    values[last] = value
