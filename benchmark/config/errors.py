"""One-line errors of a config: the bad value, its place, the allowed values and the nearest of them."""

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
    small = {known.lower(): known for known in allowed}
    given = name.lower()
    near = difflib.get_close_matches(given, list(small), n=1) or [known for known in small if given and given in known]
    hint = f" (did you mean {small[near[0]]!r}?)" if near else ""
    return f"unknown {what} {name!r}{hint}; there are: {', '.join(allowed)}"


def names_of(kind: Any) -> list[str]:
    """Field names of a section or a method's config; empty for any other type."""
    return list(getattr(kind, "model_fields", None) or getattr(kind, "__dataclass_fields__", {}))


def sections_in(annotation: Any) -> list[Any]:
    """The sections that an annotation names: itself, the members of a union, the values of a dict."""
    if names_of(annotation):
        return [annotation]
    return [section for part in get_args(annotation) for section in sections_in(part)]


def resolve(kind: Any, path: Sequence[str | int]) -> tuple[list[str], list[str]]:
    """The keys that `path` names below a config type, and those allowed there.

    In a union of sections pydantic puts the member, or the value that selects it, into the path; that is no key.
    """
    sections, shown, is_key = [kind], [], False
    for part in path:
        hints = {name: hint for section in sections for name, hint in get_type_hints(section).items()}
        members = [section for section in sections if part in (section.__name__, _selecting(section))]
        if is_key or (part not in hints and not (members and len(sections) > 1)):
            shown.append(str(part))  # a key of a dict, a number in a list
            is_key = False
        elif part in hints:
            shown.append(str(part))
            sections, is_key = sections_in(hints[part]), get_origin(hints[part]) is dict
        else:
            sections = members
    return shown, [name for section in sections for name in names_of(section)]


def _selecting(section: Any) -> Any:
    """The value of `kind` that selects a section of a union; None where nothing does."""
    return next(iter(get_args(get_type_hints(section).get("kind"))), None)


def one_line(error: ValidationError, prefix: str, kind: Any) -> str:
    """An error of a validation as one line, the first unknown key before others: place, value, allowed values."""
    errors = error.errors()
    first = next((entry for entry in errors if entry["type"] in UNKNOWN_KEY), errors[0])
    path, (shown, _) = first["loc"], resolve(kind, first["loc"])
    key = prefix + ".".join(shown)
    if first["type"] in UNKNOWN_KEY:
        allowed = resolve(kind, path[:-1])[1]
        return unknown("config key", key, [prefix + ".".join([*shown[:-1], name]) for name in allowed])
    message = first["msg"].removeprefix("Value error, ")
    if not path:  # a check of the whole section; its message names key and value
        return f"{prefix.rstrip('.')}: {message}" if prefix else message
    if first["type"] == "missing":
        return f"{key}: {message}"
    return f"{key}: {message[0].lower()}{message[1:]}, got {first['input']!r}"


def built(kind: type[T], values: Mapping[str, Any], prefix: str) -> T:
    """A method's or encoder's config from plain values of the section `prefix`. Raises ValueError in one line."""
    from pydantic import ValidationError  # here, because errors of the command line need none of it
    from pydantic.dataclasses import is_pydantic_dataclass

    if "__dataclass_fields__" not in vars(kind):
        raise ValueError(f"{kind.__name__}: make it a dataclass(frozen=True), so that its fields are known")
    try:
        return kind(**(values if is_pydantic_dataclass(kind) else _checked(kind, values)))
    except ValidationError as error:
        raise ValueError(one_line(error, prefix, kind)) from None


def _checked(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values validated against the field types and bounds of a standard dataclass. Raises ValidationError."""
    from pydantic import ConfigDict, create_model

    hints = get_type_hints(kind, include_extras=True)
    given: dict[str, Any] = {field.name: (hints[field.name], ...) for field in fields(kind) if field.name in values}
    strict = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
    model = create_model(kind.__name__, __config__=strict, **given).model_validate(dict(values))
    return {name: getattr(model, name) for name in given}
