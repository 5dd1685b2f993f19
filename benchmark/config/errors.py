"""One-line errors of a config: the bad value, its place, the allowed values."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from pydantic import ValidationError

T = TypeVar("T")
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
