"""Digests that become keys, nested values by dotted names, and the types of stored values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field, GetPydanticSchema, ValidationError

from benchmark.results.names import CLASSICAL_TITLES, EVALUATIONS, SUPERVISED, VALIDATION

T = TypeVar("T")
KEY_LENGTH = 16
STRICT = ConfigDict(strict=True, extra="forbid")
EVALUATION_NAMES = "|".join((*EVALUATIONS, *CLASSICAL_TITLES, SUPERVISED, VALIDATION))
EvaluationName = Annotated[str, Field(pattern=f"^({EVALUATION_NAMES})$")]
Unit = Annotated[str, Field(pattern="^(heartbeat|recording)$")]
Protocol = Literal["paper", "strict"]
Labels = Literal["single", "multi"]
Ratio = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=0)]
Score = Annotated[float, Field(ge=0, le=1)]


def digest(value: object) -> str:
    """Return the key of a JSON-like value: 16 hex digits of its canonical JSON's SHA-256. Raises ValueError for NaN."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested values, e.g. the content of a key or a config, by dotted name after a prefix."""
    by_name: dict[str, Any] = {}
    for name, value in values.items():
        by_name |= flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return by_name


def as_typed_dict(kind: Any) -> GetPydanticSchema:
    """Annotate a dict that is validated as a TypedDict."""
    return GetPydanticSchema(lambda _, handler: handler(kind))


def validated(kind: type[T], values: Mapping[str, Any]) -> T:
    """Make a pydantic dataclass of stored values. Raises ValueError, which names the first wrong value in one line."""
    try:
        return kind(**values)
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(map(str, first["loc"]))
        message = first["msg"][0].lower() + first["msg"][1:]
        raise ValueError(f"{path}: {message}, got {repr(first['input'])[:60]}") from None
