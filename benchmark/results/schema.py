"""Keys, and the types that stored values are checked against; the first wrong value in one line.

The fields of rows, plans and cells are annotated with them where they are defined.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Hashable, Mapping
from dataclasses import MISSING, fields
from dataclasses import Field as OwnField
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, cast, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetPydanticSchema,
    ValidationError,
    create_model,
)

from benchmark.results.names import (
    CLASSICAL_TITLES,
    EVALUATIONS,
    SUPERVISED,
    UNIT_OF_PROTOCOL,
    UNITS,
    VALIDATION,
)

KEY_LENGTH = 16


KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Valid keys: they become file names."""


def digest(value: object) -> str:
    """Key of a JSON-like value: first 16 hex digits of the SHA-256 of its canonical JSON. ValueError for NaN."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested values, e.g. the content of a key or a config, by dotted name after a prefix."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return found


T = TypeVar("T")
NAME = re.compile(r"\w[\w .+@-]{0,99}")
"""Names become parts of file names and headings of CSV columns."""
SHOWN = 60
"""Characters of a wrong value that a message shows."""


def _named(text: str) -> str:
    if not NAME.fullmatch(text):
        raise ValueError(f"{text[:SHOWN]!r} is no name: up to 100 letters, digits, blanks and _ . + @ -")
    return text


def _key(text: str) -> str:
    if not KEY.fullmatch(text):
        raise ValueError(f"{text[:SHOWN]!r} is no key")
    return text


def one_of(*allowed: str) -> AfterValidator:
    """Annotation of a text that is one of some."""

    def check(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"unknown {text[:SHOWN]!r}, there are {', '.join(allowed)}")
        return text

    return AfterValidator(check)


Key = Annotated[str, AfterValidator(_key)]
KeyOrNone = Annotated[str, AfterValidator(lambda text: text and _key(text))]
"""'' for none."""
Name = Annotated[str, AfterValidator(_named)]
Evaluated = Annotated[str, one_of(*EVALUATIONS, *CLASSICAL_TITLES, SUPERVISED, VALIDATION)]
Unit = Annotated[str, one_of(*UNITS)]
Protocol = Annotated[str, one_of(*UNIT_OF_PROTOCOL)]
Labels = Literal["single", "multi"]
Ratio = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=0)]
Score = Annotated[float, Field(ge=0, le=1)]
CLOSED = ConfigDict(strict=True, extra="forbid")


def shaped(kind: Any) -> GetPydanticSchema:
    """Annotation of a dict that is checked as another type, for instance a TypedDict."""
    return GetPydanticSchema(lambda _, handler: handler(kind))


def checked(kind: type[T], values: Any) -> T:
    """A dataclass from plain values, each checked against its annotation. Raises ValueError in one line."""
    try:
        return kind(**vars(_model(cast(Hashable, kind)).model_validate(values)))
    except ValidationError as error:
        raise ValueError(_first_problem(error)) from None


@cache
def _model(kind: Any) -> type[BaseModel]:
    """The strict model of a dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    given: dict[str, Any] = {own.name: (hints[own.name], _default(own)) for own in fields(kind)}
    return create_model(kind.__name__, __config__=CLOSED, **given)


def _default(own: OwnField[Any]) -> Any:
    if own.default_factory is not MISSING:
        return Field(default_factory=own.default_factory)
    return ... if own.default is MISSING else own.default


def _first_problem(error: ValidationError) -> str:
    """Place and value of the first error."""
    first = error.errors()[0]
    place = ".".join(str(part)[:SHOWN] for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    given = "" if first["type"] in ("value_error", "missing") else f", got {repr(first['input'])[:SHOWN]}"
    return f"{place}: {message[0].lower()}{message[1:]}{given}".replace("\n", " ")
