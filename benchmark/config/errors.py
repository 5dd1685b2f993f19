"""What is wrong with a config, in one line that names the value, its place and what is allowed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, get_args, get_type_hints

from pydantic import ValidationError


class ConfigError(ValueError):
    """A config cannot be used. The message is one line naming the bad value, its place and the allowed ones."""


def refuse_truth_values(given: Mapping[str, Any], understood: Mapping[str, Any], prefix: str) -> None:
    """Raise ValueError where true or false was given for a number, which pydantic takes for 1 or 0."""
    for key, value in given.items():
        if isinstance(value, Mapping) and isinstance(understood.get(key), Mapping):
            refuse_truth_values(value, understood[key], f"{prefix}{key}.")
        elif isinstance(value, bool) and not isinstance(understood.get(key), bool):
            raise ValueError(f"{prefix}{key}: a number was expected, got {str(value).lower()}")


def unknown(what: str, name: str, allowed: Collection[str]) -> str:
    """The line for a name that is none of the allowed ones, with the nearest of them."""
    near = difflib.get_close_matches(name, list(allowed), n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"unknown {what} {name!r}{hint}; there are: {', '.join(allowed)}"


def fields_at(kind: Any, path: Sequence[str | int]) -> list[str]:
    """Names of the keys allowed at a place of a config, empty where it is no section."""
    for part in path:
        hints = get_type_hints(kind) if names_of(kind) else {}
        kind = hints.get(str(part))
        kind = next((inner for inner in get_args(kind) if names_of(inner)), kind)
    return names_of(kind)


def names_of(kind: Any) -> list[str]:
    """Names of the keys of a section or a method's config, empty for any other type."""
    return list(getattr(kind, "model_fields", None) or getattr(kind, "__dataclass_fields__", {}))


_CLASS_NAME = re.compile(r"^[A-Z]\w*[.]")
"""Ahead of a field's name in the messages of a dataclass."""


def one_line(error: ValidationError, prefix: str, kind: Any, inside: tuple[str, ...] = ()) -> str:
    """The first problem of a validation as one line: place, value, what is allowed. `inside` is left unsaid."""
    first = error.errors()[0]
    path = first["loc"]
    shown = [str(part) for part in path[len(inside) :] if part != getattr(kind, "__name__", None)]
    place = prefix + ".".join(shown)
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        allowed = fields_at(kind, path[:-1])
        return unknown("config key", place, [prefix + ".".join([*shown[:-1], name]) for name in allowed])
    message = first["msg"].removeprefix("Value error, ")
    if not place:
        return message
    if isinstance(first["input"], Mapping):  # the check of a whole section, which names the key and value itself
        return f"{place.rstrip('.')}: {_CLASS_NAME.sub('', message)}"
    return f"{place}: {message[0].lower()}{message[1:]}, got {first['input']!r}"
