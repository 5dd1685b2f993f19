"""One-line errors of a config: the bad value, its place, the allowed values and the nearest of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from benchmark.results.names import unknown

if TYPE_CHECKING:
    from pydantic import ValidationError

UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")  # types of pydantic's errors
LIST_OR_DICT = re.compile(r"(list|dict|function-\w+)\[.*")
"""A part of pydantic's path of an error that is neither a section nor a key: a member of a union."""


class ConfigError(ValueError):
    """An unusable config. The message is one line: the bad value, its place, the allowed values."""


def names_of(config_type: Any) -> list[str]:
    """List the fields of a section or a method's config; empty for any other type."""
    return list(getattr(config_type, "model_fields", None) or getattr(config_type, "__dataclass_fields__", {}))


def sections_in(annotation: Any) -> list[Any]:
    """List the sections that an annotation names: itself, the members of a union, the values of a dict."""
    if names_of(annotation):
        return [annotation]
    return [section for part in get_args(annotation) for section in sections_in(part)]


def resolve(config_type: Any, path: Sequence[str | int]) -> tuple[list[str], list[str]]:
    """Return the keys that an error's path names below a config type, and those allowed at its end.

    In a union of sections pydantic puts the member, or the value of `kind` that selects it, into the path.
    """
    sections = [config_type]
    keys = list[str]()
    for part in path:
        hints = {section: get_type_hints(section) for section in sections}
        inner = [types[part] for types in hints.values() if part in types]
        selected = [one for one, types in hints.items() if part in (one.__name__, *get_args(types.get("kind")))]
        if inner:
            sections = [section for annotation in inner for section in sections_in(annotation)]
        elif len(sections) > 1 and selected:
            sections = selected
            continue
        if not LIST_OR_DICT.fullmatch(str(part)):
            keys.append(str(part))
    return keys, [name for section in sections for name in names_of(section)]


def one_line(error: ValidationError, prefix: str, config_type: Any) -> str:
    """Return a validation's error as one line, the first unknown key before others: place, value, allowed values."""
    errors = error.errors()
    first = next((entry for entry in errors if entry["type"] in UNKNOWN_KEY), errors[0])
    keys, _ = resolve(config_type, first["loc"])
    key = prefix + ".".join(keys)
    if first["type"] in UNKNOWN_KEY:
        _, allowed = resolve(config_type, first["loc"][:-1])
        return unknown("config key", key, [prefix + ".".join([*keys[:-1], name]) for name in allowed])
    message = re.sub(r"^Value error, | after validation| or (an )?(instance of|object to) .*", "", first["msg"])
    if not keys:  # a check of the whole section; its message names key and value
        return f"{prefix.rstrip('.')}: {message}" if prefix else message
    if first["type"] in ("missing", "value_error"):  # a check's message names the value
        return f"{key}: {message}"
    remedy = "; write [VALUE, ...]" if first["type"] == "list_type" else ""
    return f"{key}: {message[0].lower()}{message[1:]}, got {first['input']!r}{remedy}"


def built(config_type: Any, values: Mapping[str, Any], prefix: str) -> Any:
    """Make a method's or encoder's config of plain values of the section `prefix`. Raises ValueError in one line."""
    from pydantic import ValidationError  # here, because errors of flags need none of it
    from pydantic.dataclasses import is_pydantic_dataclass

    if not is_pydantic_dataclass(config_type):
        raise ValueError(f"{config_type.__name__}: decorate it with pydantic.dataclasses.dataclass(frozen=True)")
    try:
        return config_type(**values)
    except ValidationError as error:
        raise ValueError(one_line(error, prefix, config_type)) from None
