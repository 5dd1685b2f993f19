"""Types that stored values are checked against, since a store may come from others; the first wrong value in one line.

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
    TypeAdapter,
    ValidationError,
    create_model,
    with_config,
)
from typing_extensions import TypedDict

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
"""Valid keys: they become file names, and stores may come from others."""


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
LARGEST = 1e15
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


def _moderate(value: float) -> float:
    if abs(value) > LARGEST:
        raise ValueError(f"beyond {LARGEST:g}")
    return value


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
NameOrNone = Annotated[str, AfterValidator(lambda text: text and _named(text))]
"""'' for none."""
Line = Annotated[str, Field(max_length=20_000)]
"""Free text, for instance a title or a note."""
Evaluated = Annotated[str, one_of(*EVALUATIONS, *CLASSICAL_TITLES, SUPERVISED, VALIDATION)]
Unit = Annotated[str, one_of(*UNITS)]
Protocol = Annotated[str, one_of(*UNIT_OF_PROTOCOL)]
Labels = Literal["single", "multi"]
Ratio = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=0)]
Score = Annotated[float, Field(ge=0, le=1)]
Measured = Annotated[float, AfterValidator(_moderate)]
"""A time, a loss, a measure of health: any number that can be averaged; NaN too."""

Number = Annotated[int | float, AfterValidator(_moderate)]
"""A value of a knob; a whole one stays an int."""

OPEN = ConfigDict(strict=True, extra="allow")
"""Of sections that have further entries."""
CLOSED = ConfigDict(strict=True, extra="forbid")


@with_config(OPEN)
class Device(TypedDict, total=False):
    """Where something was computed."""

    type: Line
    name: Line | None
    threads: Count | None
    instructions: Line


@with_config(OPEN)
class Git(TypedDict, total=False):
    """The code that computed something."""

    commit: Line | None
    dirty: bool | None
    diff: Line | None


@with_config(OPEN)
class Source(TypedDict, total=False):
    """The data that something was computed on."""

    fingerprint: Line


@with_config(OPEN)
class CellContent(TypedDict, total=False):
    """What the key of a cell is the digest of."""

    settings: dict[Line, Any]
    task: dict[Line, Any]
    mode: dict[Line, Any]


@with_config(OPEN)
class CodeFile(TypedDict, total=False):
    """The file of a user's own method."""

    source: Line
    modules: dict[Line, Line]


@with_config(OPEN)
class PretrainContent(TypedDict, total=False):
    """What the key of a pretraining is the digest of."""

    encoder: dict[Line, Any]
    config: dict[Line, Any]
    mode: dict[Line, Any]
    file: CodeFile
    budget: Line
    stable: dict[Line, Any]
    text: dict[Line, Any]


@with_config(OPEN)
class Card(TypedDict, total=False):
    """What reports read of a pretraining's card."""

    encoder: dict[str, Any]
    key_content: PretrainContent
    method: Line
    seed: Count
    parameters: Count
    encoder_parameters: Count
    encoder_multiplications: Number
    precision: Line
    device: Device
    health_sample: dict[Line, Count | bool | Line | None]
    loss: list[Measured]
    health: list[dict[Line, Measured | None]]
    seconds: Measured | None
    windows_per_epoch: Count
    updates: Count
    batch_size: Count
    peak_memory_gib: Measured
    encoder_passes: Measured
    embedding: dict[Line, Measured]


TRAINED = {"loss", "windows_per_epoch", "parameters", "batch_size", "seconds", "peak_memory_gib"}
"""Entries of a card with updates that tables of costs need."""


def shaped(kind: Any) -> GetPydanticSchema:
    """Annotation of a dict that is checked as another type, for instance a TypedDict."""
    return GetPydanticSchema(lambda _, handler: handler(kind))


def checked(kind: type[T], values: Any) -> T:
    """A dataclass from plain values, each checked against its annotation. Raises ValueError in one line."""
    try:
        return kind(**vars(_model(cast(Hashable, kind)).model_validate(values)))
    except ValidationError as error:
        raise ValueError(_first_problem(error)) from None


def check_card(values: Any) -> None:
    """Raise ValueError, in one line, for a wrong value in the card of a pretraining."""
    try:
        card = _card_adapter().validate_python(values)
    except ValidationError as error:
        raise ValueError(_first_problem(error)) from None
    lacking = sorted(TRAINED - card.keys()) if card.get("updates") else []
    if lacking:
        raise ValueError(f"{', '.join(lacking)} missing")


@cache
def _model(kind: Any) -> type[BaseModel]:
    """The strict model of a dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    given: dict[str, Any] = {own.name: (hints[own.name], _default(own)) for own in fields(kind)}
    return create_model(kind.__name__, __config__=ConfigDict(strict=True, extra="forbid"), **given)


def _default(own: OwnField[Any]) -> Any:
    if own.default_factory is not MISSING:
        return Field(default_factory=own.default_factory)
    return ... if own.default is MISSING else own.default


@cache
def _card_adapter() -> TypeAdapter[Any]:
    return TypeAdapter(Card)


def _first_problem(error: ValidationError) -> str:
    """Place and value of the first error."""
    first = error.errors()[0]
    place = ".".join(str(part)[:SHOWN] for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    given = "" if first["type"] in ("value_error", "missing") else f", got {repr(first['input'])[:SHOWN]}"
    return f"{place}: {message[0].lower()}{message[1:]}{given}".replace("\n", " ")
