"""A row of weights from elsewhere: the method that trains nothing, around the encoder that it brings."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import Any, cast

from methods.base import PretrainMethod
from methods.encoders.pretrained import PretrainedEncoder


def as_method(kind: type[PretrainedEncoder]) -> type[PretrainMethod]:
    """The method of an encoder's row: its name and title, no training; the same class at each call."""
    return _as_method(cast(Hashable, kind))


@cache
def _as_method(kind: Any) -> type[PretrainMethod]:
    values = {"name": kind.name, "title": kind.title, "trains": False, "brings": kind, "__module__": kind.__module__}
    return type(kind.__name__, (PretrainMethod,), values)
