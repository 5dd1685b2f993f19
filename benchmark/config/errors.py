"""One-line errors of a config: the bad value, its place, the allowed values.

Words of the command line that declare a dataset instead of naming a built-in one: a card's file.

Numbers that flags take, checked as they are read; each function is the `type` of a flag's argparse arguments.

They raise ArgumentTypeError in one line, before which argparse says the flag. Flags of config keys are `int` and
`float`: the config knows their bounds.
"""

from __future__ import annotations

import difflib
import re
from argparse import ArgumentTypeError
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from pydantic import ValidationError

T = TypeVar("T")
CONFIGS = resources.files("benchmark.config") / "configs"
UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")
"""Types of pydantic's errors."""


class ConfigError(ValueError):
    """An unusable config. The message is one line: the bad value, its place, the allowed values."""


def unknown(what: str, name: str, allowed: Collection[str]) -> str:
    """Message for an unknown name: the nearest in any capitals, else the first that contains it; all."""
    small = {own.lower(): own for own in allowed}
    given = name.lower()
    near = difflib.get_close_matches(given, list(small), n=1) or [own for own in small if given and given in own]
    hint = f" (did you mean {small[near[0]]!r}?)" if near else ""
    return f"unknown {what} {name!r}{hint}; there are: {', '.join(allowed)}"


def place_in(kind: Any, path: Sequence[str | int]) -> tuple[list[str], list[str]]:
    """The keys that `path` names below a config type, and those allowed there; none where that is no section.

    In a union of sections pydantic names the member first, which is no key.
    """
    shown: list[str] = []
    is_key = False
    for part in path:
        member = next((own for own in get_args(kind) if names_of(own) and own.__name__ == part), None)
        if member is not None and not is_key:
            kind = member
            continue
        shown.append(str(part))
        if is_key:  # of a dict whose values are sections
            is_key = False
            continue
        hints = get_type_hints(kind) if names_of(kind) else {}
        kind = hints.get(str(part))
        is_key = get_origin(kind) is dict
        kind = next((inner for inner in get_args(kind) if names_of(inner) or any(map(names_of, get_args(inner)))), kind)
    return shown, names_of(kind)


def names_of(kind: Any) -> list[str]:
    """Field names of a section or a method's config; empty for any other type."""
    return list(getattr(kind, "model_fields", None) or getattr(kind, "__dataclass_fields__", {}))


def one_line(error: ValidationError, prefix: str, kind: Any) -> str:
    """An error of a validation as one line, the first unknown key before others: place, value, allowed values."""
    errors = error.errors()
    first = next((own for own in errors if own["type"] in UNKNOWN_KEY), errors[0])
    path, (shown, _) = first["loc"], place_in(kind, first["loc"])
    place = prefix + ".".join(shown)
    if first["type"] in UNKNOWN_KEY:
        allowed = place_in(kind, path[:-1])[1]
        return unknown("config key", place, [prefix + ".".join([*shown[:-1], name]) for name in allowed])
    message = first["msg"].removeprefix("Value error, ")
    if not path:  # a check of the whole section; its message names key and value
        return f"{prefix.rstrip('.')}: {message}" if prefix else message
    if first["type"] == "missing":
        return f"{place}: {message}"
    return f"{place}: {message[0].lower()}{message[1:]}, got {first['input']!r}"


def built(kind: type[T], values: Mapping[str, Any], prefix: str) -> T:
    """A method's or encoder's config from plain values at the place `prefix`. Raises ValueError in one line."""
    from pydantic import ValidationError  # here, because errors of the command line need none of it
    from pydantic.dataclasses import is_pydantic_dataclass

    if "__dataclass_fields__" not in vars(kind):
        raise ValueError(f"{kind.__name__}: make it a dataclass(frozen=True), so that its fields are known")
    try:
        return kind(**(values if is_pydantic_dataclass(kind) else checked(kind, values)))
    except ValidationError as error:
        raise ValueError(one_line(error, prefix, kind)) from None


def checked(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values validated against the field types and bounds of a standard (not pydantic) dataclass.

    Raises ValidationError.
    """
    from pydantic import ConfigDict, create_model  # here, because errors of the command line need none of it

    hints = get_type_hints(kind, include_extras=True)
    given: dict[str, Any] = {own.name: (hints[own.name], ...) for own in fields(kind) if own.name in values}
    strict = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
    found = create_model(kind.__name__, __config__=strict, **given).model_validate(dict(values))
    return {name: getattr(found, name) for name in given}


OTHER = "a card, a .yaml file (docs/OWN_DATA.md)"


def is_code(word: str) -> bool:
    """Whether a method's word is a file of code."""
    return word.endswith(".py")


def is_file(word: str) -> bool:
    """Whether a word is the file of a card."""
    return word.endswith((".yaml", ".yml"))


def config_names() -> list[str]:
    """Names of the configs in `configs/`."""
    return sorted(path.name.removesuffix(".yaml") for path in CONFIGS.iterdir() if path.name.endswith(".yaml"))


def has_cards(config: str) -> bool:
    """Whether a config of `configs/` declares datasets; its text is searched, since YAML loads slowly."""
    return config in config_names() and "\n  cards:" in (CONFIGS / f"{config}.yaml").read_text(encoding="utf-8")


MOST, LARGEST_SEED = 10**6, 2**32 - 1


def count(text: str) -> int:
    """A number of processes, trials, patients: 1 to `MOST`."""
    return _whole(text, 1, MOST, "a count")


def seed(text: str) -> int:
    """A seed, 0 to `LARGEST_SEED`."""
    return _whole(text, 0, LARGEST_SEED, "a seed")


KEY_START = re.compile(r"[0-9a-f]{4,16}")


def key_start(text: str) -> str:
    """The start of the key of a cell or a pretraining, from four digits on."""
    if not KEY_START.fullmatch(text):
        raise ArgumentTypeError(f"{text!r} begins no key; use 4 to 16 of the digits 0 to 9 and a to f")
    return text


def positive(text: str) -> float:
    """A number above 0, to `MOST`."""
    try:
        value = float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no number; use one above 0") from None
    if not 0 < value <= MOST:
        raise ArgumentTypeError(f"{text} is out of range; use a number above 0, at most {MOST}")
    return value


def _whole(text: str, least: int, most: int, what: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not {what}; use a whole number, {least} or more") from None
    if not least <= value <= most:
        raise ArgumentTypeError(f"{text} is not {what}; use {least} or more, at most {most}")
    return value
